// SPDX-License-Identifier: Apache-2.0
// Which channels of its source a convolution reads. Networks that were pruned, or of whose shuffled
// channels the converter reads some in place, have channels that all kernels multiply with zeros.
#pragma once

#include <vector>

#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/convolutions/kernels.h"

namespace dvnn::softdv {

/// The channels of a source that are read, and the chunks with such channels, both from the first
/// on. Chunks without them have no place in a tile of the source.
class ReadChannels {
 public:
  /// Channels whose products are summed one after the other, tap by tap.
  struct Group {
    size_t first, size;  // of channels()
  };

  /// What is left out, and what forms a group of at most as many channels as a chunk has.
  enum class Grain {
    kChunks,             // whole chunks, and the others are groups
    kChannelsOfAChunk,   // channels; all of a group are of one chunk
    kChannelsOfAnyChunk  // channels
  };

  /// Finds the channels that `weights` (as ConvShape describes, not depthwise) multiply with
  /// anything but zeros. Sources of less than a chunk are read as a whole.
  ReadChannels(const ConvShape& shape, const float* weights, Grain grain);

  const std::vector<int>& chunks() const { return chunks_; }
  const std::vector<size_t>& channels() const { return channels_; }
  const std::vector<Group>& groups() const { return groups_; }
  bool all() const { return all_; }

  /// Makes `taps` those of all groups at a pixel's place in a tile, whose chunks are `plane` floats
  /// apart. Taps have offsets, or none has. They are valid until `offsets` changes.
  void find_taps(size_t plane, std::vector<DirectOffset>* offsets,
                 std::vector<DirectTap>* taps) const;

 private:
  std::vector<int> chunks_;
  std::vector<size_t> channels_;
  std::vector<Group> groups_;
  bool all_, whole_chunks_;
};

}  // namespace dvnn::softdv
