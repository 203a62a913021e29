// SPDX-License-Identifier: Apache-2.0
// Runtime of networks that are C++ sources from the vendor's converter or `dvnet convert
// --emit-cpp`: class CName : public CDMP_Network. Both generations of such sources compile against
// this header unmodified. Fields have the vendor's names.
//
// In a program:     CName n; n.Initialize(); n.LoadWeights("name_weights.bin"); n.Commit();
//                   then write get_network_input_addr_cpu(), n.RunNetwork(), get_final_output().
// In dvinfer:       add the line DVNN_NETWORK(CName), build a shared library, and run
//                   dvinfer network=libname.so weights-file=name_weights.bin
//
// Methods that return bool print errors to stderr. A network may be used by one thread at a time.
#pragma once

// Includes the headers that sources expect from the vendor's header.
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dmp_dv.h"
#include "dmp_dv_cmdraw_v0.h"
#include "dmp_dv_cmdraw_v1.h"
#include "stats.h"

// Exports the symbols of libdmp_network.so, even from programs that hide their own symbols.
#define DMP_NETWORK_API __attribute__((visibility("default")))

// Arm compilers have this 16-bit floating point type; elsewhere, GCC's type has another name, or
// there is none (RISC-V before GCC 13, x86 without SSE2): then these are its bits.
#if !defined(__ARM_FP16_FORMAT_IEEE) && !defined(__aarch64__) && !defined(__clang__)
#ifdef __FLT16_MAX__
typedef _Float16 __fp16;
#else
struct __fp16 {
  unsigned short bits;
};
#endif
#endif

enum layer_type {
  LT_INPUT,
  LT_CONV,
  LT_FC,
  LT_FLATTEN,      // to plain order H, W, C
  LT_CONCAT,       // the inputs are consecutive in memory already
  LT_COPY_CONCAT,  // joins inputs along channels by copying
  LT_SOFTMAX,
  LT_CUSTOM,
  LT_CPU,  // one of gst-dvnn's CPU layers, unknown to the vendor's runtime
};

struct fpga_layer;

/// The function of a custom layer. Sources of all generations assign a function to it; that of
/// older ones has no parameter for the I/O buffer's address.
struct run_custom_callback_proc {
  typedef void (*Function)(fpga_layer& layer, void* custom_param, uint8_t* io_ptr);
  typedef void (*OldFunction)(fpga_layer& layer, void* custom_param);
  Function function;
  OldFunction old_function;
  run_custom_callback_proc& operator=(Function f) {
    function = f;
    old_function = NULL;
    return *this;
  }
  run_custom_callback_proc& operator=(OldFunction f) {
    function = NULL;
    old_function = f;
    return *this;
  }
};

/// A layer. Dimensions are width, height, channels. Offsets and sizes are in bytes; offsets are
/// relative to the start of the I/O buffer.
struct DMP_NETWORK_API fpga_layer {
  layer_type type;
  std::string name;
  union {  // by type
    struct dmp_dv_cmdraw_conv_v0 conv_conf;
    struct dmp_dv_cmdraw_conv_v1 conv_conf_v1;  // if its header has version 1
    struct dmp_dv_cmdraw_fc_v0 fc_conf;
    int softmax_axis;  // index into output_dim
    __extension__ struct {
      int input_layer_num;
      fpga_layer** input_layers;
    };
    __extension__ struct {
      run_custom_callback_proc custom_proc_ptr;
      void* custom_param;
    };
  };
  size_t input_offs;
  size_t output_offs;
  size_t output_size;
  int input_dim[3];
  int input_dim_size;
  int output_dim[3];
  int output_dim_size;
  std::vector<__fp16> output;  // copy of the layer's result, if WantLayerOutputs() was called

  bool is_output;
  bool is_f32_output;       // 32-bit floats, else binary16
  bool is_input_hw_layout;  // the input is in the device's chunks of 8 channels

  dmp_dv_cmdlist cmdlist;  // command list of the layer; NULL on the CPU
  int cmdlist_pos;         // index in that list
  int cmdlist_size;        // number of layers in that list
  bool is_hwc;             // the device's chunks are row-major; set by Commit()

  fpga_layer();
};

namespace dvnn {
namespace generated {
struct Access;
class Runtime;
}  // namespace generated
}  // namespace dvnn

/// Base class of generated networks.
class DMP_NETWORK_API CDMP_Network {
 public:
  CDMP_Network();
  virtual ~CDMP_Network();
  CDMP_Network(const CDMP_Network&) = delete;
  CDMP_Network& operator=(const CDMP_Network&) = delete;

