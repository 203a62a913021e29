// SPDX-License-Identifier: Apache-2.0
// Pooling by Caffe's rules, for the windows that the device cannot do.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/share.h"
#include "kernels/windows.h"
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

// Works on floats in chunks of channels, which a vector holds.
class Pooling final : public CpuLayer {
 public:
  Pooling(bool average, bool counts_pads, Axis x, Axis y, const TensorDesc& input,
          const TensorDesc& output)
      : average_(average),
        counts_pads_(counts_pads),
        in_(input.shape),
        out_(output.shape),
        to_chunks_(moved_form(input), chunks_of(input.shape)),
        from_chunks_(chunks_of(output.shape), moved_form(output)) {
    to_chunks_.add(whole_part(in_));
    from_chunks_.add(whole_part(out_));
    for (int i = 0; i < out_.w(); ++i) columns_.push_back(window_at(x, i, in_.w()));
    for (int i = 0; i < out_.h(); ++i) rows_.push_back(window_at(y, i, in_.h()));
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    float* const in = Workspace::current().floats(static_cast<size_t>(in_.elements()));
    float* const out = Workspace::current().floats(static_cast<size_t>(out_.elements()));
    to_chunks_.run(read_moved(inputs[0]), reinterpret_cast<uint8_t*>(in));
    const int chunks = (in_.c() + kLanes - 1) / kLanes;
    share(in_.n() * chunks * out_.h(), [&](int i) {
      const int first = i / out_.h() % chunks * kLanes;
      const int64_t before = int64_t{i / out_.h() / chunks} * in_.c() + first;  // channels
      pool_row(rows_[static_cast<size_t>(i % out_.h())], std::min(kLanes, in_.c() - first),
               in + before * in_.h() * in_.w(), out + before * out_.h() * out_.w(), i % out_.h());
    });
    uint8_t* const to = begin_moved(outputs[0]);
    from_chunks_.run(reinterpret_cast<const uint8_t*>(out), to);
    finish_moved(to, outputs[0]);
    return {};
  }

 private:
  static constexpr int kLanes = 8;  // channels of a chunk

  static TensorDesc chunks_of(const Shape& shape) {
    return {ElementType::kFloat32, Layout::kHwc8, shape};
  }

  void pool_row(const Window& wy, int lanes, const float* in, float* out, int y) const {
    float* to = out + int64_t{y} * out_.w() * lanes;
    const int64_t row = int64_t{in_.w()} * lanes;
    for (const Window& wx : columns_) {
      const kernels::PixelWindow window = {
          in + wy.begin * row + int64_t{wx.begin} * lanes, static_cast<size_t>(row),
          static_cast<size_t>(wy.end - wy.begin), static_cast<size_t>(wx.end - wx.begin),
          static_cast<size_t>(lanes)};
      if (average_) {
        const int64_t own = int64_t{wy.end - wy.begin} * (wx.end - wx.begin);
        const int64_t divisor = counts_pads_ ? int64_t{wy.padded} * wx.padded : own;
        kernels::average_of_window(window, static_cast<float>(divisor), to);
      } else {
        kernels::largest_of_window(window, to);
      }
      to += lanes;
    }
  }

  bool average_, counts_pads_;
  Shape in_, out_;
  Moves to_chunks_, from_chunks_;
  std::vector<Window> columns_, rows_;
};

}  // namespace

Result<PoolingAttributes> PoolingAttributes::parse(const Json& params) {
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

Json PoolingAttributes::to_json() const {
  Json out = {{"method", average ? "average" : "max"},
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
