// SPDX-License-Identifier: Apache-2.0
// Pooling by Caffe's rules, for the windows that the device cannot do.
#include <algorithm>

#include "base/grid.h"
#include "base/nth.h"
#include "base/numbers.h"
#include "base/share.h"
#include "kernels/windows/windows.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"
#include "tensor/half.h"

namespace dvnn::layers {
namespace {

using Axis = PoolingAttributes::Axis;

struct Window {
  int begin, end;  // clipped to the input
  int padded;      // length clipped to the padded input, by which Caffe's average divides
  size_t length() const { return static_cast<size_t>(end - begin); }
};

Window window_at(const Axis& axis, int index, int size) {
  const int start = index * axis.stride - axis.pad;
  const int padded_end = std::min(start + axis.kernel, size + axis.pad);
  return {std::max(start, 0), std::min(padded_end, size), padded_end - start};
}

constexpr int kLanes = 8;  // channels of a chunk

// Pools a chunk of floats, whose channels fit a vector, line by line. Lines are the rows of a
// picture stored by rows, else its columns.
class LinePooling {
 public:
  LinePooling(const PoolingAttributes& rule, bool by_rows, Axis x, Axis y, const Shape& in,
              const Shape& out)
      : average_(rule.average), counts_pads_(rule.counts_pads), by_rows_(by_rows) {
    const auto windows_of = [](const Axis& axis, int count, int size) {
      std::vector<Window> windows;
      for (int i = 0; i < count; ++i) windows.push_back(window_at(axis, i, size));
      return windows;
    };
    std::vector<Window> rows = windows_of(y, out.h(), in.h());
    std::vector<Window> columns = windows_of(x, out.w(), in.w());
    lines_ = by_rows ? std::move(rows) : std::move(columns);
    for (const Window& window : by_rows ? columns : rows) add_to_line(window);
  }

  // Returns the lines of the input that result line `i` covers.
  const Window& line(int i) const { return nth(lines_, i); }

  // Computes result line `i` from its input lines, which begin at `from`, `stride` floats apart.
  void pool(int i, const float* from, size_t stride, int channels, float* to) const {
    const Window& along = line(i);
    const auto lanes = static_cast<size_t>(channels);
    const size_t size = along.length();
    for (const Run& run : runs_) {
      const Window& across = run.first;
      const size_t wide = across.length();
      kernels::PixelWindows w = {from + static_cast<size_t>(across.begin) * lanes,
                                 run.count,
                                 run.step * lanes,
                                 stride,
                                 lanes,
                                 size,
                                 wide,
                                 lanes};
      if (!by_rows_) {
        std::swap(w.row, w.column);
        std::swap(w.rows, w.columns);
      }
      if (average_) {
        const auto padded = static_cast<size_t>(int64_t{along.padded} * across.padded);
        kernels::average_of_windows(w, static_cast<float>(counts_pads_ ? padded : size * wide), to);
      } else {
        kernels::largest_of_windows(w, to);
      }
      to += run.count * lanes;
    }
  }

 private:
  // Windows of the same size along a line, `step` pixels apart.
  struct Run {
    Window first;
    size_t count, step;
  };

  void add_to_line(const Window& window) {
    if (!runs_.empty()) {
      Run& run = runs_.back();
      const Window& first = run.first;
      const auto far = static_cast<size_t>(window.begin - first.begin);
      if (window.length() == first.length() && window.padded == first.padded &&
          (run.count == 1 || far == run.count * run.step)) {
        if (run.count == 1) run.step = far;
        ++run.count;
        return;
      }
    }
    runs_.push_back({window, 1, 0});
  }

