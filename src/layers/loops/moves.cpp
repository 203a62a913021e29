// SPDX-License-Identifier: Apache-2.0
#include "layers/loops/moves.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/nth.h"
#include "base/share.h"
#include "kernels/movement/movement.h"
#include "layers/loops/floats.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace dvnn::layers {
namespace {

constexpr int kChunkLanes = 8;
constexpr int64_t kTurnedTile = 64;      // lines and elements of a tile that is turned
constexpr int64_t kShortLine = 8;        // elements; some such lines are a cache line
constexpr int64_t kMiddleTile = 16;      // short lines that are moved together
constexpr int64_t kMovedTile = 1 << 13;  // elements of other tiles
constexpr int64_t kMovedTask = 1 << 14;

using Indices = std::array<int, Shape::kMaxRank>;

int64_t offset_of(const TensorDesc& desc, const Indices& at) {
  if (desc.shape.rank == 4) {
    return element_offset(desc.layout, desc.shape, at[0], at[1], at[2], at[3]);
  }
  const Strides strides = strides_of(desc.shape);
  int64_t offset = 0;
  for (int i = 0; i < desc.shape.rank; ++i) offset += nth(strides, i) * nth(at, i);
  return offset;
}

// Moves whole lines whose elements are adjacent in both tensors.
template <size_t kBytes>
void copy_lines(const uint8_t* from, int64_t line_from, uint8_t* to, int64_t line_to, int64_t lines,
                size_t bytes) {
  for (int64_t i = 0; i < lines; ++i) {
    std::memcpy(to + i * line_to, from + i * line_from, kBytes > 0 ? kBytes : bytes);
  }
}

template <typename T>
void copy_elements(const T* from, int64_t line_from, int64_t step_from, T* to, int64_t line_to,
                   int64_t step_to, int64_t lines, int64_t count) {
  if (step_from == 1 && step_to == 1) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    const auto* const source = reinterpret_cast<const uint8_t*>(from);
    auto* const target = reinterpret_cast<uint8_t*>(to);
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    const auto copy = bytes == 16    ? copy_lines<16>
                      : bytes == 32  ? copy_lines<32>
                      : bytes == 64  ? copy_lines<64>
                      : bytes == 128 ? copy_lines<128>
                      : bytes == 256 ? copy_lines<256>
                      : bytes == 8   ? copy_lines<8>
                      : bytes == 4   ? copy_lines<4>
                                     : copy_lines<0>;
    return copy(source, line_from * kSize, target, line_to * kSize, lines, bytes);
  }
  for (int64_t i = 0; i < lines; ++i) {
    for (int64_t k = 0; k < count; ++k) {
      to[i * line_to + k * step_to] = from[i * line_from + k * step_from];
    }
  }
}

}  // namespace

MovedPart whole_part(const Shape& to) {
  MovedPart part;
  for (int i = 0; i < to.rank; ++i) {
    nth(part.count, i) = to[i];
    nth(part.step, i) = 1;
    nth(part.follows, i) = i;
  }
  return part;
}

bool share_memory(const ConstTensorView& a, const TensorView& b) {
  const std::less<const uint8_t*> before;
  return before(a.data, b.data + b.desc.bytes()) && before(b.data, a.data + a.desc.bytes());
}

