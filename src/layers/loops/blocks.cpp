// SPDX-License-Identifier: Apache-2.0
#include "layers/loops/blocks.h"

#include <cstring>
#include <type_traits>

#include "base/numbers.h"
#include "kernels/movement/movement.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace dvnn::layers {
namespace {

bool lies_in_columns(const TensorDesc& desc) {
  const Layout layout = plain_layout(desc);
  return layout == Layout::kNwhc || layout == Layout::kWhc8;
}

void to_floats(const half_t* from, float* to, size_t count) {
  half_to_float(from, to, count);
}

void to_floats(const float* from, float* to, size_t count) {
  std::copy(from, from + count, to);
}

void from_floats(const float* from, half_t* to, size_t count) {
  float_to_half(from, to, count);
}

void from_floats(const float* from, float* to, size_t count) {
  std::copy(from, from + count, to);
}

}  // namespace

std::optional<PixelBlocks::Form> PixelBlocks::form_of(const TensorDesc& desc,
                                                      const AxisSplit& split, const Shape& pixels) {
  const Shape& shape = desc.shape;
  const Form form = {desc.type, true, false, split.outer, split.count, split.inner};
  const Layout layout = plain_layout(desc);
  if (layout == Layout::kNchw) {
    const bool fits = static_cast<size_t>(shape.elements()) == form.elements();
    return fits ? std::optional<Form>(form) : std::nullopt;
  }
  const bool fits = pixels.rank == 4 && static_cast<size_t>(shape.n()) == form.pictures &&
                    static_cast<size_t>(shape.c()) == form.channels && shape.h() == pixels.h() &&
                    shape.w() == pixels.w();
  if (!fits) return std::nullopt;
  return Form{form.type, false, lies_in_chunks(layout), form.pictures, form.channels, form.pixels};
}

std::optional<PixelBlocks> PixelBlocks::make(const TensorDesc& input, const TensorDesc& output,
                                             int axis, size_t results) {
  const TensorDesc in = moved_form(input), out = moved_form(output);
  const Shape& shape = in.shape;
  const AxisSplit split = split_at(shape, axis);
  const bool channels = axis == 1 && shape.rank == 4;
  const bool plain = in.layout == Layout::kNchw && out.layout == Layout::kNchw;
  if (!channels && !plain) return std::nullopt;
  const std::optional<Form> from = form_of(in, split, shape);
  const std::optional<Form> to = form_of(out, {split.outer, results, split.inner}, shape);
  if (!from || !to) return std::nullopt;
  PixelBlocks blocks(*from, *to);
  const bool turns = lies_in_columns(in) != lies_in_columns(out) && shape.h() > 1 && shape.w() > 1;
  blocks.cut(channels && turns, in);
  return blocks;
}

bool PixelBlocks::in_chunks() const {
  const auto fits = [](const Form& form) {
    return form.chunks && form.type == ElementType::kFloat16 && form.channels % kChunk == 0;
  };
  return fits(in_) && fits(out_) && in_.channels == out_.channels && in_order();
}

uint64_t PixelBlocks::borrowed(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                               int axis, bool reduces) {
  if (inputs.size() != 1 || outputs.size() != 1) return 0;
  const Shape& shape = inputs[0].shape;
  if (axis >= shape.rank || shape.elements() <= 0) return 0;
  const size_t results = reduces ? 1 : shape.extent(axis);
  const auto blocks = make(inputs[0], outputs[0], axis, results);
  if (!blocks) return 0;
  const size_t tiles = std::min(blocks->count(), kMostPieces) * blocks->tile_floats();
  return saturating_sum(shape.count(), tiles);  // with a copy of the input
}