  /// Describes the layers; generated.
  virtual bool Initialize() = 0;
  /// Reads packed weights. The file's size must be exactly the reserved one.
  bool LoadWeights(const std::string& filename);
  /// Creates the device's command lists. Call once, after Initialize() and LoadWeights().
  bool Commit();
  /// Runs all layers on the current input, and waits.
  bool RunNetwork();

  std::vector<fpga_layer*>& get_output_layers() { return output_layers_; }
  /// Returns layer i. If there is none, prints an error and returns a dummy layer.
  fpga_layer& get_layer(int i);
  int get_total_layer_count() const { return num_layers_; }
  int get_output_layer_count() const { return num_output_layers_; }
  /// Returns the address of the first layer's input, binary16 in its layout; NULL before
  /// Initialize().
  void* get_network_input_addr_cpu();
  /// Copies output i as floats, in its order in memory.
  void get_final_output(std::vector<float>& output, int i_output = 0);
  uint8_t* get_io_ptr() const { return io_ptr_; }
  const dmp_dv_info_v0& get_dv_info() const { return dv_info_; }

  /// Return times of the last run in microseconds.
  int get_conv_usec() const { return last_conv_usec_; }
  int get_fc_usec() const { return last_fc_usec_; }
  int get_cpu_usec() const { return last_cpu_usec_; }

  /// 0: quiet; 1: sizes; 2: also the time of every command list and CPU layer.
  void Verbose(int level) { iprint_ = level; }
  /// Keeps a copy of every layer's result in fpga_layer::output. Slow, for debugging. Call it
  /// before Commit().
  void WantLayerOutputs() { want_layer_outputs_ = true; }

 protected:
  /// For generated code: opens the device and reserves its memory, sizes in bytes.
  bool ReserveMemory(size_t weights_size, size_t io_size);
  /// Creates the command lists like Commit(). Generated code of the first generation calls it.
  bool GenerateCommandLists();
  void set_num_layers(int n);
  void set_num_output_layers(int n);
  /// Makes layer i one of gst-dvnn's CPU layers. `description` is JSON from `dvnet convert
  /// --emit-cpp` with the layer's type, parameters and tensors.
  void set_cpu_layer(int i, const char* description);

  int num_layers_;
  int num_output_layers_;
  std::vector<fpga_layer> layers_;  // in order of execution
  std::vector<fpga_layer*> output_layers_;

  // The device's handles, owned by the runtime.
  dmp_dv_context ctx_;
  dmp_dv_info_v0 dv_info_;
  dmp_dv_mem weights_mem_;
  dmp_dv_mem io_mem_;
  uint8_t* io_ptr_;
  std::vector<dmp_dv_cmdlist> cmdlists_;

  int last_conv_usec_;
  int last_fc_usec_;
  int last_cpu_usec_;

  /// Weights are transposed, and the device's buffers row-major.
  bool is_weight_transposed;

 private:
  friend struct dvnn::generated::Access;
  bool committed_;
  bool is_referred_to_;  // a static list in generated code refers to its layers
  int iprint_;
  bool want_layer_outputs_;
  std::unique_ptr<dvnn::generated::Runtime> runtime_;
};

/// Reads a layer's input as floats; pictures in the order H, W, C.
DMP_NETWORK_API void get_layer_input(fpga_layer& layer, std::vector<float>& layer_input,
                                     uint8_t* io_ptr);
/// Writes a custom layer's result, one float per element of output_dim: as 32-bit floats or
/// binary16, according to is_f32_output, or in the device's layout if is_output_hw_layout.
DMP_NETWORK_API void put_layer_output(fpga_layer& layer, std::vector<float>& layer_output,
                                      uint8_t* io_ptr, bool is_output_hw_layout = false);
/// The same functions for callbacks of the older kind.
DMP_NETWORK_API void get_layer_input(fpga_layer& layer, std::vector<float>& layer_input);
DMP_NETWORK_API void put_layer_output(fpga_layer& layer, std::vector<float>& layer_output,
                                      bool is_output_hw_layout = false);

/// Makes a library of generated sources a network for dvinfer: DVNN_NETWORK(CName). A second
/// argument adds what the sources lack, as JSON text: "input", "decoder" and "labels" as in the
/// description of a .dvn file (see docs/generated-networks.md).
#define DVNN_NETWORK(...) DVNN_NETWORK_(__VA_ARGS__, "{}", )
#define DVNN_NETWORK_(Class, info, ...)                               \
  extern "C" DMP_NETWORK_API CDMP_Network* dvnn_network_create_v1() { \
    return new Class();                                               \
  }                                                                   \
  extern "C" DMP_NETWORK_API const char* dvnn_network_info_v1() {     \
    return info;                                                      \
  }
