// SPDX-License-Identifier: Apache-2.0
#include "softdv/conv_kernel.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "softdv/queue.h"

namespace dvnn::softdv {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

struct Cache {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<ConvKernel>> kernels;
};

Cache& cache() {
  static Cache* instance = new Cache();
  return *instance;
}

// Everything that a kernel depends on.
std::string cache_key(const SoftRun& run, bool y_major, bool relu) {
  const device::ConvRun& r = run.run;
  const PackedGeometry& g = run.geometry;
  char text[256];
  std::snprintf(text, sizeof text,
                "%dx%dx%d m%d k%dx%d s%dx%d d%dx%d p%d,%d,%d,%d kind%d q%d prelu%d fc%d y%d "
                "relu%d:%a t%d w%016llx:%llu",
                run.in.w, run.in.h, run.in.c, g.m, r.kernel.x, r.kernel.y, r.stride.x, r.stride.y,
                r.dilation.x, r.dilation.y, r.conv_pad.left, r.conv_pad.right, r.conv_pad.top,
                r.conv_pad.bottom, static_cast<int>(r.conv), g.quantised, g.prelu,
                run.fully_connected, y_major, relu, static_cast<double>(r.activation_param),
                thread_count(), static_cast<unsigned long long>(weights_hash(run.weights)),
                static_cast<unsigned long long>(run.weights.size));
  return text;
}

}  // namespace

struct ConvKernel::Primitive {
  dnnl::convolution_forward convolution;
  memory weights, bias, source, result;
  dnnl::stream stream;
};

ConvKernel::ConvKernel() = default;
ConvKernel::~ConvKernel() = default;

uint64_t weights_hash(const Bytes& weights) {
  // FNV-1a over 8-byte words (sizes are multiples of 16): an accidental clash is out of reach.
  uint64_t hash = 1469598103934665603u;
  const uint8_t* data = weights.data();
  for (uint64_t i = 0; i + 8 <= weights.size; i += 8) {
    uint64_t word;
    std::memcpy(&word, data + i, sizeof word);
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 29;
  }
  return hash;
}

std::shared_ptr<ConvKernel> ConvKernel::get(const SoftRun& run, bool y_major, bool relu) {
  const std::string key = cache_key(run, y_major, relu);
  Cache& shared = cache();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  if (auto known = shared.kernels[key].lock()) return known;
  std::shared_ptr<ConvKernel> kernel(new ConvKernel());
  try {  // oneDNN reports by exception; none may cross the C interface
    if (!kernel->build(run, y_major, relu)) return nullptr;
  } catch (const std::exception& e) {
    set_error("oneDNN cannot do the convolution: %s", e.what());
    return nullptr;
  }
  shared.kernels[key] = kernel;
  for (auto it = shared.kernels.begin(); it != shared.kernels.end();) {
    it = it->second.expired() ? shared.kernels.erase(it) : std::next(it);
  }
  return kernel;
}

namespace {

// The slow ("row") and fast ("column") spatial axis of image quantities.
struct Axes {
  bool y_major;
  int rows(device::Extent e) const { return y_major ? e.y : e.x; }
  int cols(device::Extent e) const { return y_major ? e.x : e.y; }
  int rows(device::Dims d) const { return y_major ? d.h : d.w; }
  int cols(device::Dims d) const { return y_major ? d.w : d.h; }
};

// Float weights in oneDNN's (m, c, rows, cols) order. The stream's inner axis is the row axis in
// both modes: in y-major mode the kernels were transposed before packing.
void unpack(const SoftRun& run, std::vector<float>* weights, std::vector<float>* bias,
            std::vector<float>* slopes) {
  const PackedGeometry& g = run.geometry;
  const size_t kernels = static_cast<size_t>(g.m) * static_cast<size_t>(g.c);
  const size_t outer = static_cast<size_t>(g.ky), inner = static_cast<size_t>(g.kx);
  std::vector<float> packed(kernels * outer * inner);
  bias->resize(static_cast<size_t>(g.m));
  if (g.prelu) slopes->resize(static_cast<size_t>(g.m));
  if (run.fully_connected) {
    unpack_fc(g, run.weights.data(), packed.data(), bias->data());
  } else {
    unpack_weights(g, run.weights.data(), packed.data(), bias->data(),
                   g.prelu ? slopes->data() : nullptr);
  }
  weights->resize(packed.size());
  for (size_t k = 0; k < kernels; ++k) {
    for (size_t j = 0; j < outer; ++j) {
      for (size_t i = 0; i < inner; ++i) {
        (*weights)[(k * inner + i) * outer + j] = packed[(k * outer + j) * inner + i];
      }
    }
  }
}

// The lanes of a layout that oneDNN chose, 0 if it is none of ours.
int lanes_of(const memory::desc& desc, const memory::dims& dims, int channels) {
  const struct {
    Tag tag;
    int lanes;
  } known[] = {{Tag::nChw16c, 16}, {Tag::nChw8c, 8}, {Tag::nhwc, channels}, {Tag::nchw, 1}};
  for (const auto& k : known) {
    if (desc == memory::desc(dims, memory::data_type::f32, k.tag)) return k.lanes;
  }
  return 0;
}

}  // namespace

