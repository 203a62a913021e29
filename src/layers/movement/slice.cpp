// SPDX-License-Identifier: Apache-2.0
// Parts of tensors, and pictures with borders of zeros.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "layers/factories.h"
#include "layers/float_io.h"
#include "layers/strides.h"

namespace dvnn::layers {
namespace {

class Slice final : public CpuLayer {
 public:
  Slice(std::vector<uint32_t> index, const TensorDesc& input)
      : index_(std::move(index)), reader_(input) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* const result = Workspace::current().floats(index_.size());
    for (size_t i = 0; i < index_.size(); ++i) result[i] = in[index_[i]];
    write_nchw(result, outputs[0]);
    return {};
  }

 private:
  std::vector<uint32_t> index_;  // of the input's element for each of the output's
  FloatReader reader_;
};

class Pad final : public CpuLayer {
 public:
  Pad(int left, int top, const TensorDesc& input, const TensorDesc& output)
      : left_(left),
        top_(top),
        in_(input.shape),
        out_(output.shape),
        reader_(input),
        result_(static_cast<size_t>(output.shape.elements()), 0.0f) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    for (int c = 0; c < in_.c(); ++c) {
      for (int y = 0; y < in_.h(); ++y, in += in_.w()) {
        const int64_t row = (int64_t{c} * out_.h() + y + top_) * out_.w() + left_;
        std::copy(in, in + in_.w(), result_.begin() + row);
      }
    }
    write_nchw(result_.data(), outputs[0]);
    return {};
  }

 private:
  int left_, top_;
  Shape in_, out_;
  FloatReader reader_;
  std::vector<float> result_;  // borders stay zero
};

}  // namespace

Result<SliceAttributes> SliceAttributes::parse(const nlohmann::json& params) {
  constexpr int kMost = 1 << 28;
  JsonReader in(params, kName);
  SliceAttributes a;
  a.begin = in.integers("begin", 0, kMost, Shape::kMaxRank);
  a.step = in.integers("step", -kMost, kMost, Shape::kMaxRank);
  a.count = in.integers("count", -1, kMost, Shape::kMaxRank);
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json SliceAttributes::to_json() const {
  nlohmann::json out = {{"begin", begin}, {"step", step}};
  if (!count.empty()) out["count"] = count;
  return out;
}

DimsResult SliceAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& shape = inputs[0];
  const auto rank = static_cast<size_t>(shape.rank);
  if (begin.size() != rank || step.size() != rank || count.size() != rank) {
    return Error{ErrorCode::kUnsupported,
                 "slices " + std::to_string(begin.size()) + " dimensions of " + shape.to_string()};
  }
  std::vector<int64_t> dims;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = shape[static_cast<int>(i)], at = begin[i], by = step[i];
    const int64_t most = by > 0                ? (size - at + by - 1) / by
                         : by < 0 && at < size ? at / -by + 1
                                               : 0;
    dims.push_back(count[i] < 0 ? most : count[i]);
    if (at < 0 || dims.back() > most) {
      return Error{ErrorCode::kUnsupported, "takes more than there is of " + shape.to_string()};
    }
  }
  return dims;
}

LayerResult SliceAttributes::create(Span<const TensorDesc> inputs,
                                    Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  const size_t rank = static_cast<size_t>(from.rank);
  bool fits = begin.size() == rank && step.size() == rank && to.rank == from.rank;
  for (int i = 0; fits && i < from.rank; ++i) {
    const size_t k = static_cast<size_t>(i);
    const int64_t last = begin[k] + int64_t{to[i] - 1} * step[k];
    fits = begin[k] < from[i] && last >= 0 && last < from[i];
  }
  if (!fits) {
    return Error{ErrorCode::kMalformed, "field 'begin' with step and the output " + to.to_string() +
                                            " leaves the input " + from.to_string()};
  }
  Strides strides = strides_of(from);
  int64_t first = 0;
  for (size_t i = 0; i < rank; ++i) {
    first += begin[i] * strides[i];
    strides[i] *= step[i];
  }
  std::vector<uint32_t> index;
  index.reserve(static_cast<size_t>(to.elements()));
  walk(to, strides, first, [&](int64_t at) { index.push_back(static_cast<uint32_t>(at)); });
  return std::unique_ptr<CpuLayer>(new Slice(std::move(index), inputs[0]));
}

Result<PadAttributes> PadAttributes::parse(const nlohmann::json& params) {
  constexpr int kMost = 1 << 15;
  JsonReader in(params, kName);
  auto side = [&](const char* name) { return static_cast<int>(in.integer(name, 0, kMost, 0)); };
  PadAttributes a;
  a.left = side("left");
  a.right = side("right");
  a.top = side("top");
  a.bottom = side("bottom");
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json PadAttributes::to_json() const {
  return {{"left", left}, {"right", right}, {"top", top}, {"bottom", bottom}};
}

DimsResult PadAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& shape = inputs[0];
  if (shape.rank != 4 || shape.n() != 1) return Error{ErrorCode::kUnsupported, "needs a picture"};
  return std::vector<int64_t>{1, shape.c(), int64_t{shape.h()} + top + bottom,
                              int64_t{shape.w()} + left + right};
}

LayerResult PadAttributes::create(Span<const TensorDesc> inputs,
                                  Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  if (from.rank != 4 || to.rank != 4 || from.n() != 1 || to.n() != 1 || to.c() != from.c() ||
      to.w() != from.w() + left + right || to.h() != from.h() + top + bottom) {
    return Error{ErrorCode::kMalformed, "field 'left' with the other sides does not make " +
                                            to.to_string() + " of " + from.to_string()};
  }
  return std::unique_ptr<CpuLayer>(new Pad(left, top, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
