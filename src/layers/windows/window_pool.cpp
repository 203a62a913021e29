// SPDX-License-Identifier: Apache-2.0
// Poolings over any number of axes. Source of the rules: ONNX AveragePool, LpPool and MaxPool.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/nth.h"
#include "base/numbers.h"
#include "base/share.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

using PoolOperation = WindowPoolAttributes::Operation;

constexpr const char* kPoolOperations[] = {"average", "lp", "max", "place"};  // in the enum's order

// Returns the number of elements from a window's first to its last.
int64_t reach_of(const WindowPoolAttributes& a, size_t axis) {
  return (int64_t{a.kernel[axis]} - 1) * a.dilation[axis] + 1;
}

// The running result of one window.
struct PoolWindow {
  double sum = 0;  // of values, or of their powers
  float best = -std::numeric_limits<float>::infinity();
  int64_t place = 0;
  int64_t inside = 0, padded = 0;  // taps inside the input, and inside the padded input
};

class Pool {
 public:
  Pool(const WindowPoolAttributes& attributes, const Shape& in, const Shape& out)
      : a_(attributes), in_(in), out_(out), strides_(strides_of(in)) {
    // These strides count an element's place in its plane by columns.
    int64_t stride = 1;
    for (int i = 2; i < in.rank; ++i) {
      nth(column_strides_, i) = stride;
      stride *= in[i];
    }
  }

  void operator()(const float* const* in, float* result) const {
    const int64_t planes = int64_t{in_[0]} * in_[1];
    const int64_t plane = in_.elements() / planes, windows = out_.elements() / planes;
    share(static_cast<int>(planes), [&](int p) {
      int at[Shape::kMaxRank] = {};
      float* to = result + p * windows;
      for (int64_t w = 0; w < windows; ++w) {
        PoolWindow window;
        add(2, at, in[0] + p * plane, 0, 0, true, &window);
        *to++ = value_of(window, p * plane);
        for (int i = out_.rank - 1; i >= 2 && ++at[i] == out_[i]; --i) at[i] = 0;
      }
    });
  }

 private:
  // Adds the taps of the axes from `axis` on. `inside`: the position lies inside the input so far.
  void add(int axis, const int* at, const float* plane, int64_t offset, int64_t column, bool inside,
           PoolWindow* window) const {
    // Compilers need the second bound: they unroll this beyond the ranks that exist.
    if (axis >= in_.rank || axis >= Shape::kMaxRank) {
      ++window->padded;
      if (inside) add_tap(plane[offset], a_.column_major ? column : offset, window);
      return;
    }
    const auto i = static_cast<size_t>(axis), w = i - 2;
    const int start = at[axis] * a_.stride[w] - a_.before[w];
    for (int k = 0; k < a_.kernel[w]; ++k) {
      const int x = start + k * a_.dilation[w];
      if (x >= in_[axis] + a_.after[w]) break;
      const bool here = inside && x >= 0 && x < in_[axis];
      add(axis + 1, at, plane, here ? offset + x * strides_[i] : offset,
          here ? column + x * column_strides_[i] : column, here, window);
    }
  }

  void add_tap(float x, int64_t place, PoolWindow* window) const {
    ++window->inside;
    if (x > window->best) {
      window->best = x;
      window->place = place;
    }
    if (a_.operation == PoolOperation::kAverage) window->sum += static_cast<double>(x);
    if (a_.operation == PoolOperation::kLp) {
      window->sum += std::pow(std::fabs(static_cast<double>(x)), a_.p);
    }
  }

  float value_of(const PoolWindow& window, int64_t plane) const {
    switch (a_.operation) {
      case PoolOperation::kAverage: {
        const int64_t count = a_.counts_pads ? window.padded : window.inside;
        return static_cast<float>(window.sum / static_cast<double>(std::max<int64_t>(count, 1)));
      }
      case PoolOperation::kLp:
        return static_cast<float>(std::pow(window.sum, 1.0 / a_.p));
      case PoolOperation::kMax:
        return window.best;
      case PoolOperation::kPlace:
        return static_cast<float>(plane + window.place);
    }
    return 0;
  }

  WindowPoolAttributes a_;
  Shape in_, out_;
  Strides strides_, column_strides_ = {};
};

}  // namespace

void WindowPoolAttributes::fields(Fields* f) {
  constexpr int kMost = 65535;
  f->require("operation");
  f->choice("operation", &operation, kPoolOperations);
  f->integers("kernel", &kernel, 1, kMost);
  f->integers("stride", &stride, 1, kMost);
  f->integers("dilation", &dilation, 1, kMost);
  f->integers("before", &before, 0, kMost);
  f->integers("after", &after, 0, kMost);
  f->boolean("ceil", &ceil, ceil);
  f->boolean("counts_pads", &counts_pads, counts_pads);
  f->boolean("column_major", &column_major, column_major);
  f->integer("p", &p, 1, 64, operation == PoolOperation::kLp);
}

DimsResult WindowPoolAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& in = inputs[0];
  const size_t axes = in.rank > 2 ? in.axes() - 2 : 0;
  for (const auto* list : {&kernel, &stride, &dilation, &before, &after}) {
    if (axes > 0 && list->size() == axes) continue;
    return unsupported(
        format("has windows over %zu axes for %s", list->size(), in.to_string().c_str()));
  }
  std::vector<int64_t> dims = {in[0], in[1]};
  for (size_t i = 0; i < axes; ++i) {
    if (before[i] >= reach_of(*this, i)) return unsupported("has windows in the padding alone");
    dims.push_back(count_windows(in[static_cast<int>(i) + 2], before[i], after[i],
                                 reach_of(*this, i), stride[i], ceil));
    if (dims.back() < 1) {
      return unsupported("has windows that are larger than " + in.to_string() + " with its pads");
    }
  }
  return dims;
}

Cost WindowPoolAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  uint64_t taps = 1;
  for (int size : kernel) taps = saturating_product(taps, static_cast<uint64_t>(size));
  return float_layer_cost(in, out, taps);
}

LayerResult WindowPoolAttributes::create(Span<const TensorDesc> inputs,
                                         Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 1, inputs, outputs));
  const Shape &shape = inputs[0].shape, &out = outputs[0].shape;
  return make_float_layer(inputs, outputs, Pool(*this, shape, out));
}

}  // namespace dvnn::layers