// Cuts one long row if pixels have one order in both tensors, else blocks along both axes.
void PixelBlocks::cut(bool turns, const TensorDesc& input) {
  const size_t channels = std::max(in_.channels, out_.channels);
  const auto pixels = [channels](size_t room, size_t least, size_t most) {
    return std::clamp(room / channels / least * least, least, most);
  };
  turns_ = turns;
  fast_ = in_.pixels;
  fast_pixels_ = pixels(kTileFloats, kLeastPixels, kMostPixels);
  if (turns) {
    const bool columns = lies_in_columns(input);
    slow_ = static_cast<size_t>(columns ? input.shape.w() : input.shape.h());
    fast_ = static_cast<size_t>(columns ? input.shape.h() : input.shape.w());
    slow_pixels_ = kTurnedPixels;
    fast_pixels_ = pixels(kTurnedFloats / kTurnedPixels, kLeastTurned, kMostTurned);
  }
  // A block is no larger than the tensor, however many channels it has.
  slow_pixels_ = std::min(slow_pixels_, slow_);
  fast_pixels_ = std::min(fast_pixels_, fast_);
  pixels_ = slow_pixels_ * fast_pixels_;
  slow_blocks_ = (slow_ + slow_pixels_ - 1) / slow_pixels_;
  fast_blocks_ = (fast_ + fast_pixels_ - 1) / fast_pixels_;
}

// Blocks are written while others are still read. So the input is copied if the output overlaps it,
// unless both are the same tensor, where each pixel stays at its place.
const uint8_t* PixelBlocks::source(const ConstTensorView& input, const TensorView& output) {
  const bool same = input.data == output.data && input.desc == output.desc;
  if (same || !is_float(input.desc.type) || !share_memory(input, output)) return read_moved(input);
  const auto bytes = static_cast<size_t>(input.desc.bytes());
  uint8_t* const copy = Workspace::current().bytes(bytes);
  std::memcpy(copy, input.data, bytes);
  return copy;
}

PixelBlocks::Block PixelBlocks::block_at(size_t index) const {
  const size_t fast = index % fast_blocks_ * fast_pixels_;
  const size_t slow = index / fast_blocks_ % slow_blocks_ * slow_pixels_;
  return {index / fast_blocks_ / slow_blocks_, slow, std::min(slow_pixels_, slow_ - slow), fast,
          std::min(fast_pixels_, fast_ - fast)};
}

PixelBlocks::Lane PixelBlocks::lane_of(const Form& form, size_t picture, size_t channel) {
  const size_t first = picture * form.channels * form.pixels;
  const size_t count = std::min(kLanes, form.channels - channel);
  if (!form.chunks) return {first + channel, count, form.channels};
  return {first + channel * form.pixels, count, count};
}

template <typename T>
void PixelBlocks::read_planes(const T* from, const Block& block, float* lines) const {
  from += (block.picture * in_.channels * slow_ + block.first_slow) * fast_ + block.first_fast;
  for (size_t c = 0; c < in_.channels; ++c, from += in_.pixels, lines += block.count()) {
    for (size_t s = 0; s < block.slow; ++s) {
      to_floats(from + s * fast_, lines + s * block.fast, block.fast);
    }
  }
}

template <typename T>
void PixelBlocks::read_lanes(const T* from, const Lane& lane, const Block& block,
                             float* lines) const {
  alignas(64) T turned[kLanes * kMostCount];
  from += lane.first;
  for (size_t s = 0; s < block.slow; ++s) {
    const size_t pixel = (block.first_slow + s) * fast_ + block.first_fast;
    kernels::transpose(from + pixel * lane.pixel, static_cast<ptrdiff_t>(lane.pixel),
                       turned + s * block.fast, static_cast<ptrdiff_t>(block.count()), lane.count,
                       block.fast);
  }
  to_floats(turned, lines, lane.count * block.count());
}

template <typename T>
void PixelBlocks::read_as(const T* from, const Block& block, float* lines) const {
  if (in_.planes) return read_planes(from, block, lines);
  for (size_t c = 0; c < in_.channels; c += kLanes, lines += kLanes * block.count()) {
    read_lanes(from, lane_of(in_, block.picture, c), block, lines);
  }
}

