// SPDX-License-Identifier: Apache-2.0
#include "softdv/convolutions/onednn_convolution.h"

#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "softdv/aligned_floats.h"

namespace dvnn::softdv {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::dims weight_dims(const ConvShape& s) {
  if (s.depthwise) return {s.out_channels, 1, 1, s.rows.kernel, s.columns.kernel};
  return {s.out_channels, s.in_channels, s.rows.kernel, s.columns.kernel};
}

dnnl::primitive_attr attributes(ConvRelu relu) {
  dnnl::post_ops after;
  if (relu.on) {
#if DNNL_VERSION_MAJOR >= 3
    after.append_eltwise(dnnl::algorithm::eltwise_relu, relu.slope, 0);
#else
    after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, relu.slope, 0);
#endif
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  attributes.set_scratchpad_mode(
      dnnl::scratchpad_mode::user);  // the library's is not free-threaded
  return attributes;
}

// Version 3 has no operation descriptors.
dnnl::convolution_forward::primitive_desc describe(const ConvShape& s, ConvRelu relu,
                                                   const memory::desc& source,
                                                   const memory::desc& result) {
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc weights(weight_dims(s), kF32, Tag::any);
  const memory::desc bias({s.out_channels}, kF32, Tag::x);
  const memory::dims strides = {s.rows.stride, s.columns.stride};
  const memory::dims gaps = {s.rows.dilation - 1, s.columns.dilation - 1};
  const memory::dims before = {s.rows.before, s.columns.before};
  const memory::dims after = {s.rows.after, s.columns.after};
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(),  kind,    algorithm, source, weights, bias,
          result, strides, gaps,      before, after,   attributes(relu)};
#else
  return {{kind, algorithm, source, weights, bias, result, strides, gaps, before, after},
          attributes(relu),
          cpu()};
#endif
}

// A buffer of the calling thread, of at least `bytes`.
void* thread_scratchpad(size_t bytes) {
  static thread_local AlignedFloats buffer;
  return buffer.room(bytes / sizeof(float) + 1);
}

}  // namespace

struct OneDnnWeights::Parts {
  dnnl::stream stream{cpu()};
  std::vector<float> values;
  memory plain, bias;
  std::vector<memory> packed;  // in each order that a primitive wanted

  memory in_order(const memory::desc& desc) {
    for (const memory& known : packed) {
      if (known.get_desc() == desc) return known;
    }
    memory made(desc, cpu());
    dnnl::reorder(plain, made).execute(stream, plain, made);
    stream.wait();
    packed.push_back(made);
    return made;
  }
};

OneDnnWeights::OneDnnWeights(const ConvShape& shape, const float* weights, const float* bias)
    : parts_(new Parts) {
  const memory::desc desc(weight_dims(shape), kF32, shape.depthwise ? Tag::goihw : Tag::oihw);
  parts_->values.assign(weights, weights + desc.get_size() / sizeof(float));
  parts_->plain = memory(desc, cpu(), parts_->values.data());
  parts_->bias = memory(memory::desc({shape.out_channels}, kF32, Tag::x), cpu());
  std::memcpy(parts_->bias.get_data_handle(), bias,
              static_cast<size_t>(shape.out_channels) * sizeof(float));
}

OneDnnWeights::~OneDnnWeights() = default;

class OneDnnConvolution : public Convolution {
 public:
  OneDnnConvolution(const ConvShape& shape, ConvRelu relu, OneDnnWeights* weights) {
    const memory::desc source({1, shape.in_channels, shape.rows.in, shape.columns.in}, kF32,
                              Tag::nhwc);
    const memory::desc result({1, shape.out_channels, shape.rows.out, shape.columns.out}, kF32,
                              Tag::nhwc);
    const auto chosen = describe(shape, relu, source, result);
    convolution_ = dnnl::convolution_forward(chosen);
    source_ = memory(source, cpu(), nullptr);
    weights_ = weights->parts_->in_order(chosen.weights_desc());
    bias_ = weights->parts_->bias;
    result_ = memory(result, cpu(), nullptr);
    scratchpad_ = memory(chosen.scratchpad_desc(), cpu(), nullptr);
    scratchpad_bytes_ = chosen.scratchpad_desc().get_size();
  }

  void execute(const float* source, float* result) override {
    source_.set_data_handle(const_cast<float*>(source));
    result_.set_data_handle(result);
    scratchpad_.set_data_handle(thread_scratchpad(scratchpad_bytes_));
    convolution_.execute(stream_, {{DNNL_ARG_SRC, source_},
                                   {DNNL_ARG_WEIGHTS, weights_},
                                   {DNNL_ARG_BIAS, bias_},
                                   {DNNL_ARG_DST, result_},
                                   {DNNL_ARG_SCRATCHPAD, scratchpad_}});
  }

 private:
  dnnl::stream stream_{cpu()};
  dnnl::convolution_forward convolution_;
  // The handles of source, result and scratchpad are set anew for each execution.
  memory source_, weights_, bias_, result_, scratchpad_;
  size_t scratchpad_bytes_ = 0;
};

namespace {

// Returns whether each output along an axis has a tap within the source. Version 3.7 reads out of
// bounds if one has none.
bool every_output_sees_the_source(const ConvAxis& axis) {
  for (int out = 0; out < axis.out; ++out) {
    const int start = out * axis.stride - axis.before;
    // The first tap at or after the source's beginning.
    const int k = start >= 0 ? 0 : (axis.dilation - 1 - start) / axis.dilation;
    if (k >= axis.kernel || start + k * axis.dilation >= axis.in) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<Convolution> onednn_convolution(const ConvShape& shape, ConvRelu relu,
                                                OneDnnWeights* weights) {
  if (!every_output_sees_the_source(shape.rows) || !every_output_sees_the_source(shape.columns)) {
    return nullptr;
  }
  try {
    return std::make_unique<OneDnnConvolution>(shape, relu, weights);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace dvnn::softdv
