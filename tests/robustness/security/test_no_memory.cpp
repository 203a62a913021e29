// SPDX-License-Identifier: Apache-2.0
// Interfaces that do not throw, when memory runs out: the device's C functions and the runtime of
// generated networks. Each allocation fails in turn.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

#include "check_suite.h"
#include "dmp_network.h"
#include "failing_new.h"

namespace dvnn::test::no_memory_tests {

DVNN_SUITE(no_memory);

namespace {

template <typename Function>
Function* find(const char* name, Function*) {
  static void* const library = dlopen(std::getenv("DVNN_SOFT_DEVICE"), RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library, "%s", dlerror());
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  ck_assert_msg(function, "%s", name);
  return function;
}
#define DVNN_FUNCTION(name) auto* const name = find(#name, static_cast<decltype(&::name)>(nullptr))

// Calls `work`, which returns whether it succeeded, with each of its allocations failing in turn.
// Returns how often it failed.
int fail_each(const std::function<bool()>& work) {
  ck_assert(work());
  int failures = 0;
  for (long after = 0;; ++after) {
    fail_allocation(after);
    const bool good = work();
    const bool failed = has_failed_allocation();
    fail_allocation(-1);
    failures += !good;
    if (!failed) return failures;
  }
}

// A softmax over eight numbers.
class CSoftmax : public CDMP_Network {
 public:
  bool Initialize() override {
    if (!ReserveMemory(0, 4096)) return false;
    set_num_layers(2);
    set_num_output_layers(1);
    if (get_total_layer_count() != 2 || get_output_layer_count() != 1) return false;
    for (int i : {0, 1}) {
      fpga_layer& layer = get_layer(i);
      layer.type = i ? LT_SOFTMAX : LT_INPUT;
      layer.input_dim[0] = layer.output_dim[0] = 8;
      layer.input_dim_size = layer.output_dim_size = 1;
      layer.softmax_axis = 0;
      layer.output_offs = i ? 64U : 0U;
      layer.output_size = 8 * sizeof(float);
      layer.is_f32_output = i == 1;
    }
    get_layer(1).is_output = true;
    output_layers_[0] = &get_layer(1);
    return true;
  }
};

}  // namespace

DVNN_TEST(a_device_without_memory_says_so) {
  DVNN_FUNCTION(dmp_dv_context_create);
  DVNN_FUNCTION(dmp_dv_context_release);
  DVNN_FUNCTION(dmp_dv_get_last_error_message);
  std::string message;
  const int failures = fail_each([&] {
    dmp_dv_context context = dmp_dv_context_create();
    if (!context) message = dmp_dv_get_last_error_message();
    if (context) dmp_dv_context_release(context);
    return context != nullptr;
  });
  ck_assert_int_ge(failures, 1);
  ck_assert_msg(message.find("Not enough memory for a context") == 0, "%s", message.c_str());
}

DVNN_TEST(every_function_of_the_device_ends_its_exceptions) {
  DVNN_FUNCTION(dmp_dv_context_create);
  DVNN_FUNCTION(dmp_dv_context_release);
  DVNN_FUNCTION(dmp_dv_mem_alloc);
  DVNN_FUNCTION(dmp_dv_mem_release);
  DVNN_FUNCTION(dmp_dv_cmdlist_create);
  DVNN_FUNCTION(dmp_dv_cmdlist_release);
  DVNN_FUNCTION(dmp_dv_cmdlist_add_raw);
  DVNN_FUNCTION(dmp_dv_cmdlist_commit);
  DVNN_FUNCTION(dmp_dv_cmdlist_exec);
  DVNN_FUNCTION(dmp_dv_cmdlist_wait);
  DVNN_FUNCTION(dmp_dv_pack_conv_weights);
  dmp_dv_context context = dmp_dv_context_create();
  dmp_dv_mem io = nullptr;
  // A maximum pooling of 8 x 8 pixels.
  const int failures = fail_each([&] {
    dmp_dv_cmdraw_conv_v0 raw;
    std::memset(&raw, 0, sizeof raw);
    raw.header.size = sizeof raw;
    raw.header.device_type = DMP_DV_DEV_CONV;
    raw.topo = 1;
    raw.w = raw.h = raw.c = 8;
    raw.z = 1;
    raw.run[0].p = 1;
    raw.run[0].conv_stride = raw.run[0].conv_dilation = 0x0101;
    raw.run[0].m = 8;
    raw.run[0].pool_enable = 1;
    raw.run[0].pool_size = 0x0202;
    raw.run[0].pool_stride = 0x0202;
    io = dmp_dv_mem_alloc(context, 65536);
    if (!io) return false;
    raw.input_buf.mem = raw.output_buf.mem = io;
    raw.output_buf.offs = 32768;
    dmp_dv_cmdlist list = dmp_dv_cmdlist_create(context);
    bool good =
        list && dmp_dv_cmdlist_add_raw(list, &raw.header) == 0 && dmp_dv_cmdlist_commit(list) == 0;
    if (good) {
      const int64_t id = dmp_dv_cmdlist_exec(list);
      good = id >= 0 && dmp_dv_cmdlist_wait(list, id) == 0;
    }
    if (list) dmp_dv_cmdlist_release(list);
    dmp_dv_mem_release(io);
    return good;
  });
  ck_assert_int_ge(failures, 3);
  dmp_dv_context_release(context);
  // A buffer too short for the packed weights: they are packed in memory of their own first.
  alignas(16) uint8_t packed[16];
  const std::vector<uint16_t> weights(8 * 8 * 9), bias(8);
  fail_each([&] {
    size_t size = sizeof packed;
    const int status = dmp_dv_pack_conv_weights(8, 3, 3, 8, nullptr, weights.data(), bias.data(),
                                                nullptr, packed, &size);
    ck_assert(status == -1 || status == ENOMEM);
    return true;
  });
}

DVNN_TEST(methods_of_generated_networks_do_not_throw) {
  setenv("DVNN_DEVICE", "soft", 1);
  // A network of CPU layers has no weights, so the file is empty. A path this short needs no
  // allocation as a std::string.
  char weights[] = "/tmp/wXXXXXX";
  const int file = mkstemp(weights);
  ck_assert_int_ge(file, 0);
  close(file);
  const int failures = fail_each([&weights] {
    std::unique_ptr<CSoftmax> network;
    try {
      network = std::make_unique<CSoftmax>();
    } catch (const std::bad_alloc&) {
      return false;  // a constructor cannot report failure otherwise
    }
    const bool good = network->Initialize() && network->LoadWeights(weights) && network->Commit() &&
                      network->RunNetwork();
    std::vector<float> output;
    network->get_final_output(output);
    fpga_layer& none = network->get_layer(99);
    return good && output.size() == 8 && none.input_dim_size == 0;
  });
  unlink(weights);
  ck_assert_int_ge(failures, 10);
  // They do not throw either if a size is too large.
  limit_allocations(1 << 20);
  struct : CDMP_Network {
    bool Initialize() override {
      set_num_layers(65536);
      return get_total_layer_count() == 65536;
    }
  } large;
  const bool done = large.Initialize();
  limit_allocations(SIZE_MAX);
  ck_assert(!done);
}

}  // namespace dvnn::test::no_memory_tests
