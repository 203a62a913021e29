// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/read_channels.h"

#include <algorithm>

#include "softdv/engine/finish/finish.h"

namespace dvnn::softdv {
namespace {

// Returns for each channel whether it is read.
std::vector<bool> find_read(const ConvShape& shape, const float* weights) {
  const size_t in = shape.inputs(), taps = shape.taps();
  std::vector<bool> read(in, in < kChunk);
  for (size_t m = 0; m < shape.outputs(); ++m) {
    for (size_t c = 0; c < in; ++c) {
      if (read[c]) continue;
      const float* const first = weights + (m * in + c) * taps;
      read[c] = std::any_of(first, first + taps, [](float weight) { return weight != 0; });
    }
  }
  return read;
}

// Reads all channels of chunks of which some are read.
void widen(std::vector<bool>* read) {
  for (size_t first = 0; first < read->size(); first += kChunk) {
    const auto begin = read->begin() + static_cast<std::ptrdiff_t>(first);
    const auto end =
        begin + static_cast<std::ptrdiff_t>(std::min<size_t>(kChunk, read->size() - first));
    if (std::find(begin, end, true) != end) std::fill(begin, end, true);
  }
}

int chunk_of(size_t channel) {
  return static_cast<int>(channel / kChunk);
}

}  // namespace

ReadChannels::ReadChannels(const ConvShape& shape, const float* weights, Grain grain) {
  std::vector<bool> read = find_read(shape, weights);
  if (grain == Grain::kChunks) widen(&read);
  for (size_t c = 0; c < read.size(); ++c) {
    if (!read[c]) continue;
    const bool new_chunk = chunks_.empty() || chunks_.back() != chunk_of(c);
    if (new_chunk) chunks_.push_back(chunk_of(c));
    if (groups_.empty() || groups_.back().size == kChunk ||
        (new_chunk && grain != Grain::kChannelsOfAnyChunk)) {
      groups_.push_back({channels_.size(), 0});
    }
    ++groups_.back().size;
    channels_.push_back(c);
  }
  all_ = channels_.size() == read.size();
  size_t whole = 0;
  for (const int chunk : chunks_) whole += shape.chunk_channels(chunk);
  whole_chunks_ = whole == channels_.size();
}

void ReadChannels::find_taps(size_t plane, std::vector<DirectOffset>* offsets,
                             std::vector<DirectTap>* taps) const {
  taps->clear();
  if (whole_chunks_) {
    for (const Group& group : groups_) taps->push_back({taps->size() * plane, group.size, nullptr});
    return;
  }
  offsets->clear();
  size_t place = 0;  // of the chunk, among those that are read
  for (const size_t channel : channels_) {
    if (chunk_of(channel) != chunks_[place]) ++place;
    offsets->push_back(static_cast<DirectOffset>(place * plane + channel % kChunk));
  }
  for (const Group& group : groups_) {
    taps->push_back({0, group.size, offsets->data() + group.first});
  }
}

}  // namespace dvnn::softdv