// Splits the indices of an axis into arithmetic series along which both offsets are linear: for
// channels in chunks, those of the same lanes in chunks of the same width.
std::vector<Moves::Run> Moves::runs_of(const MovedPart& part, int axis) const {
  const int count = nth(part.count, axis), follows = nth(part.follows, axis);
  const bool by_to = axis == 1 && lies_in_chunks(plain_layout(to_)),
             by_from = follows == 1 && lies_in_chunks(plain_layout(from_));
  if (!by_to && !by_from) return {{0, count, 1, 0}};
  struct Lanes {
    int to = 0, to_width = 0, from = 0, from_width = 0;
    bool operator==(const Lanes& o) const {
      return to == o.to && to_width == o.to_width && from == o.from && from_width == o.from_width;
    }
  };
  const auto width = [](const TensorDesc& desc, int c) {
    return std::min(kChunkLanes, desc.shape.c() - c / kChunkLanes * kChunkLanes);
  };
  const int step = nth(part.step, axis);
  std::vector<Run> runs;
  std::vector<Lanes> lanes;
  for (int i = 0; i < count;) {
    Lanes at;
    int some = count - i;
    if (by_to) {
      const int c = nth(part.to, axis) + i;
      at.to = c % kChunkLanes;
      at.to_width = width(to_, c);
      some = std::min(some, kChunkLanes - at.to);
    }
    if (by_from) {
      const int c = nth(part.from, follows) + step * i;
      at.from = c % kChunkLanes;
      at.from_width = width(from_, c);
      const int room = step > 0   ? (kChunkLanes - 1 - at.from) / step + 1
                       : step < 0 ? at.from / -step + 1
                                  : some;
      some = std::min(some, room);
    }
    // Extends the series that it continues, if there is one.
    bool found = false;
    for (size_t k = 0; k < runs.size() && !found; ++k) {
      Run& run = runs[k];
      if (!(lanes[k] == at) || run.count != some) continue;
      if (run.repeats == 1) run.period = i - run.start;
      found = run.start + run.period * run.repeats == i;
      if (found) ++run.repeats;
    }
    if (!found) {
      runs.push_back({i, some, 1, 0});
      lanes.push_back(at);
    }
    i += some;
  }
  return runs;
}

void Moves::add(const MovedPart& part) {
  const int rank = to_.shape.rank;
  std::array<std::vector<Run>, Shape::kMaxRank> runs;
  for (int i = 0; i < rank; ++i) {
    if (nth(part.count, i) <= 0) return;
    nth(runs, i) = runs_of(part, i);
  }
  std::array<Run, Shape::kMaxRank> chosen = {};
  Indices which = {};
  for (bool done = false; !done;) {
    for (int i = 0; i < rank; ++i) {
      nth(chosen, i) = nth(nth(runs, i), nth(which, i));
    }
    add_box(part, chosen);
    int i = rank - 1;
    for (; i >= 0; --i) {
      if (++nth(which, i) < static_cast<int>(nth(runs, i).size())) break;
      nth(which, i) = 0;
    }
    done = i < 0;
  }
}

void Moves::add_box(const MovedPart& part, const std::array<Run, Shape::kMaxRank>& runs) {
  const int rank = to_.shape.rank;
  Indices to = {}, from = {};
  for (int a = 0; a < from_.shape.rank; ++a) nth(from, a) = nth(part.from, a);
  for (int i = 0; i < rank; ++i) {
    const auto start = static_cast<int>(nth(runs, i).start);
    nth(to, i) = nth(part.to, i) + start;
    if (nth(part.follows, i) >= 0) nth(from, nth(part.follows, i)) += nth(part.step, i) * start;
  }
  Box box = {};
  box.to = offset_of(to_, to);
  box.from = offset_of(from_, from);
  std::vector<Axis> axes;
  const auto add_axis = [&](int i, int64_t count, int64_t by) {
    if (count == 1) return;
    Indices next_to = to, next_from = from;
    nth(next_to, i) += static_cast<int>(by);
    const int follows = nth(part.follows, i);
    if (follows >= 0) nth(next_from, follows) += nth(part.step, i) * static_cast<int>(by);
    axes.push_back(
        {count, offset_of(from_, next_from) - box.from, offset_of(to_, next_to) - box.to});
  };
  for (int i = 0; i < rank; ++i) {
    add_axis(i, nth(runs, i).repeats, nth(runs, i).period);
    add_axis(i, nth(runs, i).count, 1);
  }
  finish_box(std::move(axes), std::move(box));
}

