// SPDX-License-Identifier: Apache-2.0
#include "layers/movement/resize_picture.h"

#include <algorithm>
#include <cstring>

#include "base/grid.h"
#include "base/nth.h"
#include "base/share.h"
#include "layers/loops/moves.h"
#include "layers/workspace.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace dvnn::layers {
namespace {

constexpr size_t kLineFloats = 2048;  // of a part of a line; kKeptLines such parts fit the cache
constexpr size_t kKeptLines = 4;
constexpr size_t kResizeTask = 1 << 14;  // elements

// Results begin..end-1 along a line, and elements first..last of the line that they need.
struct LinePart {
  size_t begin, end;
  int32_t first, last;
  size_t results() const { return end - begin; }
  size_t elements() const { return static_cast<size_t>(last - first + 1); }
};

// Keeps the lines that were computed last, by their number.
class KeptLines {
 public:
  // Returns line `number`, and computes it by make(to) if it is not kept. Never drops `wanted`
  // lines.
  template <typename Make>
  const float* line(int32_t number, Span<const int32_t> wanted, Make make) {
    size_t free = 0;
    for (size_t i = 0; i < kKeptLines; ++i) {
      if (numbers_[i] == number) return lines_[i];
      if (std::find(wanted.begin(), wanted.end(), numbers_[i]) == wanted.end()) free = i;
    }
    numbers_[free] = number;
    make(lines_[free]);
    return lines_[free];
  }

 private:
  int32_t numbers_[kKeptLines] = {-1, -1, -1, -1};
  alignas(64) float lines_[kKeptLines][kLineFloats];
};

class PictureResize final : public CpuLayer {
 public:
  // `slow` is the axis across lines, `fast` the one along them; `along_first`: resizes `fast`
  // first.
  PictureResize(const AxisTaps& slow, const AxisTaps& fast, bool along_first,
                std::vector<LinePart> parts, const TensorDesc& input)
      : slow_(slow), fast_(fast), along_first_(along_first), parts_(std::move(parts)) {
    const Shape& shape = input.shape;
    const bool rows = plain_layout(input) == Layout::kNchw;
    const bool chunks = lies_in_chunks(input.layout);
    const size_t in_pixels = slow_.elements() * fast_.elements();
    const size_t out_pixels = slow_.results() * fast_.results();
    const int most = rows ? 1 : chunks ? 8 : shape.c();
    size_t before = 0;  // channels before this plane
    for (int n = 0; n < shape.n(); ++n) {
      for (int c = 0; c < shape.c(); c += most) {
        const auto inner = static_cast<size_t>(std::min(most, shape.c() - c));
        planes_.push_back({before * in_pixels, before * out_pixels, inner});
        before += inner;
      }
    }
    const size_t line = fast_.results() * planes_[0].inner;
    lines_ = std::clamp<size_t>(kResizeTask / line, 1, slow_.results());
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    ConstTensorView in = inputs[0];
    const TensorView& out = outputs[0];
    if (share_memory(in, out)) {
      const size_t bytes = in.desc.bytes();
      void* const copy = Workspace::current().bytes(bytes);
      in.data = static_cast<const uint8_t*>(std::memcpy(copy, in.data, bytes));
    }
    const size_t made = slow_.results(), groups = (made + lines_ - 1) / lines_;
    share(static_cast<int>(planes_.size() * parts_.size() * groups), [&](size_t task) {
      const size_t first = task % groups * lines_;
      resize(planes_[task / groups / parts_.size()], parts_[task / groups % parts_.size()], first,
             std::min(made, first + lines_), in, out);
    });
    return {};
  }

 private:
  struct Plane {
    size_t in, out, inner;  // offsets of its first elements, and elements per pixel
  };

  // Reads the elements that a part needs of a line of the source.
  void read(const Plane& plane, const LinePart& part, int32_t line, const ConstTensorView& in,
            float* to) const {
    const size_t at = plane.in + grid_index(part.first, line, fast_.in) * plane.inner;
    const size_t count = part.elements() * plane.inner;
    if (in.desc.type == ElementType::kFloat16) {
      half_to_float(reinterpret_cast<const half_t*>(in.data) + at, to, count);
    } else {
      std::memcpy(to, reinterpret_cast<const float*>(in.data) + at, count * sizeof(float));
    }
  }

  // Resizes along a line, or copies it if that axis does not change.
  void mix_along(const LinePart& part, const float* line, size_t inner, float* to) const {
    if (fast_.changes) {
      kernels::mix_along(fast_.taps(), part.begin, part.end, part.first, line, inner, to);
    } else {
      std::copy(line, line + part.results() * inner, to);
    }
  }

  void resize(const Plane& plane, const LinePart& part, size_t begin, size_t end,
              const ConstTensorView& in, const TensorView& out) const {
    KeptLines kept;
    alignas(64) float between[kLineFloats], made[kLineFloats];
    const size_t count = part.results() * plane.inner;
    const size_t between_count = along_first_ ? count : part.elements() * plane.inner;
    const auto make = [&](int32_t number) {
      return [&, number](float* to) {
        if (!along_first_) return read(plane, part, number, in, to);
        read(plane, part, number, in, between);
        mix_along(part, between, plane.inner, to);
      };
    };
    for (size_t y = begin; y < end; ++y) {
      const size_t at = plane.out + (y * fast_.results() + part.begin) * plane.inner;
      const bool halves = out.desc.type == ElementType::kFloat16;
      float* const to = halves ? made : reinterpret_cast<float*>(out.data) + at;
      const auto own = static_cast<int32_t>(y);
      const uint32_t first = slow_.changes ? slow_.first[y] : 0;
      const size_t taps = slow_.changes ? slow_.first[y + 1] - first : 1;
      const Span<const int32_t> wanted(slow_.changes ? &slow_.from[first] : &own, taps);
      const float* lines[kKeptLines];
      for (size_t t = 0; t < taps; ++t) lines[t] = kept.line(wanted[t], wanted, make(wanted[t]));
      float* const mixed = along_first_ ? to : between;
      const float* line = lines[0];
      if (slow_.changes) {
        kernels::mix_lines(lines, &slow_.weights[first], taps, mixed, between_count);
        line = mixed;
      }
      if (!along_first_) mix_along(part, line, plane.inner, to);
      if (along_first_ && line != to) std::copy(line, line + count, to);
      if (halves) float_to_half(made, reinterpret_cast<half_t*>(out.data) + at, count);
    }
  }

