// SPDX-License-Identifier: Apache-2.0
// Pooling by Caffe's rules, for the windows that the device cannot do.
#include <algorithm>
#include <limits>

#include "base/format.h"
#include "base/json.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

struct Axis {
  int kernel = 1, stride = 1, pad = 0;
};

struct Window {
  int begin, end;  // clipped to the input
  int padded;      // length clipped to the padded input: what Caffe's average divides by
};

Window window_at(const Axis& axis, int index, int size) {
  const int start = index * axis.stride - axis.pad;
  const int padded_end = std::min(start + axis.kernel, size + axis.pad);
  return {std::max(start, 0), std::min(padded_end, size), padded_end - start};
}

class Pooling final : public CpuLayer {
 public:
  Pooling(bool average, bool counts_pads, Axis x, Axis y, const TensorDesc& input,
          const TensorDesc& output)
      : average_(average),
        counts_pads_(counts_pads),
        x_(x),
        y_(y),
        in_(input.shape),
        out_(output.shape),
        reader_(input),
        writer_(output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* out = writer_.begin(outputs[0]);
    const int planes = in_.n() * in_.c();
    for (int p = 0; p < planes; ++p, in += int64_t{in_.h()} * in_.w()) {
      for (int oy = 0; oy < out_.h(); ++oy) {
        const Window wy = window_at(y_, oy, in_.h());
        for (int ox = 0; ox < out_.w(); ++ox) *out++ = pool(in, wy, window_at(x_, ox, in_.w()));
      }
    }
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  float pool(const float* plane, const Window& wy, const Window& wx) const {
    float best = -std::numeric_limits<float>::max(), sum = 0;
    for (int y = wy.begin; y < wy.end; ++y) {
      for (int x = wx.begin; x < wx.end; ++x) {
        const float v = plane[int64_t{y} * in_.w() + x];
        best = std::max(best, v);
        sum += v;
      }
    }
    if (!average_) return best;
    const int64_t own = int64_t{wy.end - wy.begin} * (wx.end - wx.begin);
    return sum / static_cast<float>(counts_pads_ ? int64_t{wy.padded} * wx.padded : own);
  }

  bool average_, counts_pads_;
  Axis x_, y_;
  Shape in_, out_;
  FloatReader reader_;
  FloatWriter writer_;
};

}  // namespace

DVNN_LAYER_FACTORY(create_pooling_layer) {
  constexpr int kMax = 65535;
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  JsonReader in(params, "Pooling");
  const std::string method = in.text("method");
  const bool global = in.boolean("global", false);
  const bool counts_pads = in.boolean("counts_pads", true);
  auto axis = [&](const char* kernel, const char* stride, const char* pad) {
    Axis a;
    a.kernel = static_cast<int>(in.integer(kernel, 1, kMax, 1));
    a.stride = static_cast<int>(in.integer(stride, 1, kMax, 1));
    a.pad = static_cast<int>(in.integer(pad, 0, kMax, 0));
    return a;
  };
  Axis x = axis("kernel_w", "stride_w", "pad_w"), y = axis("kernel_h", "stride_h", "pad_h");
  if (method != "max" && method != "average") in.fail("method", "must be max or average");
  if (from.rank != 4 || to.rank != 4 || from.n() != to.n() || from.c() != to.c()) {
    in.fail("kernel_w", "the shapes " + from.to_string() + " and " + to.to_string() +
                            " are not those of a pooling");
  }
  DVNN_TRY(in.status());
  if (global) {
    x = {from.w(), 1, 0};
    y = {from.h(), 1, 0};
  }
  // The last window must begin inside the input, so that no window is empty.
  if (int64_t{to.w() - 1} * x.stride - x.pad >= from.w() ||
      int64_t{to.h() - 1} * y.stride - y.pad >= from.h() || x.pad >= x.kernel ||
      y.pad >= y.kernel) {
    return Error{ErrorCode::kMalformed, "the output " + to.to_string() +
                                            " has windows outside the input " + from.to_string()};
  }
  return std::unique_ptr<CpuLayer>(
      new Pooling(method == "average", counts_pads, x, y, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
