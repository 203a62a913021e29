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

using Axis = PoolingAttributes::Axis;

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

Result<PoolingAttributes> PoolingAttributes::parse(const nlohmann::json& params) {
  constexpr int kMax = 65535;
  JsonReader in(params, kName);
  PoolingAttributes a;
  const std::string method = in.text("method");
  if (method != "max" && method != "average") in.fail("method", "must be max or average");
  a.average = method == "average";
  a.global = in.boolean("global", false);
  a.counts_pads = in.boolean("counts_pads", true);
  auto axis = [&](const char* kernel, const char* stride, const char* pad) {
    Axis axis;
    axis.kernel = static_cast<int>(in.integer(kernel, 1, kMax, 1));
    axis.stride = static_cast<int>(in.integer(stride, 1, kMax, 1));
    axis.pad = static_cast<int>(in.integer(pad, 0, kMax, 0));
    return axis;
  };
  a.x = axis("kernel_w", "stride_w", "pad_w");
  a.y = axis("kernel_h", "stride_h", "pad_h");
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json PoolingAttributes::to_json() const {
  nlohmann::json out = {{"method", average ? "average" : "max"},
                        {"kernel_w", x.kernel},
                        {"kernel_h", y.kernel},
                        {"stride_w", x.stride},
                        {"stride_h", y.stride},
                        {"pad_w", x.pad},
                        {"pad_h", y.pad},
                        {"counts_pads", counts_pads}};
  if (global) out["global"] = true;
  return out;
}

// Planning makes these of the device's poolings once all sizes are known.
DimsResult PoolingAttributes::dims_after(Span<const Shape>) const {
  return Error{ErrorCode::kUnsupported,
               "a pooling on the CPU does not say how its size follows the input's"};
}

LayerResult PoolingAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  if (from.rank != 4 || to.rank != 4 || from.n() != to.n() || from.c() != to.c()) {
    return Error{ErrorCode::kMalformed, "the shapes " + from.to_string() + " and " +
                                            to.to_string() + " are not those of a pooling"};
  }
  const Axis h = global ? Axis{from.w(), 1, 0} : x, v = global ? Axis{from.h(), 1, 0} : y;
  // The last window must begin inside the input, so that no window is empty.
  if (int64_t{to.w() - 1} * h.stride - h.pad >= from.w() ||
      int64_t{to.h() - 1} * v.stride - v.pad >= from.h() || h.pad >= h.kernel ||
      v.pad >= v.kernel) {
    return Error{ErrorCode::kMalformed, "the output " + to.to_string() +
                                            " has windows outside the input " + from.to_string()};
  }
  return std::unique_ptr<CpuLayer>(new Pooling(average, counts_pads, h, v, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