void Moves::finish_box(std::vector<Axis> axes, Box box) {
  join_axes(&axes);
  choose_axes(&axes, &box);
  choose_middle(&axes, &box);
  order_tiles(std::move(axes), &box);
  add_tasks(box);
  boxes_.push_back(std::move(box));
}

// Joins two axes into one if in both tensors the outer one continues at the end of the inner one.
void Moves::join_axes(std::vector<Axis>* axes) {
  std::sort(axes->begin(), axes->end(), [](const Axis& a, const Axis& b) { return a.to > b.to; });
  std::vector<Axis> joined;
  for (const Axis& axis : *axes) {
    const Axis* const outer = joined.empty() ? nullptr : &joined.back();
    const bool goes_on =
        outer && outer->from == axis.from * axis.count && outer->to == axis.to * axis.count;
    if (goes_on) {
      joined.back() = {outer->count * axis.count, axis.from, axis.to};
    } else {
      joined.push_back(axis);
    }
  }
  *axes = std::move(joined);
}

// Chooses a tile's axes: the one whose elements are nearest in the target, and of the others the
// one whose elements are nearest in the source.
void Moves::choose_axes(std::vector<Axis>* axes, Box* box) {
  while (axes->size() < 2) axes->insert(axes->begin(), {1, 0, 0});
  const auto take_nearest = [axes](int64_t Axis::*step) {
    // An axis of one element has no neighbours at all.
    const auto distance = [step](const Axis& axis) {
      return axis.count == 1 ? INT64_MAX : std::abs(axis.*step);
    };
    const auto it = std::min_element(axes->begin(), axes->end(), [&](const Axis& a, const Axis& b) {
      return distance(a) < distance(b);
    });
    const Axis axis = *it;
    axes->erase(it);
    return axis;
  };
  box->inner = take_nearest(&Axis::to);
  box->lines = take_nearest(&Axis::from);
  box->turns = box->inner.to == 1 && box->lines.from == 1 && box->inner.from != 1;
  if (box->inner.count == 1) box->inner.from = box->inner.to = 1;
  box->tile_inner = std::min(box->inner.count, box->turns ? kTurnedTile : kMovedTile);
  const int64_t room = std::max<int64_t>(1, kMovedTile / box->tile_inner);
  box->tile_lines = std::min(box->lines.count, box->turns ? kTurnedTile : room);
}

// Chooses a third axis for a transposed tile, if its short lines are adjacent along one.
void Moves::choose_middle(std::vector<Axis>* axes, Box* box) {
  box->middle = {1, 0, 0};
  box->tile_middle = 1;
  if (!box->turns) return;
  const auto gather_of = [box](const Axis& axis) {
    if (axis.count == 1) return Gather::kNone;
    const bool source = axis.from == box->lines.count && axis.from <= kShortLine;
    const bool target = axis.to == box->inner.count && axis.to <= kShortLine;
    return source ? Gather::kFrom : target ? Gather::kTo : Gather::kNone;
  };
  for (auto it = axes->begin(); it != axes->end(); ++it) {
    box->gather = gather_of(*it);
    if (box->gather == Gather::kNone) continue;
    box->middle = *it;
    box->tile_middle = std::min(it->count, kMiddleTile);
    axes->erase(it);
    return;
  }
}

// Orders the axes, the slowest first, so that neighbouring tiles are near in memory: the tile's two
// axes, then the others from the longest step to the shortest, then the middle one.
void Moves::order_tiles(std::vector<Axis> others, Box* box) {
  std::sort(others.begin(), others.end(), [](const Axis& a, const Axis& b) {
    return std::abs(a.from) + std::abs(a.to) > std::abs(b.from) + std::abs(b.to);
  });
  const auto tiles = [](int64_t count, int64_t size) { return (count + size - 1) / size; };
  box->outer.push_back({tiles(box->inner.count, box->tile_inner), 0, 0});
  box->outer.push_back({tiles(box->lines.count, box->tile_lines), 0, 0});
  box->outer.insert(box->outer.end(), others.begin(), others.end());
  box->outer.push_back({tiles(box->middle.count, box->tile_middle), 0, 0});
}

