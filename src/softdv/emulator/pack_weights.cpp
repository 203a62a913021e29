// SPDX-License-Identifier: Apache-2.0
// The interface's weight packers: size queries and short buffers around tensor/packing.
#include <cerrno>
#include <cstring>
#include <vector>

#include "softdv/emulator/objects.h"
#include "tensor/packing.h"

using namespace dvnn;
using namespace dvnn::softdv;

namespace {

// Copies `stream` out as the ABI says: a size query, all of it, or as much as fits and -1.
template <typename Make>
int deliver(size_t required, uint8_t* packed, size_t* packed_size, Make make) {
  if (!packed && *packed_size == 0) {
    *packed_size = required;
    return 0;
  }
  if (!packed) {
    set_error("Invalid argument: packed is NULL but *packed_size is %zu", *packed_size);
    return -1;
  }
  if (reinterpret_cast<uintptr_t>(packed) % 16 != 0) {
    set_error("Invalid argument: packed is not aligned to 16 bytes");
    return EINVAL;
  }
  const size_t space = *packed_size;
  *packed_size = required;
  if (space >= required) {
    make(packed);
    std::memset(packed + required, 0, space - required);
    return 0;
  }
  std::vector<uint8_t> stream(required);
  make(stream.data());
  std::memcpy(packed, stream.data(), space);
  set_error("Insufficient space detected in the provided buffer: %zu bytes, needed are %zu", space,
            required);
  return -1;
}

int pack(PackedGeometry geometry, const uint16_t* table, const void* weights, const uint16_t* bias,
         const uint16_t* prelu, uint8_t* packed, size_t* packed_size) {
  if (!packed_size || geometry.c <= 0 || geometry.m <= 0 || geometry.kx < 1 || geometry.kx > 7 ||
      geometry.ky < 1 || geometry.ky > 7) {
    set_error("Invalid argument: %s", packed_size ? "a dimension is not positive, or a kernel is "
                                                    "outside 1..7"
                                                  : "packed_size is NULL");
    return -1;
  }
  return without_exceptions("the packed weights", ENOMEM, [&] {
    return deliver(packed_weights_size(geometry), packed, packed_size, [&](uint8_t* out) {
      pack_weights(geometry, {table, weights, bias, prelu}, out);
    });
  });
}

}  // namespace

DVNN_EXPORT int dmp_dv_pack_conv_weights(int n_channels, int kx, int ky, int n_kernels,
                                         const uint16_t quant_map[256], const void* weights,
                                         const uint16_t* bias, const uint16_t* prelu,
                                         uint8_t* packed, size_t* packed_size) {
  return pack({n_kernels, n_channels, kx, ky, quant_map != nullptr, prelu != nullptr, false},
              quant_map, weights, bias, prelu, packed, packed_size);
}

DVNN_EXPORT int dmp_dv_pack_dil_weights(int n_channels, int kx, int ky, int n_kernels,
                                        const uint16_t quant_map[256], const void* weights,
                                        const uint16_t* bias, const uint16_t* prelu,
                                        uint8_t* packed, size_t* packed_size) {
  return pack({n_kernels, n_channels, kx, ky, quant_map != nullptr, prelu != nullptr, true},
              quant_map, weights, bias, prelu, packed, packed_size);
}

DVNN_EXPORT int dmp_dv_pack_fc_weights(int c_input, int h_input, int w_input, int c_output,
                                       int h_output, int w_output, const uint16_t quant_map[256],
                                       const void* weights, const uint16_t* bias, uint8_t* packed,
                                       size_t* packed_size) {
  for (int d : {c_input, h_input, w_input, c_output, h_output, w_output}) {
    if (d > 0 && d <= kMaxFcVectorSize) continue;
    set_error("Invalid argument: dimension %d is not 1..%d", d, kMaxFcVectorSize);
    return EINVAL;
  }
  if (!packed_size || int64_t{c_input} * h_input * w_input > kMaxFcVectorSize ||
      int64_t{c_output} * h_output * w_output > kMaxFcVectorSize) {
    set_error("Invalid argument: packed_size is NULL, or a vector exceeds %d", kMaxFcVectorSize);
    return EINVAL;
  }
  const FcGeometry geometry = {
      c_input, h_input, w_input, c_output, h_output, w_output, quant_map != nullptr};
  const PackedGeometry flat = {c_output * h_output * w_output,
                               c_input * h_input * w_input,
                               1,
                               1,
                               quant_map != nullptr,
                               false,
                               false};
  return without_exceptions("the packed weights", ENOMEM, [&] {
    return deliver(packed_fc_size(flat), packed, packed_size, [&](uint8_t* out) {
      pack_fc(geometry, {quant_map, weights, bias, nullptr}, out);
    });
  });
}
