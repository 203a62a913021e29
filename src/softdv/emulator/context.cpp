// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <memory>

#include "base/environment.h"
#include "device/limits.h"
#include "kernels/instruction_sets.h"
#include "softdv/emulator/objects.h"
#include "softdv/emulator/queue.h"

namespace dvnn::softdv {
namespace {

// The process has one buffer, as in the vendor's interface. Callers in a race may read garbage, but
// never beyond the buffer.
char last_error[256];

// Returns the clock, in MHz, of the hardware whose pace the device keeps; else the default one.
int conv_freq_mhz() {
  const auto hardware = pace();
  return hardware.ok() && hardware.value() ? static_cast<int>(hardware.value()->clock_mhz)
                                           : kConvFreqMhz;
}

void store_error(const char* text_format, va_list args) {
  std::vsnprintf(last_error, sizeof last_error, text_format, args);
}

}  // namespace

void set_error(const char* text_format, ...) {
  va_list args;
  va_start(args, text_format);
  store_error(text_format, args);
  va_end(args);
}

}  // namespace dvnn::softdv

using namespace dvnn::softdv;

DVNN_EXPORT const char* dmp_dv_get_version_string(void) {
  return "7.2.20201106";
}

DVNN_EXPORT const char* dmp_dv_get_last_error_message(void) {
  return last_error;
}

DVNN_EXPORT void dmp_dv_set_last_error_message(const char* text_format, ...) {
  static const bool verbose = [] {
    return dvnn::environment_number("VERBOSITY").value_or(0) >= 1;
  }();
  va_list args;
  va_start(args, text_format);
  store_error(text_format, args);
  va_end(args);
  if (verbose) std::fprintf(stderr, "%s\n", last_error);
}

static dmp_dv_context create_context() {
  if (const std::string unfit = dvnn::kernels::unfit_processor(); !unfit.empty()) {
    set_error("%s", unfit.c_str());
    return nullptr;
  }
  if (const auto hardware = pace(); !hardware.ok()) {
    set_error("%s", hardware.error().message.c_str());
    return nullptr;
  }
  auto ctx = std::make_unique<dmp_dv_context_impl>();
  char text[160];
  std::snprintf(text, sizeof text,
                "DMP DV: ub_size=%d max_kernel_size=%d conv_freq=%d fc_freq=%d "
                "max_fc_vector_size=%d",
                kUnifiedBufferBytes, dvnn::device::kMaxKernel, conv_freq_mhz(), 0,
                kMaxFcVectorSize);
  ctx->info = text;
  return ctx.release();
}

DVNN_EXPORT dmp_dv_context dmp_dv_context_create(void) {
  return without_exceptions("a context", dmp_dv_context{}, create_context);
}

DVNN_EXPORT const char* dmp_dv_context_get_info_string(dmp_dv_context ctx) {
  if (ctx) return ctx->info.c_str();
  set_error("Invalid argument: ctx is NULL");
  return "";
}

DVNN_EXPORT int dmp_dv_context_get_info(dmp_dv_context ctx, struct dmp_dv_info* info) {
  if (!ctx || !info) {
    set_error("Invalid argument: %s is NULL", ctx ? "info" : "ctx");
    return EINVAL;
  }
  if (info->size < sizeof(dmp_dv_info)) {
    set_error("Invalid argument: info->size %u is below %zu", info->size, sizeof(dmp_dv_info));
    return -1;
  }
  info->version = 0;
  if (info->size < sizeof(dmp_dv_info_v0)) return 0;
  auto* v0 = reinterpret_cast<dmp_dv_info_v0*>(info);
  v0->ub_size = kUnifiedBufferBytes;
  v0->max_kernel_size = dvnn::device::kMaxKernel;
  v0->conv_freq = conv_freq_mhz();
  v0->fc_freq = 0;  // fully connected commands run on the convolution block
  v0->max_fc_vector_size = kMaxFcVectorSize;
  return 0;
}

DVNN_EXPORT int dmp_dv_context_retain(dmp_dv_context ctx) {
  return ctx ? ctx->references.fetch_add(1) + 1 : 0;
}

DVNN_EXPORT int dmp_dv_context_release(dmp_dv_context ctx) {
  if (!ctx) return 0;
  const int left = ctx->references.fetch_sub(1) - 1;
  if (left == 0) delete ctx;
  return left;
}

DVNN_EXPORT int dmp_dv_device_exists(dmp_dv_context ctx, int device_type) {
  if (!ctx) {
    set_error("Invalid argument: ctx is NULL");
    return -1;
  }
  switch (device_type) {
    case DMP_DV_DEV_CONV:
    case DMP_DV_DEV_IPU:
      return 1;
    case DMP_DV_DEV_FC:
      return 0;
    default:
      set_error("Invalid argument: device_type %d cannot be asked about", device_type);
      return -1;
  }
}

DVNN_EXPORT int dmp_dv_fpga_device_exists(dmp_dv_context ctx, int device_type) {
  return dmp_dv_device_exists(ctx, device_type);
}