void Moves::add_tasks(const Box& box) {
  int64_t tiles = 1;
  for (const Axis& axis : box.outer) tiles *= axis.count;
  const int64_t tile = box.tile_inner * box.tile_lines * box.tile_middle;
  const int64_t task = std::max<int64_t>(1, kMovedTask / tile);
  const auto number = static_cast<uint32_t>(boxes_.size());
  for (int64_t at = 0; at < tiles; at += task) {
    tasks_.push_back({number, at, std::min(tiles, at + task)});
  }
}

void Moves::run(const uint8_t* from, uint8_t* to) const {
  share(static_cast<int>(tasks_.size()), [&](int i) {
    const Task& task = nth(tasks_, i);
    run_box(boxes_[task.box], task.begin, task.end, from, to);
  });
}

void Moves::run_box(const Box& box, int64_t begin, int64_t end, const uint8_t* from,
                    uint8_t* to) const {
  constexpr size_t kMostAxes = 2 * Shape::kMaxRank + 2;
  const auto from_size = static_cast<int64_t>(element_size(from_.type));
  const auto to_size = static_cast<int64_t>(element_size(to_.type));
  std::array<int64_t, kMostAxes> at = {};
  const size_t axes = box.outer.size();
  for (size_t i = axes, left = static_cast<size_t>(begin); i-- > 0;) {
    const auto count = static_cast<size_t>(box.outer[i].count);
    at[i] = static_cast<int64_t>(left % count);
    left /= count;
  }
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t element = at[0] * box.tile_inner, line = at[1] * box.tile_lines;
    const int64_t middle = at[axes - 1] * box.tile_middle;
    int64_t source = box.from + element * box.inner.from + line * box.lines.from;
    int64_t target = box.to + element * box.inner.to + line * box.lines.to;
    source += middle * box.middle.from;
    target += middle * box.middle.to;
    for (size_t i = 2; i + 1 < axes; ++i) {
      source += at[i] * box.outer[i].from;
      target += at[i] * box.outer[i].to;
    }
    move_tile(box, {from + source * from_size, to + target * to_size,
                    std::min(box.tile_lines, box.lines.count - line), box.lines.from, box.lines.to,
                    std::min(box.tile_inner, box.inner.count - element), box.inner.from,
                    box.inner.to, std::min(box.tile_middle, box.middle.count - middle)});
    for (size_t i = axes; i-- > 0 && ++at[i] == box.outer[i].count;) at[i] = 0;
  }
}

namespace {

// Transposes a tile: its lines are adjacent in the source, its elements in the target.
template <typename T>
void turn(const T* from, int64_t step_from, T* to, int64_t line_to, int64_t lines, int64_t count) {
  kernels::transpose(from, step_from, to, line_to, static_cast<size_t>(lines),
                     static_cast<size_t>(count));
}

void convert(const half_t* from, float* to, int64_t count) {
  half_to_float(from, to, static_cast<size_t>(count));
}

void convert(const float* from, half_t* to, int64_t count) {
  float_to_half(from, to, static_cast<size_t>(count));
}

}  // namespace