bool ConvKernel::build(const SoftRun& run, bool y_major, bool relu) {
  const Axes axes{y_major};
  const device::ConvRun& r = run.run;
  const bool depthwise = static_cast<int>(r.conv) & 2, deconv = static_cast<int>(r.conv) & 4;
  const device::Pad& pad = r.conv_pad;
  source_ = {axes.rows(run.in), axes.cols(run.in), run.in.c, 0};
  memory::dims strides = {axes.rows(r.stride), axes.cols(r.stride)};
  if (deconv) {  // runs as a convolution over the input with gaps
    source_.rows = (source_.rows - 1) * static_cast<int>(strides[0]) + 1;
    source_.cols = (source_.cols - 1) * static_cast<int>(strides[1]) + 1;
    strides = {1, 1};
  }
  result_ = {axes.rows(run.conv), axes.cols(run.conv), r.m, 0};
  const memory::dims dilation = {axes.rows(r.dilation) - 1, axes.cols(r.dilation) - 1};
  memory::dims before = {pad.left, pad.top}, after = {pad.right, pad.bottom};
  if (y_major) before = {pad.top, pad.left}, after = {pad.bottom, pad.right};
  // oneDNN wants the pads to fit exactly; what the last window does not reach is cut off.
  const int kernel[2] = {axes.rows(r.kernel), axes.cols(r.kernel)};
  const int in[2] = {source_.rows, source_.cols}, out[2] = {result_.rows, result_.cols};
  for (size_t i = 0; i < 2; ++i) {
    after[i] =
        (out[i] - 1) * strides[i] + (kernel[i] - 1) * (dilation[i] + 1) + 1 - in[i] - before[i];
  }

  const auto f32 = memory::data_type::f32;
  const memory::dims source_dims = {1, run.in.c, source_.rows, source_.cols};
  const memory::dims result_dims = {1, r.m, result_.rows, result_.cols};
  memory::dims weight_dims = {r.m, run.in.c, kernel[0], kernel[1]};
  if (depthwise) weight_dims = {r.m, 1, 1, kernel[0], kernel[1]};
  const memory::desc weights_any(weight_dims, f32, Tag::any), bias_desc({r.m}, f32, Tag::x);
  dnnl::post_ops after_ops;
  if (relu) after_ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, r.activation_param, 0);
  dnnl::primitive_attr attr;
  attr.set_post_ops(after_ops);
  auto describe = [&](Tag source_tag, Tag result_tag) {
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        memory::desc(source_dims, f32, source_tag), weights_any, bias_desc,
        memory::desc(result_dims, f32, result_tag), strides, dilation, before, after);
    return dnnl::convolution_forward::primitive_desc(desc, attr, cpu());
  };
  auto chosen = describe(Tag::any, Tag::any);
  source_.lanes = lanes_of(chosen.src_desc(), source_dims, run.in.c);
  result_.lanes = lanes_of(chosen.dst_desc(), result_dims, r.m);
  if (source_.lanes == 0 || result_.lanes == 0) {
    chosen = describe(Tag::nhwc, Tag::nhwc);
    source_.lanes = run.in.c;
    result_.lanes = r.m;
  }

  std::vector<float> weights, bias;
  unpack(run, &weights, &bias, &slopes_);
  if (!slopes_.empty()) {  // also for the lanes beyond the last channel
    slopes_.resize(static_cast<size_t>(result_.groups()) * static_cast<size_t>(result_.lanes));
  }
  primitive_ = std::make_unique<Primitive>();
  primitive_->convolution = dnnl::convolution_forward(chosen);
  primitive_->stream = dnnl::stream(cpu());
  primitive_->weights = memory(chosen.weights_desc(), cpu());
  primitive_->bias = memory(bias_desc, cpu());
  primitive_->source = memory(chosen.src_desc(), cpu(), nullptr);
  primitive_->result = memory(chosen.dst_desc(), cpu(), nullptr);
  std::memcpy(primitive_->bias.get_data_handle(), bias.data(), bias.size() * sizeof(float));
  const memory plain(memory::desc(weight_dims, f32, depthwise ? Tag::goihw : Tag::oihw), cpu(),
                     weights.data());
  dnnl::reorder(plain, primitive_->weights)
      .execute(primitive_->stream, const_cast<memory&>(plain), primitive_->weights);
  primitive_->stream.wait();
  return true;
}

void ConvKernel::execute(const float* source, float* result) const {
  // Handles are set per call: only the queue's one worker executes kernels.
  primitive_->source.set_data_handle(const_cast<float*>(source));
  primitive_->result.set_data_handle(result);
  primitive_->convolution.execute(primitive_->stream, {{DNNL_ARG_SRC, primitive_->source},
                                                       {DNNL_ARG_WEIGHTS, primitive_->weights},
                                                       {DNNL_ARG_BIAS, primitive_->bias},
                                                       {DNNL_ARG_DST, primitive_->result}});
  primitive_->stream.wait();
}

}  // namespace dvnn::softdv
