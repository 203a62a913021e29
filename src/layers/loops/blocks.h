// SPDX-License-Identifier: Apache-2.0
// For layers whose results depend on all elements along one axis, for example all channels of a
// pixel. A tensor is read from its memory in blocks of pixels that stay in the cache, as one line
// of floats per channel; the results are written in the same way. No copy of a whole tensor is
// needed.
#pragma once

#include <algorithm>
#include <optional>

#include "base/share.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {

class PixelBlocks {
 public:
  /// A block during computation: the line of channel c begins at first + c * count; the results'
  /// lines replace them.
  struct Lines {
    float* first;
    size_t count, picture;
  };
  static constexpr size_t kMostCount = 1024;
  /// A block as it lies in the device's memory: chunk k begins at first + k * kChunk * count, and
  /// has kChunk channels of each pixel side by side; the results replace it.
  struct Chunks {
    float* first;
    size_t count;
  };
  static constexpr size_t kChunk = 8, kMostChunkPixels = 32;

  /// The input's channels are its elements along `axis`; the output has `results` instead, and the
  /// same pixels. Returns no value for layouts without such lines.
  static std::optional<PixelBlocks> make(const TensorDesc& input, const TensorDesc& output,
                                         int axis, size_t results);

  /// Upper bound of the floats that run() borrows from the workspace. The axis need not exist in
  /// the tensors; without a single input there are no blocks.
  static uint64_t borrowed(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs, int axis,
                           bool reduces);

  /// Returns whether pixels have one order in both tensors. If not, exchanging the axes of blocks
  /// takes about as long as copying the tensors.
  bool in_order() const { return !turns_; }

  /// Returns whether both tensors have whole chunks of binary16, as many, and pixels in one order.
  bool in_chunks() const;

  /// Calls compute(lines) for each block; threads share them.
  template <typename Compute>
  void run(const ConstTensorView& input, const TensorView& output, Compute compute) const {
    each(input, output, [&](const uint8_t* from, const Block& block, float* lines, uint8_t* to) {
      read(from, block, lines);
      compute(Lines{lines, block.count(), block.picture});
      write(lines, block, to);
    });
  }

  /// Calls compute(chunks) for blocks of at most kMostChunkPixels pixels; threads share them. For
  /// tensors in_chunks(), whose elements so need not be transposed.
  template <typename Compute>
  void run_chunks(const ConstTensorView& input, const TensorView& output, Compute compute) const {
    each(input, output, [&](const uint8_t* from, const Block& block, float* floats, uint8_t* to) {
      for (size_t at = 0; at < block.fast; at += kMostChunkPixels) {
        const Block part = {block.picture, 0, 1, block.first_fast + at,
                            std::min(kMostChunkPixels, block.fast - at)};
        read_chunks(from, part, floats);
        compute(Chunks{floats, part.fast});
        write_chunks(floats, part, to);
      }
    });
  }

 private:
  static constexpr size_t kMostPieces = 16;
  static constexpr size_t kTileFloats = 1 << 13, kLeastPixels = 64, kMostPixels = 256;
  // Blocks with exchanged axes read and write some cache lines of each row, so they are larger.
  static constexpr size_t kTurnedFloats = 1 << 15, kTurnedPixels = 64;
  static constexpr size_t kLeastTurned = 4, kMostTurned = kMostCount / kTurnedPixels;
  static constexpr size_t kLanes = kChunk;

  // The memory order of a tensor's pixels: `slow` rows of `fast` pixels; planes or chunks of
  // channels.
  struct Form {
    ElementType type;
    bool planes, chunks;
    size_t pictures, channels, pixels;
    size_t elements() const { return pictures * channels * pixels; }
  };
  // Some pixels of a picture, by rows of the input.
  struct Block {
    size_t picture, first_slow, slow, first_fast, fast;
    size_t count() const { return slow * fast; }
  };
  // Lines of up to kLanes channels as they lie in a tensor.
  struct Lane {
    size_t first, count, pixel;  // offset of the first element, channels, elements per pixel
  };

  PixelBlocks(const Form& in, const Form& out) : in_(in), out_(out) {}
  static std::optional<Form> form_of(const TensorDesc& desc, const AxisSplit& split,
                                     const Shape& pixels);
  // Calls work(input, block, floats of the block's own, output) for each block.
  template <typename Work>
  void each(const ConstTensorView& input, const TensorView& output, Work work) const {
    const uint8_t* const from = source(input, output);
    uint8_t* const to = begin_moved(output);
    const size_t blocks = count(), pieces = std::min(blocks, kMostPieces), tile = tile_floats();
    float* const tiles = Workspace::current().floats(pieces * tile);
    share(static_cast<int>(pieces), [&](int i) {
      const auto piece = static_cast<size_t>(i);
      for (size_t b = piece * blocks / pieces; b < (piece + 1) * blocks / pieces; ++b) {
        work(from, block_at(b), tiles + piece * tile, to);
      }
    });
    finish_moved(to, output);
  }
  static const uint8_t* source(const ConstTensorView& input, const TensorView& output);
  static Lane lane_of(const Form& form, size_t picture, size_t channel);
  void cut(bool turns, const TensorDesc& input);

  size_t count() const { return in_.pictures * slow_blocks_ * fast_blocks_; }
  size_t tile_floats() const { return std::max(in_.channels, out_.channels) * pixels_; }
  Block block_at(size_t index) const;
  void read(const uint8_t* from, const Block& block, float* lines) const;
  void write(const float* lines, const Block& block, uint8_t* to) const;
  void read_chunks(const uint8_t* from, const Block& block, float* floats) const;
  void write_chunks(const float* floats, const Block& block, uint8_t* to) const;
  template <typename T>
  void read_as(const T* from, const Block& block, float* lines) const;
  template <typename T>
  void write_as(const float* lines, const Block& block, T* to) const;
  template <typename T>
  void read_lanes(const T* from, const Lane& lane, const Block& block, float* lines) const;
  template <typename T>
  void write_lanes(const float* lines, const Lane& lane, const Block& block, T* to) const;
  template <typename T>
  void read_planes(const T* from, const Block& block, float* lines) const;
  template <typename T>
  void write_planes(const float* lines, const Block& block, T* to) const;

  Form in_, out_;
  bool turns_ = false;          // one tensor is by columns, the other by rows
  size_t slow_ = 1, fast_ = 1;  // pixels of the input along either axis
  size_t slow_pixels_ = 1, fast_pixels_ = 1, pixels_ = 1;  // of a block
  size_t slow_blocks_ = 1, fast_blocks_ = 1;
};

}  // namespace dvnn::layers
