// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "softdv/convolutions/convolution.h"

namespace dvnn::softdv {
namespace {

class PlainConvolution : public Convolution {
 public:
  PlainConvolution(const ConvShape& shape, ConvRelu relu, const float* weights, const float* bias)
      : shape_(shape),
        relu_(relu),
        weights_(weights, weights + size_t(shape.out_channels) * kernel_size()),
        bias_(bias, bias + shape.out_channels) {}

  void execute(const float* source, float* result) override {
    for (int y = 0; y < shape_.rows.out; ++y) {
      for (int x = 0; x < shape_.columns.out; ++x) {
        for (int m = 0; m < shape_.out_channels; ++m) *result++ = activated(sum(source, y, x, m));
      }
    }
  }

 private:
  int kernel_channels() const { return shape_.depthwise ? 1 : shape_.in_channels; }
  size_t kernel_size() const {
    return size_t(kernel_channels()) * size_t(shape_.rows.kernel) * size_t(shape_.columns.kernel);
  }
  float activated(float v) const { return relu_.on && v < 0 ? relu_.slope * v : v; }

  // The position in the source of tap `k` of output `out`; -1 if it lies outside.
  static int place(const ConvAxis& axis, int out, int k) {
    const int at = out * axis.stride - axis.before + k * axis.dilation;
    return at < axis.in ? std::max(at, -1) : -1;
  }

  float sum(const float* source, int y, int x, int m) const {
    float total = bias_[size_t(m)];
    const size_t taps = size_t(shape_.rows.kernel) * size_t(shape_.columns.kernel);
    const float* kernel = &weights_[size_t(m) * kernel_size()];
    for (int j = 0; j < shape_.rows.kernel; ++j) {
      const int row = place(shape_.rows, y, j);
      if (row < 0) continue;
      for (int i = 0; i < shape_.columns.kernel; ++i) {
        const int column = place(shape_.columns, x, i);
        if (column < 0) continue;
        const size_t pixel = size_t(row) * size_t(shape_.columns.in) + size_t(column);
        const float* from = source + pixel * size_t(shape_.in_channels);
        if (shape_.depthwise) from += m;
        const float* tap = kernel + size_t(j) * size_t(shape_.columns.kernel) + i;
        for (int c = 0; c < kernel_channels(); ++c) total += from[c] * tap[size_t(c) * taps];
      }
    }
    return total;
  }

  ConvShape shape_;
  ConvRelu relu_;
  std::vector<float> weights_, bias_;
};

}  // namespace

std::unique_ptr<Convolution> plain_convolution(const ConvShape& shape, ConvRelu relu,
                                               const float* weights, const float* bias) {
  return std::make_unique<PlainConvolution>(shape, relu, weights, bias);
}

}  // namespace dvnn::softdv
