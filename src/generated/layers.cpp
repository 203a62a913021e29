// SPDX-License-Identifier: Apache-2.0
#include "generated/layers.h"

#include <cstring>
#include <exception>
#include <vector>

#include "base/format.h"
#include "base/grid.h"
#include "kernels/arithmetic/softmax.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace dvnn::generated {
namespace {

// State of the custom layer that this thread runs. Callbacks of the older kind do not get the I/O
// buffer as a parameter, and no callback can return an error.
thread_local uint8_t* current_io = nullptr;
thread_local std::string current_problem;

struct Picture {
  int w, h, c;
};

// One-dimensional data are channels of a single pixel.
Picture picture_of(const int (&dims)[3], int count) {
  return count == 3 ? Picture{dims[0], dims[1], dims[2]} : Picture{1, 1, dims[0]};
}

// Calls visit(plain, device) with the two positions of each element, in plain order (y, x, c).
template <typename Visit>
void for_each_element(const Picture& p, bool row_major, Visit visit) {
  const Layout layout = row_major ? Layout::kHwc8 : Layout::kWhc8;
  const Shape shape = {1, p.c, p.h, p.w};
  size_t plain = 0;
  for (int y = 0; y < p.h; ++y) {
    for (int x = 0; x < p.w; ++x) {
      for (int c = 0; c < p.c; ++c, ++plain) {
        visit(plain, static_cast<size_t>(element_offset(layout, shape, 0, c, y, x)));
      }
    }
  }
}

const half_t* halves(const uint8_t* io, size_t offset) {
  return reinterpret_cast<const half_t*>(io + offset);
}

half_t* halves(uint8_t* io, size_t offset) {
  return reinterpret_cast<half_t*>(io + offset);
}

// Returns the layer's input as binary16 in plain order.
std::vector<half_t> plain_input(const fpga_layer& layer, const uint8_t* io) {
  const size_t count = static_cast<size_t>(elements_of(layer.input_dim, layer.input_dim_size));
  const half_t* from = halves(io, layer.input_offs);
  std::vector<half_t> plain(count);
  if (layer.is_input_hw_layout && layer.input_dim_size == 3) {
    for_each_element(picture_of(layer.input_dim, 3), layer.is_hwc,
                     [&](size_t to, size_t at) { plain[to] = from[at]; });
  } else {
    std::memcpy(plain.data(), from, count * sizeof(half_t));
  }
  return plain;
}

void store(const std::vector<float>& values, bool as_float, uint8_t* to) {
  if (as_float) {
    std::memcpy(to, values.data(), values.size() * sizeof(float));
  } else {
    float_to_half(values.data(), reinterpret_cast<half_t*>(to), values.size());
  }
}

void flatten(const fpga_layer& layer, uint8_t* io) {
  const std::vector<half_t> plain = plain_input(layer, io);
  std::memcpy(io + layer.output_offs, plain.data(), plain.size() * sizeof(half_t));
}

void softmax(const fpga_layer& layer, uint8_t* io) {
  const std::vector<half_t> plain = plain_input(layer, io);
  std::vector<float> values(plain.size());
  half_to_float(plain.data(), values.data(), values.size());
  size_t inner = 1;
  for (int i = layer.softmax_axis + 1; i < layer.output_dim_size; ++i) {
    inner *= static_cast<size_t>(layer.output_dim[i]);
  }
  const size_t count = static_cast<size_t>(layer.output_dim[layer.softmax_axis]);
  kernels::softmax(values.data(), values.size() / (count * inner), count, inner);
  store(values, layer.is_f32_output, io + layer.output_offs);
}

// Joins pictures along channels. All of them are in the device's layout.
void copy_concat(const fpga_layer& layer, uint8_t* io) {
  const Picture out = picture_of(layer.output_dim, layer.output_dim_size);
  const size_t pixels = grid_size(out.w, out.h);
  auto at = [pixels](int channels, int c, size_t pixel) {
    const int width = std::min(8, channels - (c & ~7));
    return static_cast<size_t>(c & ~7) * pixels + pixel * static_cast<size_t>(width) +
           static_cast<size_t>(c & 7);
  };
  half_t* to = halves(io, layer.output_offs);
  int first = 0;
  for (int i = 0; i < layer.input_layer_num; ++i) {
    const fpga_layer& input = *layer.input_layers[i];
    const half_t* from = halves(io, input.output_offs);
    const int channels = picture_of(input.output_dim, input.output_dim_size).c;
    for (int c = 0; c < channels; ++c) {
      for (size_t p = 0; p < pixels; ++p) {
        to[at(out.c, first + c, p)] = from[at(channels, c, p)];
      }
    }
    first += channels;
  }
}

Status custom(fpga_layer* layer, uint8_t* io) {
  current_io = io;
  current_problem.clear();
  const run_custom_callback_proc& proc = layer->custom_proc_ptr;
  try {
    if (proc.function) {
      proc.function(*layer, layer->custom_param, io);
    } else {
      proc.old_function(*layer, layer->custom_param);
    }
  } catch (const std::exception& e) {
    current_problem = format("the custom layer throws: %s", e.what());
  } catch (...) {
    current_problem = "the custom layer throws";
  }
  if (current_problem.empty()) return {};
  return unsupported(current_problem);
}

Status outside(const char* what, size_t offset, size_t bytes, size_t io_size) {
  return malformed(format("%s takes bytes %zu to %zu of an I/O buffer of %zu", what, offset,
                          offset + bytes, io_size));
}

size_t bytes_of(int64_t elements, bool as_float) {
  return static_cast<size_t>(elements) * (as_float ? sizeof(float) : sizeof(half_t));
}

bool fits(size_t offset, size_t bytes, size_t io_size) {
  return bytes <= io_size && offset <= io_size - bytes && offset % 2 == 0;
}

Status check_copy_concat(const fpga_layer& layer, size_t io_size) {
  const Picture out = picture_of(layer.output_dim, layer.output_dim_size);
  int channels = 0;
  for (int i = 0; i < layer.input_layer_num; ++i) {
    const fpga_layer* input = layer.input_layers ? layer.input_layers[i] : nullptr;
    const int64_t n = input ? elements_of(input->output_dim, input->output_dim_size) : -1;
    if (n < 0) return malformed(format("input %d is not described", i));
    const Picture in = picture_of(input->output_dim, input->output_dim_size);
    const size_t bytes = bytes_of(n, false);
    if (!fits(input->output_offs, bytes, io_size)) {
      return outside("an input", input->output_offs, bytes, io_size);
    }
    if (in.w != out.w || in.h != out.h || input->is_f32_output) {
      return unsupported(format("joins %d x %d pixels of input %d to %d x %d (binary16 only)", in.w,
                                in.h, i, out.w, out.h));
    }
    channels += in.c;
  }
  if (channels == out.c && !layer.is_f32_output) return {};
  return malformed(format("its inputs have %d channels, its output %d", channels, out.c));
}

}  // namespace