  AxisTaps slow_, fast_;
  bool along_first_;
  std::vector<LinePart> parts_;
  std::vector<Plane> planes_;
  size_t lines_;  // lines per task
};

// Converts the picture to the result's layout first.
class MovedResize final : public CpuLayer {
 public:
  MovedResize(const TensorDesc& input, const TensorDesc& moved, std::unique_ptr<CpuLayer> resize)
      : moves_(input, moved), moved_(moved), resize_(std::move(resize)) {
    moves_.add(whole_part(input.shape));
  }
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    uint8_t* const picture = Workspace::current().bytes(moved_.bytes());
    moves_.run(inputs[0].data, picture);
    const ConstTensorView view = {moved_, picture};
    return resize_->run({&view, 1}, outputs);
  }

 private:
  Moves moves_;
  TensorDesc moved_;
  std::unique_ptr<CpuLayer> resize_;
};

// Cuts lines into parts whose results and needed elements fit the kept lines; returns none if there
// are no such parts.
std::vector<LinePart> cut_line(const AxisTaps& fast, size_t inner) {
  const size_t most = kLineFloats / inner;
  std::vector<LinePart> parts;
  for (size_t k = 0; k < fast.results(); ++k) {
    LinePart own = {k, k + 1, static_cast<int32_t>(k), static_cast<int32_t>(k)};
    if (fast.changes) {
      const auto begin = fast.from.begin() + fast.first[k],
                 end = fast.from.begin() + fast.first[k + 1];
      if (begin == end) return {};
      own.first = *std::min_element(begin, end);
      own.last = *std::max_element(begin, end);
    }
    const auto fits = [most](const LinePart& p) {
      return p.results() <= most && p.elements() <= most;
    };
    if (!fits(own)) return {};
    if (!parts.empty()) {
      const LinePart& last = parts.back();
      const LinePart both = {last.begin, own.end, std::min(last.first, own.first),
                             std::max(last.last, own.last)};
      if (fits(both)) {
        parts.back() = both;
        continue;
      }
    }
    parts.push_back(own);
  }
  return parts;
}

}  // namespace

void AxisTaps::end_result() {
  const size_t begin = first.back(), end = from.size();
  first.push_back(static_cast<uint32_t>(end));
  const bool pairs = pair_from[0].size() + 2 == first.size() && end > begin && end - begin <= 2;
  if (!pairs) return;  // not 1 or 2 taps: pair_from stays too short and is not used
  pair_from[0].push_back(from[begin]);
  pair_from[1].push_back(from[end - 1]);
  pair_weights[0].push_back(weights[begin]);
  pair_weights[1].push_back(end - begin == 2 ? weights[end - 1] : 0);
}

kernels::LineTaps AxisTaps::taps() const {
  kernels::LineTaps taps = {first.data(), from.data(), weights.data(), {}, {}};
  for (size_t i = 0; i < 2 && pair_from[0].size() + 1 == first.size(); ++i) {
    taps.pair_from[i] = pair_from[i].data();
    taps.pair_weights[i] = pair_weights[i].data();
  }
  return taps;
}

std::unique_ptr<CpuLayer> make_picture_resize(const AxisTaps& height, const AxisTaps& width,
                                              const TensorDesc& input, const TensorDesc& output) {
  if (!is_float(input.type) || !is_float(output.type)) return nullptr;
  const Layout layout = plain_layout(output);
  if (layout != plain_layout(input)) {
    const TensorDesc moved = {input.type, output.layout, input.shape};
    auto resize = make_picture_resize(height, width, moved, output);
    if (!resize) return nullptr;
    return std::make_unique<MovedResize>(input, moved, std::move(resize));
  }
  const bool x_slow = layout == Layout::kWhc8 || layout == Layout::kNwhc;
  const AxisTaps &slow = x_slow ? width : height, &fast = x_slow ? height : width;
  for (const AxisTaps* axis : {&slow, &fast}) {
    const auto& outside = axis->outside;
    if (std::find(outside.begin(), outside.end(), true) != outside.end()) return nullptr;
  }
  for (size_t k = 0; slow.changes && k < slow.results(); ++k) {
    const size_t taps = slow.first[k + 1] - slow.first[k];
    if (taps == 0 || taps > kKeptLines) return nullptr;
  }
  const bool chunks = lies_in_chunks(layout);
  const size_t inner = layout == Layout::kNchw ? 1 : chunks ? 8 : input.shape.channels();
  std::vector<LinePart> parts = cut_line(fast, inner);
  if (parts.empty()) return nullptr;
  return std::make_unique<PictureResize>(slow, fast, x_slow, std::move(parts), input);
}

}  // namespace dvnn::layers
