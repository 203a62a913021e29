// SPDX-License-Identifier: Apache-2.0
// Runtime of networks that the vendor's converter, or `dvnet convert --emit-cpp`, wrote as C++
// sources: class CName : public CDMP_Network. Both generations of such sources that are in use
// compile against this header unmodified; fields keep the vendor's names.
//
// In a program:     CName n; n.Initialize(); n.LoadWeights("name_weights.bin"); n.Commit();
//                   then write get_network_input_addr_cpu(), n.RunNetwork(), get_final_output().
// In dvinfer:       add the line DVNN_NETWORK(CName), build a shared library, and run
//                   dvinfer network=libname.so weights-file=name_weights.bin
//
// Methods that return bool say on stderr what is wrong. One network is one thread's at a time.
#pragma once

// The system's and C++'s headers, too, are those that sources get from the vendor's header.
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

// Marks the symbols of libdmp_network.so, also for programs that hide their own symbols.
#define DMP_NETWORK_API __attribute__((visibility("default")))

// Arm compilers have this 16-bit floating point type; elsewhere GCC has the same under another
// name.
#if !defined(__ARM_FP16_FORMAT_IEEE) && !defined(__aarch64__) && !defined(__clang__)
typedef _Float16 __fp16;
#endif

enum layer_type {
  LT_INPUT,
  LT_CONV,
  LT_FC,
  LT_FLATTEN,      // to plain order H, W, C
  LT_CONCAT,       // inputs already lie one after the other
  LT_COPY_CONCAT,  // joins inputs along channels by copying
  LT_SOFTMAX,
  LT_CUSTOM,
  LT_CPU,  // one of gst-dvnn's CPU layers; not known to the vendor's runtime
};

struct fpga_layer;

/// The function that a custom layer runs. Sources of all generations assign a function to it: the
/// older ones one without the address of the I/O buffer.
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

/// One layer. Dimensions are in the order width, height, channels. Offsets and sizes are bytes;
/// offsets count from the start of the I/O buffer.
struct DMP_NETWORK_API fpga_layer {
  layer_type type;
  std::string name;
  union {  // by type
    struct dmp_dv_cmdraw_conv_v0 conv_conf;
    struct dmp_dv_cmdraw_conv_v1 conv_conf_v1;  // where its header says version 1
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
  std::vector<__fp16> output;  // a copy of the layer's result after WantLayerOutputs()

  bool is_output;
  bool is_f32_output;       // 32-bit floats, else binary16
  bool is_input_hw_layout;  // the input lies in the device's chunks of 8 channels

  dmp_dv_cmdlist cmdlist;  // what runs the layer; NULL on the CPU
  int cmdlist_pos;         // place in that list
  int cmdlist_size;        // layers in that list
  bool is_hwc;             // the device's chunks are row-major; set by Commit()

  fpga_layer();
};

namespace dvnn {
namespace generated {
struct Access;
class Runtime;
}  // namespace generated
}  // namespace dvnn

/// Base of generated networks.
class DMP_NETWORK_API CDMP_Network {
 public:
  CDMP_Network();
  virtual ~CDMP_Network();
  CDMP_Network(const CDMP_Network&) = delete;
  CDMP_Network& operator=(const CDMP_Network&) = delete;

  /// Describes the layers: generated.
  virtual bool Initialize() = 0;
  /// Reads packed weights; the file must have exactly the size that the network reserved.
  bool LoadWeights(const std::string& filename);
  /// Makes the device's command lists, after Initialize() and LoadWeights(); once.
  bool Commit();
  /// Runs all layers on what the input holds, and waits.
  bool RunNetwork();

  std::vector<fpga_layer*>& get_output_layers() { return output_layers_; }
  /// Layer i; one that does nothing, and a message, where there is none.
  fpga_layer& get_layer(int i);
  int get_total_layer_count() const { return num_layers_; }
  int get_output_layer_count() const { return num_output_layers_; }
  /// Returns where the first layer's input begins, binary16 in its layout; NULL before
  /// Initialize().
  void* get_network_input_addr_cpu();
  /// Output i as floats, in the order in which it lies in memory.
  void get_final_output(std::vector<float>& output, int i_output = 0);
  uint8_t* get_io_ptr() const { return io_ptr_; }
  const dmp_dv_info_v0& get_dv_info() const { return dv_info_; }

  /// Times of the last run, microseconds.
  int get_conv_usec() const { return last_conv_usec_; }
  int get_fc_usec() const { return last_fc_usec_; }
  int get_cpu_usec() const { return last_cpu_usec_; }

  /// 0: quiet; 1: sizes; 2: the time of every command list and CPU layer, too.
  void Verbose(int level) { iprint_ = level; }
  /// Keeps a copy of every layer's result in fpga_layer::output: for debugging, slow. To be called
  /// before Commit().
  void WantLayerOutputs() { want_layer_outputs_ = true; }

 protected:
  /// For generated code: opens the device and reserves its memory, bytes.
  bool ReserveMemory(size_t weights_size, size_t io_size);
  /// Makes the command lists, as Commit() does; the first generation of generated code calls it
  /// itself.
  bool GenerateCommandLists();
  void set_num_layers(int n);
  void set_num_output_layers(int n);
  /// Makes layer i one of gst-dvnn's CPU layers, which `description` names, with its parameters and
  /// tensors: JSON, written by `dvnet convert --emit-cpp`.
  void set_cpu_layer(int i, const char* description);

  int num_layers_;
  int num_output_layers_;
  std::vector<fpga_layer> layers_;  // in order of execution
  std::vector<fpga_layer*> output_layers_;

  // The device's handles; the runtime owns them.
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
  bool is_referred_to_;  // by a static list in generated code
  int iprint_;
  bool want_layer_outputs_;
  std::unique_ptr<dvnn::generated::Runtime> runtime_;
};

/// Reads a layer's input as floats, in plain order H, W, C where it is a picture.
DMP_NETWORK_API void get_layer_input(fpga_layer& layer, std::vector<float>& layer_input,
                                     uint8_t* io_ptr);
/// Writes a custom layer's result, one float per element of output_dim: as 32-bit floats or
/// binary16, as is_f32_output says, or, if is_output_hw_layout, as the device takes it.
DMP_NETWORK_API void put_layer_output(fpga_layer& layer, std::vector<float>& layer_output,
                                      uint8_t* io_ptr, bool is_output_hw_layout = false);
/// The same, for callbacks of the older shape.
DMP_NETWORK_API void get_layer_input(fpga_layer& layer, std::vector<float>& layer_input);
DMP_NETWORK_API void put_layer_output(fpga_layer& layer, std::vector<float>& layer_output,
                                      bool is_output_hw_layout = false);

/// Makes a library of generated sources a network for dvinfer: DVNN_NETWORK(CName). A second
/// argument may say what the sources do not, as JSON text: "input", "decoder" and "labels" as in a
/// .dvn file's description (see docs/generated-networks.md).
#define DVNN_NETWORK(...) DVNN_NETWORK_(__VA_ARGS__, "{}", )
#define DVNN_NETWORK_(Class, info, ...)                               \
  extern "C" DMP_NETWORK_API CDMP_Network* dvnn_network_create_v1() { \
    return new Class();                                               \
  }                                                                   \
  extern "C" DMP_NETWORK_API const char* dvnn_network_info_v1() {     \
    return info;                                                      \
  }
