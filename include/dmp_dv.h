/* SPDX-License-Identifier: Apache-2.0
 *
 * C interface of the DV700 user-space driver: names, layouts and constants as in the vendor's
 * libdmpdv (interface 7.2), so that a program built against either header runs with either library.
 * gst-dvnn's software device, libdmpdv-soft.so, implements the same interface.
 *
 * Functions that can fail return 0 or a positive errno value or -1, and leave a sentence for
 * dmp_dv_get_last_error_message(). Objects are counted: create returns 1 reference, release frees
 * at 0. A command list keeps the memories that its commands name.
 */
#ifndef _DMP_DV_H_
#define _DMP_DV_H_

#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
#define DMP_DV_STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define DMP_DV_STATIC_ASSERT(condition, text) __extension__ _Static_assert(condition, text)
#endif

/* Opaque handles; NULL means none. */
typedef struct dmp_dv_context_impl* dmp_dv_context;
typedef struct dmp_dv_mem_impl* dmp_dv_mem;
typedef struct dmp_dv_cmdlist_impl* dmp_dv_cmdlist;

/* Device types, for dmp_dv_cmdraw::device_type and dmp_dv_device_exists(). */
#define DMP_DV_DEV_CONV 1
#define DMP_DV_DEV_FC 2
#define DMP_DV_DEV_IPU 3
#define DMP_DV_DEV_MAXIMIZER 4
#define DMP_DV_DEV_COUNT 5

/* Flags of dmp_dv_mem_to_device() and dmp_dv_mem_to_cpu(). */
#define DMP_DV_MEM_CPU_WONT_READ 1
#define DMP_DV_MEM_AS_DEV_OUTPUT 2
#define DMP_DV_MEM_CPU_HADNT_READ 4

/* Head of every information structure. The caller sets size, the driver sets version. */
struct dmp_dv_info {
  uint32_t size;
  uint32_t version;
};

struct dmp_dv_info_v0 {
  struct dmp_dv_info header;
  int32_t ub_size;            /* unified buffer, bytes */
  int32_t max_kernel_size;    /* of a convolution, pixels */
  int32_t conv_freq;          /* convolution block, MHz; 0: absent */
  int32_t fc_freq;            /* fully connected block, MHz; 0: absent */
  int32_t max_fc_vector_size; /* elements */
  int32_t rsvd;
};

/* Memory from an offset on, in bytes. */
struct dmp_dv_buf {
  __extension__ union {
    dmp_dv_mem mem;
    uint64_t rsvd; /* keeps the size on 32-bit hosts */
  };
  uint64_t offs;
};

/* Head of every raw command: size of the whole structure, device type and version of the command.
 */
struct dmp_dv_cmdraw {
  uint32_t size;
  uint8_t device_type;
  uint8_t version;
  uint8_t rsvd[2];
};

DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_info) == 8, "dmp_dv_info");
DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_info_v0) == 32, "dmp_dv_info_v0");
DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_buf) == 16, "dmp_dv_buf");
DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_cmdraw) == 8, "dmp_dv_cmdraw");

/* Returns "HWMAJOR.HWMINOR.YYYYMMDD". */
const char* dmp_dv_get_version_string(void);
/* Returns the message of the process's last failure, never NULL. Not thread-safe. */
const char* dmp_dv_get_last_error_message(void);
/* Replaces that message, and prints it if the environment variable VERBOSITY is 1 or more. */
void dmp_dv_set_last_error_message(const char* format, ...);

/* Connects to the device. Returns NULL on failure. */
dmp_dv_context dmp_dv_context_create(void);
/* Returns a line about the device, which the context owns; "" for NULL. */
const char* dmp_dv_context_get_info_string(dmp_dv_context ctx);
/* Fills in as much as info->size has room for. */
int dmp_dv_context_get_info(dmp_dv_context ctx, struct dmp_dv_info* info);
/* Return the new number of references; 0 for NULL. */
int dmp_dv_context_release(dmp_dv_context ctx);
int dmp_dv_context_retain(dmp_dv_context ctx);