// T is the type that is transposed: words, or halves that are or become floats elsewhere.
template <typename T>
void Moves::turn_tile(const Box& box, const Tile& t) const {
  constexpr bool kHalves = sizeof(T) == sizeof(half_t);
  const bool from_floats = kHalves && from_.type == ElementType::kFloat32;
  const bool to_floats = kHalves && to_.type == ElementType::kFloat32;
  alignas(64) T gathered[kMovedTile], turned[kMovedTile];
  alignas(64) float floats[kTurnedTile * kTurnedTile];
  const int64_t size = t.lines * t.count;
  const auto* source = reinterpret_cast<const T*>(t.from);
  int64_t step_from = t.step_from, middle_from = box.middle.from;
  if (box.gather == Gather::kFrom && !from_floats) {
    middle_from = t.lines;
    step_from = t.middle * t.lines;
    copy_elements(source, t.step_from, 1, gathered, step_from, 1, t.count, step_from);
    source = gathered;
  }
  const bool gathers_to = box.gather == Gather::kTo && !to_floats;
  for (int64_t m = 0; m < t.middle; ++m) {
    const T* now = source + m * middle_from;
    int64_t step = step_from;
    if (from_floats) {
      copy_elements(reinterpret_cast<const float*>(t.from) + m * box.middle.from, t.step_from, 1,
                    floats, t.lines, 1, t.count, t.lines);
      convert(floats, reinterpret_cast<half_t*>(gathered), size);
      now = gathered;
      step = t.lines;
    }
    if (to_floats) {
      turn(now, step, turned, t.count, t.lines, t.count);
      float* const to = reinterpret_cast<float*>(t.to) + m * box.middle.to;
      for (int64_t r = 0; r < t.lines; ++r) {
        convert(reinterpret_cast<const half_t*>(turned) + r * t.count, to + r * t.line_to, t.count);
      }
    } else if (gathers_to) {
      turn(now, step, turned + m * t.count, t.middle * t.count, t.lines, t.count);
    } else {
      turn(now, step, reinterpret_cast<T*>(t.to) + m * box.middle.to, t.line_to, t.lines, t.count);
    }
  }
  if (!gathers_to) return;
  const int64_t line = t.middle * t.count;
  copy_elements(turned, line, 1, reinterpret_cast<T*>(t.to), t.line_to, 1, t.lines, line);
}

void Moves::move_tile(const Box& box, const Tile& t) const {
  const bool from_half = from_.type == ElementType::kFloat16;
  const bool to_half = to_.type == ElementType::kFloat16;
  const auto* const half_from = reinterpret_cast<const half_t*>(t.from);
  const auto* const float_from = reinterpret_cast<const float*>(t.from);
  auto* const half_to = reinterpret_cast<half_t*>(t.to);
  auto* const float_to = reinterpret_cast<float*>(t.to);
  const int64_t tile = t.lines * t.count;
  if (box.turns)
    return from_half || to_half ? turn_tile<half_t>(box, t) : turn_tile<uint32_t>(box, t);
  if (from_half == to_half) {
    if (from_half) {
      return copy_elements(half_from, t.line_from, t.step_from, half_to, t.line_to, t.step_to,
                           t.lines, t.count);
    }
    return copy_elements(reinterpret_cast<const uint32_t*>(t.from), t.line_from, t.step_from,
                         reinterpret_cast<uint32_t*>(t.to), t.line_to, t.step_to, t.lines, t.count);
  }
  // Adjacent elements are converted together.
  alignas(64) half_t halves[kMovedTile];
  alignas(64) float floats[kMovedTile];
  const bool dense_to = t.step_to == 1 && (t.lines == 1 || t.line_to == t.count);
  if (from_half) {
    copy_elements(half_from, t.line_from, t.step_from, halves, t.count, 1, t.lines, t.count);
    float* const converted = dense_to ? float_to : floats;
    convert(halves, converted, tile);
    if (dense_to) return;
    return copy_elements(floats, t.count, 1, float_to, t.line_to, t.step_to, t.lines, t.count);
  }
  const bool dense_from = t.step_from == 1 && (t.lines == 1 || t.line_from == t.count);
  if (!dense_from) {
    copy_elements(float_from, t.line_from, t.step_from, floats, t.count, 1, t.lines, t.count);
  }
  half_t* const converted = dense_to ? half_to : halves;
  convert(dense_from ? float_from : floats, converted, tile);
  if (!dense_to) {
    copy_elements(halves, t.count, 1, half_to, t.line_to, t.step_to, t.lines, t.count);
  }
}

}  // namespace dvnn::layers