  bool average_, counts_pads_, by_rows_;
  std::vector<Window> lines_;
  std::vector<Run> runs_;
};

// Pools floats in chunks of channels.
class Pooling final : public CpuLayer {
 public:
  Pooling(LinePooling pooling, const TensorDesc& input, const TensorDesc& output)
      : pooling_(std::move(pooling)),
        in_(input.shape),
        out_(output.shape),
        to_chunks_(moved_form(input), chunks_of(input.shape)),
        from_chunks_(chunks_of(output.shape), moved_form(output)) {
    to_chunks_.add(whole_part(in_));
    from_chunks_.add(whole_part(out_));
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    float* const in = Workspace::current().floats(in_.count());
    float* const out = Workspace::current().floats(out_.count());
    to_chunks_.run(read_moved(inputs[0]), reinterpret_cast<uint8_t*>(in));
    const int chunks = (in_.c() + kLanes - 1) / kLanes;
    const int64_t row = in_.w();
    share(in_.n() * chunks * out_.h(), [&](int i) {
      const int first = i / out_.h() % chunks * kLanes, y = i % out_.h();
      const int lanes = std::min(kLanes, in_.c() - first);
      const int64_t before = int64_t{i / out_.h() / chunks} * in_.c() + first;  // channels
      pooling_.pool(y, in + before * in_.h() * row + pooling_.line(y).begin * row * lanes,
                    static_cast<size_t>(row * lanes), lanes,
                    out + before * out_.h() * out_.w() + int64_t{y} * out_.w() * lanes);
    });
    uint8_t* const to = begin_moved(outputs[0]);
    from_chunks_.run(reinterpret_cast<const uint8_t*>(out), to);
    finish_moved(to, outputs[0]);
    return {};
  }

 private:
  static TensorDesc chunks_of(const Shape& shape) {
    return {ElementType::kFloat32, Layout::kHwc8, shape};
  }

  LinePooling pooling_;
  Shape in_, out_;
  Moves to_chunks_, from_chunks_;
};

// Pools pictures in the device's chunks of binary16, both in the same layout: bands of lines (rows
// in kHwc8, columns in kWhc8) of a chunk are floats only while a thread works on them.
class HalfPooling final : public CpuLayer {
 public:
  HalfPooling(LinePooling pooling, bool by_rows, const TensorDesc& input, const TensorDesc& output)
      : pooling_(std::move(pooling)),
        by_rows_(by_rows),
        in_(input.shape),
        out_(output.shape),
        chunks_((in_.c() + kLanes - 1) / kLanes),
        bands_(count_bands()) {
    for (int i = 0; i < bands_; ++i) {
      const Band b = band(i);
      most_ = std::max({most_, floats(b.reads_end - b.reads, in_), floats(b.end - b.begin, out_)});
    }
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const auto* const from = reinterpret_cast<const half_t*>(inputs[0].data);
    auto* const to = reinterpret_cast<half_t*>(outputs[0].data);
    share(in_.n() * chunks_ * bands_, [&](int i) {
      const int chunk = i / bands_ % chunks_;
      const int64_t before = int64_t{i / bands_ / chunks_} * in_.c() + chunk * kLanes;
      run_band(band(i % bands_), std::min(kLanes, in_.c() - chunk * kLanes),
               from + before * in_.h() * in_.w(), to + before * out_.h() * out_.w());
    });
    return {};
  }

 private:
  static constexpr int kBandFloats = 1 << 14;

  struct Band {
    int begin, end, reads, reads_end;  // lines of the output, and of the input
  };

  // Returns as many bands as a thread's cache asks for, unless they would read most lines twice.
  int count_bands() const {
    int widest = 1;
    for (int i = 0; i < lines(out_); ++i) {
      widest = std::max(widest, pooling_.line(i).end - pooling_.line(i).begin);
    }
    const int64_t wanted = int64_t{in_.h()} * in_.w() * kLanes / kBandFloats;
    const int most = std::min(lines(out_), std::max(1, lines(in_) / widest));
    return static_cast<int>(std::clamp<int64_t>(wanted, 1, most));
  }
  int lines(const Shape& shape) const { return by_rows_ ? shape.h() : shape.w(); }
  int line(const Shape& shape) const { return by_rows_ ? shape.w() : shape.h(); }
  size_t floats(int count, const Shape& shape) const {
    return grid_size(line(shape), count) * kLanes;
  }
  Band band(int i) const {
    const auto bound = [&](int k) { return static_cast<int>(int64_t{lines(out_)} * k / bands_); };
    Band b = {bound(i), bound(i + 1), 0, 0};
    b.reads = pooling_.line(b.begin).begin;
    b.reads_end = pooling_.line(b.end - 1).end;
    return b;
  }