void PixelBlocks::read(const uint8_t* from, const Block& block, float* lines) const {
  if (in_.type == ElementType::kFloat16) {
    return read_as(reinterpret_cast<const half_t*>(from), block, lines);
  }
  read_as(reinterpret_cast<const float*>(from), block, lines);
}

// Results with axes exchanged: the pixels along a block's fast axis are written as rows.
template <typename T>
void PixelBlocks::write_planes(const float* lines, const Block& block, T* to) const {
  to += block.picture * out_.channels * out_.pixels;
  alignas(64) T made[kMostCount];
  for (size_t c = 0; c < out_.channels; ++c, to += out_.pixels, lines += block.count()) {
    if (!turns_) {
      from_floats(lines, to + block.first_fast, block.fast);
      continue;
    }
    const T* line = made;
    if constexpr (std::is_same_v<T, float>) {
      line = lines;
    } else {
      from_floats(lines, made, block.count());
    }
    kernels::transpose(line, static_cast<ptrdiff_t>(block.fast),
                       to + block.first_fast * slow_ + block.first_slow,
                       static_cast<ptrdiff_t>(slow_), block.fast, block.slow);
  }
}

template <typename T>
void PixelBlocks::write_lanes(const float* lines, const Lane& lane, const Block& block,
                              T* to) const {
  alignas(64) T made[kLanes * kMostCount], turned[kLanes * kMostCount];
  from_floats(lines, made, lane.count * block.count());
  const auto stride = static_cast<ptrdiff_t>(block.count()),
             pixel = static_cast<ptrdiff_t>(lane.pixel);
  to += lane.first;
  if (!turns_) {
    kernels::transpose(made, stride, to + block.first_fast * lane.pixel, pixel, block.fast,
                       lane.count);
    return;
  }
  for (size_t k = 0; k < lane.count; ++k) {
    kernels::transpose(made + k * block.count(), static_cast<ptrdiff_t>(block.fast),
                       turned + k * block.count(), static_cast<ptrdiff_t>(block.slow), block.fast,
                       block.slow);
  }
  for (size_t f = 0; f < block.fast; ++f) {
    const size_t first = (block.first_fast + f) * slow_ + block.first_slow;
    kernels::transpose(turned + f * block.slow, stride, to + first * lane.pixel, pixel, block.slow,
                       lane.count);
  }
}

template <typename T>
void PixelBlocks::write_as(const float* lines, const Block& block, T* to) const {
  if (out_.planes) return write_planes(lines, block, to);
  for (size_t c = 0; c < out_.channels; c += kLanes, lines += kLanes * block.count()) {
    write_lanes(lines, lane_of(out_, block.picture, c), block, to);
  }
}

void PixelBlocks::write(const float* lines, const Block& block, uint8_t* to) const {
  if (out_.type == ElementType::kFloat16) {
    return write_as(lines, block, reinterpret_cast<half_t*>(to));
  }
  write_as(lines, block, reinterpret_cast<float*>(to));
}

void PixelBlocks::read_chunks(const uint8_t* from, const Block& block, float* floats) const {
  for (size_t c = 0; c < in_.channels; c += kChunk, floats += kChunk * block.count()) {
    const size_t first = lane_of(in_, block.picture, c).first + block.first_fast * kChunk;
    half_to_float(reinterpret_cast<const half_t*>(from) + first, floats, kChunk * block.count());
  }
}

void PixelBlocks::write_chunks(const float* floats, const Block& block, uint8_t* to) const {
  for (size_t c = 0; c < out_.channels; c += kChunk, floats += kChunk * block.count()) {
    const size_t first = lane_of(out_, block.picture, c).first + block.first_fast * kChunk;
    float_to_half(floats, reinterpret_cast<half_t*>(to) + first, kChunk * block.count());
  }
}

}  // namespace dvnn::layers