Status check_cpu_layer(const fpga_layer& layer, size_t io_size) {
  if (layer.type == LT_INPUT || layer.type == LT_CONCAT) return {};
  const int64_t in = elements_of(layer.input_dim, layer.input_dim_size);
  const int64_t out = elements_of(layer.output_dim, layer.output_dim_size);
  if (out < 0 || (in < 0 && layer.type != LT_COPY_CONCAT)) {
    return malformed("its dimensions are impossible");
  }
  const size_t bytes = bytes_of(out, layer.is_f32_output);
  if (!fits(layer.output_offs, bytes, io_size)) {
    return outside("its output", layer.output_offs, bytes, io_size);
  }
  if (layer.type == LT_COPY_CONCAT) return check_copy_concat(layer, io_size);
  const size_t in_bytes = bytes_of(in, false);
  if (!fits(layer.input_offs, in_bytes, io_size)) {
    return outside("its input", layer.input_offs, in_bytes, io_size);
  }
  if (layer.type == LT_CUSTOM) {
    const run_custom_callback_proc& proc = layer.custom_proc_ptr;
    if (proc.function || proc.old_function) return {};
    return malformed("the custom layer has no function");
  }
  if (in != out) {
    return malformed(format("makes %lld elements of %lld", static_cast<long long>(out),
                            static_cast<long long>(in)));
  }
  if (layer.type == LT_FLATTEN && layer.is_f32_output) {
    return unsupported("flattens to 32-bit floats");
  }
  if (layer.type == LT_SOFTMAX &&
      (layer.softmax_axis < 0 || layer.softmax_axis >= layer.output_dim_size)) {
    return malformed(
        format("softmax axis %d of %d dimensions", layer.softmax_axis, layer.output_dim_size));
  }
  return {};
}

Status run_cpu_layer(fpga_layer* layer, uint8_t* io) {
  switch (layer->type) {
    case LT_FLATTEN:
      flatten(*layer, io);
      return {};
    case LT_SOFTMAX:
      softmax(*layer, io);
      return {};
    case LT_COPY_CONCAT:
      copy_concat(*layer, io);
      return {};
    case LT_CUSTOM:
      return custom(layer, io);
    default:
      return {};  // nothing to do, as the data are already in place
  }
}

}  // namespace dvnn::generated

// --- for callbacks -----------------------------------------------------------------------------

using dvnn::half_t;
namespace generated = dvnn::generated;

void get_layer_input(fpga_layer& layer, std::vector<float>& layer_input, uint8_t* io_ptr) {
  const std::vector<half_t> plain = generated::plain_input(layer, io_ptr);
  layer_input.resize(plain.size());
  dvnn::half_to_float(plain.data(), layer_input.data(), plain.size());
}

void get_layer_input(fpga_layer& layer, std::vector<float>& layer_input) {
  get_layer_input(layer, layer_input, generated::current_io);
}

void put_layer_output(fpga_layer& layer, std::vector<float>& layer_output, uint8_t* io_ptr,
                      bool is_output_hw_layout) {
  const auto elements = generated::elements_of(layer.output_dim, layer.output_dim_size);
  if (static_cast<int64_t>(layer_output.size()) != elements) {
    generated::current_problem =
        dvnn::format("the custom layer makes %zu values, its output has %lld", layer_output.size(),
                     static_cast<long long>(elements));
    return;
  }
  if (is_output_hw_layout && layer.output_dim_size == 2) {
    generated::current_problem = "the custom layer's output has 2 dimensions: it is no picture";
    return;
  }
  if (!is_output_hw_layout) {
    generated::store(layer_output, layer.is_f32_output, io_ptr + layer.output_offs);
    return;
  }
  half_t* to = generated::halves(io_ptr, layer.output_offs);
  generated::for_each_element(
      generated::picture_of(layer.output_dim, layer.output_dim_size), layer.is_hwc,
      [&](size_t from, size_t at) { to[at] = dvnn::float_to_half(layer_output[from]); });
}

void put_layer_output(fpga_layer& layer, std::vector<float>& layer_output,
                      bool is_output_hw_layout) {
  put_layer_output(layer, layer_output, generated::current_io, is_output_hw_layout);
}
