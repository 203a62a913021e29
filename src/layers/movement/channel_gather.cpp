// SPDX-License-Identifier: Apache-2.0
// Combines channels of several pictures into one: shuffles, splits and joins that do not follow the
// device's chunks. Elements are moved once, unchanged.
#include "base/format.h"
#include "base/nth.h"
#include "base/share.h"
#include "kernels/movement/movement.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/moves.h"

namespace dvnn::layers {
namespace {

constexpr size_t kChunkChannels = 8, kMostGathered = 1 << 16;
using Channel = ChannelGatherAttributes::Channel;

// Pictures in the device's chunks of binary16, all in the same layout.
class ChunkGather final : public CpuLayer {
 public:
  ChunkGather(const std::vector<Channel>& channels, Span<const TensorDesc> inputs)
      : channels_(channels), pixels_(inputs[0].shape.pixels()) {
    for (const TensorDesc& input : inputs) counts_.push_back(input.shape.channels());
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    auto* to = reinterpret_cast<uint16_t*>(outputs[0].data);
    const size_t chunks = (channels_.size() + kChunkChannels - 1) / kChunkChannels;
    share(static_cast<int>(chunks), [&](size_t i) {
      const size_t first = i * kChunkChannels;
      gather(inputs, first, to + first * pixels_);
    });
    return {};
  }

 private:
  // A channel's first element in its tensor, and the distance between its elements.
  struct Place {
    const uint16_t* chunk;
    size_t lane, distance;
  };
  Place place(Span<const ConstTensorView> inputs, const Channel& channel) const {
    const auto input = static_cast<size_t>(channel.input), c = static_cast<size_t>(channel.channel);
    const size_t first = c / kChunkChannels * kChunkChannels;
    const auto* data = reinterpret_cast<const uint16_t*>(inputs[input].data);
    return {data + first * pixels_, c - first, std::min(kChunkChannels, counts_[input] - first)};
  }

  // Gathers the chunk of channels from `first` on.
  void gather(Span<const ConstTensorView> inputs, size_t first, uint16_t* to) const {
    const size_t count = std::min(kChunkChannels, channels_.size() - first);
    kernels::ChunkSources from = {};
    bool whole = count == kChunkChannels;
    for (size_t i = 0; i < count && whole; ++i) {
      const Place p = place(inputs, channels_[first + i]);
      size_t c = 0;
      while (c < from.count && from.chunks[c] != p.chunk) ++c;
      if (c == from.count) from.chunks[from.count++] = p.chunk;
      from.chunk[i] = static_cast<uint8_t>(c);
      from.lane[i] = static_cast<uint8_t>(p.lane);
      whole = p.distance == kChunkChannels;
    }
    if (whole) return kernels::gather_chunk(from, pixels_, to);
    for (size_t i = 0; i < count; ++i) {
      const Place p = place(inputs, channels_[first + i]);
      for (size_t pixel = 0; pixel < pixels_; ++pixel) {
        to[pixel * count + i] = p.chunk[pixel * p.distance + p.lane];
      }
    }
  }

  std::vector<Channel> channels_;
  size_t pixels_;
  std::vector<size_t> counts_;  // number of channels of each input
};

// For pictures of any type and layout: adjacent channels of an input are moved as one part.
LayerResult create_plane_gather(const std::vector<Channel>& channels, Span<const TensorDesc> inputs,
                                const TensorDesc& output) {
  auto layer = std::make_unique<MoveLayer>(inputs, output);
  for (size_t i = 0; i < channels.size();) {
    size_t end = i + 1;
    while (end < channels.size() && channels[end].input == channels[i].input &&
           channels[end].channel == channels[end - 1].channel + 1) {
      ++end;
    }
    MovedPart part = whole_part(output.shape);
    part.to[1] = static_cast<int>(i);
    part.count[1] = static_cast<int>(end - i);
    part.from[1] = channels[i].channel;
    layer->add(static_cast<size_t>(channels[i].input), part);
    i = end;
  }
  return LayerResult(std::move(layer));
}

bool is_chunked(const TensorDesc& desc) {
  return desc.type == ElementType::kFloat16 && lies_in_chunks(desc.layout);
}

}  // namespace

void ChannelGatherAttributes::fields(Fields* f) {
  constexpr size_t kMostGathered = 1 << 16;
  std::vector<int> inputs, numbers;
  for (const Channel& c : channels) {
    inputs.push_back(c.input);
    numbers.push_back(c.channel);
  }
  f->integers("inputs", &inputs, 0, 1023, kMostGathered);
  f->integers("channels", &numbers, 0, 1 << 20, kMostGathered);
  if (numbers.empty() || inputs.size() != numbers.size()) {
    return f->fail("channels", "needs one number for each of 'inputs', and at least one");
  }
  channels.clear();
  for (size_t i = 0; i < numbers.size(); ++i) channels.push_back({inputs[i], numbers[i]});
}

DimsResult ChannelGatherAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_ASSIGN(auto dims, same_dims(inputs));
  for (const Shape& shape : inputs) {
    if (shape.rank == 4 && shape.n() == 1 && shape.h() == inputs[0].h() &&
        shape.w() == inputs[0].w()) {
      continue;
    }
    return unsupported("the input " + shape.to_string() + " is no picture of the size of " +
                       inputs[0].to_string());
  }
  for (const Channel& c : channels) {
    if (static_cast<size_t>(c.input) < inputs.size() && c.channel < nth(inputs, c.input).c()) {
      continue;
    }
    return malformed(format("there is no channel %d of input %d", c.channel, c.input));
  }
  dims[1] = static_cast<int64_t>(channels.size());
  return dims;
}

Cost ChannelGatherAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out);
}

LayerResult ChannelGatherAttributes::create(Span<const TensorDesc> inputs,
                                            Span<const TensorDesc> outputs) const {
  constexpr size_t kMostInputs = 1024;
  DVNN_TRY(expect_arity(inputs, 1, kMostInputs, outputs));
  bool chunked = is_chunked(outputs[0]);
  for (const TensorDesc& input : inputs) {
    chunked = chunked && is_chunked(input) && input.layout == outputs[0].layout;
  }
  DVNN_TRY(expect_dims(dims_after(shapes_of(inputs)), outputs[0]));
  if (chunked) return std::unique_ptr<CpuLayer>(new ChunkGather(channels, inputs));
  return create_plane_gather(channels, inputs, outputs[0]);
}

}  // namespace dvnn::layers