/* Allocates memory that CPU and device can access. size is in bytes and may be rounded up. NULL on
 * failure. */
dmp_dv_mem dmp_dv_mem_alloc(dmp_dv_context ctx, size_t size);
int dmp_dv_mem_release(dmp_dv_mem mem);
int dmp_dv_mem_retain(dmp_dv_mem mem);
/* Maps memory for the CPU. Returns the same address until it is unmapped. */
uint8_t* dmp_dv_mem_map(dmp_dv_mem mem);
void dmp_dv_mem_unmap(dmp_dv_mem mem);
/* Begin and end CPU access to mapped memory. */
int dmp_dv_mem_sync_start(dmp_dv_mem mem, int rd, int wr);
int dmp_dv_mem_sync_end(dmp_dv_mem mem);
/* Transfer ownership of bytes: to the device after CPU writes, to the CPU before it reads. */
int dmp_dv_mem_to_device(dmp_dv_mem mem, size_t offs, size_t size, int flags);
int dmp_dv_mem_to_cpu(dmp_dv_mem mem, size_t offs, size_t size, int flags);
/* Returns the actual size in bytes. */
size_t dmp_dv_mem_get_size(dmp_dv_mem mem);
/* Returns the sum of the actual sizes of all memory of the process. */
int64_t dmp_dv_mem_get_total_size(void);

/* Creates an empty command list, or returns NULL. */
dmp_dv_cmdlist dmp_dv_cmdlist_create(dmp_dv_context ctx);
int dmp_dv_cmdlist_release(dmp_dv_cmdlist list);
int dmp_dv_cmdlist_retain(dmp_dv_cmdlist list);
/* Checks and copies a command. */
int dmp_dv_cmdlist_add_raw(dmp_dv_cmdlist list, struct dmp_dv_cmdraw* cmd);
/* Completes a list; allowed once. */
int dmp_dv_cmdlist_commit(dmp_dv_cmdlist list);
/* Queues a committed list. Returns an id for dmp_dv_cmdlist_wait(), or negative on failure. */
int64_t dmp_dv_cmdlist_exec(dmp_dv_cmdlist list);
/* Waits until the execution with this id and all earlier ones are complete. */
int dmp_dv_cmdlist_wait(dmp_dv_cmdlist list, int64_t exec_id);
/* Returns the microseconds of the last execution that was waited for. */
int64_t dmp_dv_cmdlist_get_last_exec_time(dmp_dv_cmdlist list);

/* Packs weights (n kernels of c x ky x kx) for convolution commands. quant_map: NULL for binary16
 * weights, else 256 binary16 values that one-byte weights index. prelu: NULL or one slope per
 * kernel. If packed is NULL and *packed_size 0, only writes the size. */
int dmp_dv_pack_conv_weights(int n_channels, int kx, int ky, int n_kernels,
                             const uint16_t quant_map[256], const void* weights,
                             const uint16_t* bias, const uint16_t* prelu, uint8_t* packed,
                             size_t* packed_size);
/* Packs weights for dilated convolutions, like dmp_dv_pack_conv_weights(). */
int dmp_dv_pack_dil_weights(int n_channels, int kx, int ky, int n_kernels,
                            const uint16_t quant_map[256], const void* weights,
                            const uint16_t* bias, const uint16_t* prelu, uint8_t* packed,
                            size_t* packed_size);
/* Packs weights (output x input) for fully connected commands. Vectors are c x h x w tensors. */
int dmp_dv_pack_fc_weights(int c_input, int h_input, int w_input, int c_output, int h_output,
                           int w_output, const uint16_t quant_map[256], const void* weights,
                           const uint16_t* bias, uint8_t* packed, size_t* packed_size);

/* Return 1 if the block exists, 0 if not, -1 for unknown types. */
int dmp_dv_device_exists(dmp_dv_context ctx, int device_type);
int dmp_dv_fpga_device_exists(dmp_dv_context ctx, int device_type);

#ifdef __cplusplus
}
#endif

#endif /* _DMP_DV_H_ */
