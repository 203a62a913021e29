// SPDX-License-Identifier: Apache-2.0
// For layers whose results are elements of their inputs, or one value. `Moves` moves the elements
// of one tensor to another, each once and unchanged: between layouts, and between binary16 and
// floats if the types differ. A layer computes the movements when it is created, as boxes: parts in
// which both offsets are sums of multiples of indices. Threads share them. `MoveLayer` is such a
// layer with any inputs; make_places_layer() creates one with a list of indices per axis.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/span.h"
#include "layers/attributes.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

/// A part of the target, and where its elements come from. Element i of axis k of the part is
/// element to[k] + i of the target's axis k, and lies at from[a] + step[k] * i of the axis
/// a = follows[k] of the source; each axis of the source is followed by one or by none.
struct MovedPart {
  static constexpr int kStays = -1;  // instead of an axis: the source element is always the same
  using Axes = std::array<int, Shape::kMaxRank>;
  Axes count = {}, to = {}, from = {}, step = {}, follows = {};
};

/// Returns the part that is all of `to`, from a source of the same rank and axes.
MovedPart whole_part(const Shape& to);

class Moves {
 public:
  /// Both tensors must be of floats.
  Moves(const TensorDesc& from, const TensorDesc& to) : from_(from), to_(to) {}
  void add(const MovedPart& part);
  /// Moves all elements, without allocation. The tensors share no memory.
  void run(const uint8_t* from, uint8_t* to) const;

 private:
  struct Axis {
    int64_t count, from, to;  // elements from one index to the next in either tensor
  };
  // A box is cut in tiles, of some elements along one axis or two, which are loops in themselves:
  // `inner` along a line, `lines` from line to line. Tiles follow one another along `outer`.
  //
  //              inner             A tile is turned where lines lie along memory in the target
  //         +-----+-----+-----+    and across it in the source. Where its lines are short and
  //   lines | t i | l e |     |    follow one another along a third axis, `middle`, it takes
  //         +-----+-----+-----+    some of them at once.
  struct Tile {
    const uint8_t* from;
    uint8_t* to;
    int64_t lines, line_from, line_to;  // rows of elements, or columns of what is turned
    int64_t count, step_from, step_to;  // elements of a line
    int64_t middle;
  };
  // Adjacent short lines along a third axis, `middle`, are read or written together, so as whole
  // cache lines.
  enum class Gather : uint8_t { kNone, kFrom, kTo };
  struct Box {
    int64_t from, to;  // of the first element
    bool turns;        // lines lie along memory in one tensor, across it in the other
    Gather gather;
    Axis inner, lines, middle;
    int64_t tile_inner, tile_lines, tile_middle;
    std::vector<Axis> outer;  // the last one is the fastest
  };
  struct Run {  // `repeats` times `count` indices, `period` apart, from `start` on
    int64_t start, count, repeats, period;
  };

  std::vector<Run> runs_of(const MovedPart& part, int axis) const;
  void add_box(const MovedPart& part, const std::array<Run, Shape::kMaxRank>& runs);
  void finish_box(std::vector<Axis> axes, Box box);
  static void join_axes(std::vector<Axis>* axes);
  static void choose_axes(std::vector<Axis>* axes, Box* box);
  static void choose_middle(std::vector<Axis>* axes, Box* box);
  static void order_tiles(std::vector<Axis> others, Box* box);
  void add_tasks(const Box& box);
  void run_box(const Box& box, int64_t begin, int64_t end, const uint8_t* from, uint8_t* to) const;
  void move_tile(const Box& box, const Tile& tile) const;
  template <typename T>
  void turn_tile(const Box& box, const Tile& tile) const;

  TensorDesc from_, to_;
  std::vector<Box> boxes_;
  struct Task {
    uint32_t box;
    int64_t begin, end;
  };
  std::vector<Task> tasks_;
};

/// Returns whether two tensors share a byte.
bool share_memory(const ConstTensorView& a, const TensorView& b);

class MoveLayer final : public CpuLayer {
 public:
  /// Moves nothing until parts are added, which together must cover the output.
  MoveLayer(Span<const TensorDesc> inputs, const TensorDesc& output);
  /// Adds a part of the output that comes from input number `input`.
  void add(size_t input, const MovedPart& part) { moves_[input].add(part); }
  /// Sets the output outside the box of `count` elements at `begin` along each axis to `value`.
  void add_border(const MovedPart::Axes& begin, const MovedPart::Axes& count, float value);

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override;

 private:
  const uint8_t* source(const ConstTensorView& input, Span<const TensorView> outputs) const;

  TensorDesc output_;         // in the form in which elements are moved
  std::vector<Moves> moves_;  // by input
  std::vector<Moves> border_;
  uint32_t value_ = 0;  // border value in the output's type
  std::vector<const uint8_t*> sources_;
};

/// Creates a layer that moves its one input as one part.
LayerResult make_move_layer(const TensorDesc& input, const TensorDesc& output,
                            const MovedPart& part);

/// For each index of each output axis, the index of the input's axis, or kOutside. The entries of
/// an axis that are not kOutside are adjacent.
using AxisPlaces = std::vector<std::vector<int>>;
constexpr int kOutside = -1;

/// Creates a layer that moves elements by `places`; an element that is outside along any axis is
/// `value`.
LayerResult make_places_layer(Span<const TensorDesc> inputs, const TensorDesc& output,
                              AxisPlaces places, float value);

}  // namespace dvnn::layers