  void run_band(const Band& b, int lanes, const half_t* from, half_t* to) const {
    // The thread's own memory, which its cache keeps from band to band.
    const Workspace::Run scratch;
    float* const floats = Workspace::current().floats(2 * most_);
    const int64_t in_line = int64_t{line(in_)} * lanes, out_line = int64_t{line(out_)} * lanes;
    half_to_float(from + b.reads * in_line, floats,
                  static_cast<size_t>((b.reads_end - b.reads) * in_line));
    float* const made = floats + most_;
    for (int i = b.begin; i < b.end; ++i) {
      pooling_.pool(i, floats + (pooling_.line(i).begin - b.reads) * in_line,
                    static_cast<size_t>(in_line), lanes, made + (i - b.begin) * out_line);
    }
    float_to_half(made, to + b.begin * out_line, static_cast<size_t>((b.end - b.begin) * out_line));
  }

  LinePooling pooling_;
  bool by_rows_;
  Shape in_, out_;
  int chunks_, bands_;
  size_t most_ = 0;  // floats that a band reads or makes
};

bool are_halves_alike(const TensorDesc& input, const TensorDesc& output) {
  return input.type == ElementType::kFloat16 && output.type == ElementType::kFloat16 &&
         input.layout == output.layout && lies_in_chunks(input.layout);
}

}  // namespace

void PoolingAttributes::fields(Fields* f) {
  constexpr const char* kMethods[] = {"max", "average"};
  constexpr int kMax = 65535;
  f->require("method");
  f->choice("method", &average, kMethods);
  f->boolean("global", &global, global);
  f->boolean("counts_pads", &counts_pads);
  f->integer("kernel_w", &x.kernel, 1, kMax);
  f->integer("stride_w", &x.stride, 1, kMax);
  f->integer("pad_w", &x.pad, 0, kMax);
  f->integer("kernel_h", &y.kernel, 1, kMax);
  f->integer("stride_h", &y.stride, 1, kMax);
  f->integer("pad_h", &y.pad, 0, kMax);
}

// Planning creates this layer from the device's poolings once all sizes are known.
DimsResult PoolingAttributes::dims_after(Span<const Shape>) const {
  return unsupported("a pooling on the CPU does not say how its size follows the input's");
}

Cost PoolingAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  Cost cost = one_look(in, out);
  if (!are_pictures(in, out)) return cost;
  const int width = in[0].shape.w(), height = in[0].shape.h();
  const int columns = global ? width : std::min(x.kernel, width);
  const int rows = global ? height : std::min(y.kernel, height);
  const auto taps = static_cast<uint64_t>(int64_t{std::max(columns, 1)} * std::max(rows, 1));
  // Both pictures as chunks of floats.
  return cost.borrow_floats(saturating_sum(elements_of(in), elements_of(out)))
      .add_work(saturating_product(elements_of(out), taps));
}

LayerResult PoolingAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  if (from.rank != 4 || to.rank != 4 || from.n() != to.n() || from.c() != to.c()) {
    return malformed("the shapes " + from.to_string() + " and " + to.to_string() +
                     " are not those of a pooling");
  }
  const Axis h = global ? Axis{from.w(), 1, 0} : x, v = global ? Axis{from.h(), 1, 0} : y;
  // The last window must begin inside the input, so that no window is empty.
  if (int64_t{to.w() - 1} * h.stride - h.pad >= from.w() ||
      int64_t{to.h() - 1} * v.stride - v.pad >= from.h() || h.pad >= h.kernel ||
      v.pad >= v.kernel) {
    return malformed("the output " + to.to_string() + " has windows outside the input " +
                     from.to_string());
  }
  if (are_halves_alike(inputs[0], outputs[0])) {
    const bool by_rows = inputs[0].layout == Layout::kHwc8;
    return std::unique_ptr<CpuLayer>(
        new HalfPooling({*this, by_rows, h, v, from, to}, by_rows, inputs[0], outputs[0]));
  }
  return std::unique_ptr<CpuLayer>(
      new Pooling({*this, true, h, v, from, to}, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
