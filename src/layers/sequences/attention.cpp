// SPDX-License-Identifier: Apache-2.0
// Attention without a matrix of all products: a block of queries of one head is compared with all
// keys, and its result is computed, before the next block begins. Keys are floats in panels that
// stay in the first-level cache while all queries of a block are compared with them.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/format.h"
#include "base/numbers.h"
#include "base/share.h"
#include "kernels/arithmetic/reductions.h"
#include "kernels/arithmetic/softmax.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"
#include "layers/sequences/head_tokens.h"

namespace dvnn::layers {
namespace {

constexpr size_t kOperands = 3, kWithAttentionBias = 4;
constexpr size_t kAttentionPieces = 16;
constexpr size_t kPanelKeys = 64;
static_assert(kPanelKeys % kernels::kPowersAlignment == 0);
constexpr int kMostHeadChannels = 1 << 20, kMostTokens = 1 << 20;

// Sizes of one sequence.
struct AttentionSizes {
  size_t queries, keys, size, value_size;

  // Returns `floats` rounded up, so that what comes behind them lies at the beginning of a vector.
  static size_t aligned(size_t floats) {
    return (floats + kernels::kPowersAlignment - 1) / kernels::kPowersAlignment *
           kernels::kPowersAlignment;
  }
  // Returns the floats between the beginnings of two rows of products.
  size_t stride() const { return aligned(keys); }
  // Returns the number of queries whose products fill a first-level cache, or of those that pay for
  // reading the keys from the second-level cache.
  size_t rows() const {
    constexpr size_t kProducts = 6 << 10, kUnit = 6, kLeast = 24, kMost = 96;
    return std::min(queries, std::clamp(kProducts / stride() / kUnit * kUnit, kLeast, kMost));
  }
  size_t blocks() const { return (queries + rows() - 1) / rows(); }
  size_t block_floats() const {
    return rows() * stride() + aligned(rows() * size) + aligned(rows() * value_size) +
           aligned(rows());
  }
  size_t head_floats() const { return stride() * size + aligned(keys * value_size); }
};

// How the heads of all sequences are shared among threads.
struct AttentionShares {
  size_t heads;   // of all sequences
  bool by_block;  // few heads: threads share the blocks of each
  size_t pieces;

  AttentionShares(size_t sequences, size_t heads_each, const AttentionSizes& sizes)
      : heads(sequences * heads_each),
        by_block(heads < kAttentionPieces && sizes.blocks() > 1),
        pieces(std::min(by_block ? heads * sizes.blocks() : heads, kAttentionPieces)) {}

  // Returns for how many heads at once keys and values are there as floats.
  size_t heads_at_once() const { return std::min(heads, kAttentionPieces); }
  size_t floats(const AttentionSizes& sizes) const {
    return pieces * sizes.block_floats() + heads_at_once() * sizes.head_floats();
  }
};

AttentionSizes attention_sizes(const AttentionAttributes& layer, const Shape& query,
                               const Shape& key) {
  const auto sequences = static_cast<size_t>(layer.sequences);
  return {query.extent(3) / sequences, key.extent(3) / sequences, static_cast<size_t>(layer.size),
          static_cast<size_t>(layer.value_size)};
}

AttentionShares attention_shares(const AttentionAttributes& layer, const AttentionSizes& sizes) {
  return {static_cast<size_t>(layer.sequences), static_cast<size_t>(layer.heads), sizes};
}

// Queries, keys and values.
template <typename Tokens>
using Pictures = std::array<Tokens, kOperands>;

class Attend {
 public:
  Attend(const AttentionAttributes& layer, Span<const TensorDesc> inputs, const TensorDesc& output)
      : layer_(layer), sizes_(attention_sizes(layer, inputs[0].shape, inputs[1].shape)) {
    for (size_t i = 0; i < kOperands; ++i) pixels_[i] = inputs[i].shape.extent(3);
    pixels_[kOperands] = output.shape.extent(3);
    if (inputs.size() == kWithAttentionBias) {
      const auto number = [](size_t n) { return static_cast<int>(n); };
      bias_ = broadcast_strides(
          inputs[kOperands].shape,
          {layer.sequences, layer.heads, number(sizes_.queries), number(sizes_.keys)});
      has_bias_ = true;
    }
  }

  // Computes the result, whose memory is apart, from pictures of queries, keys and values. `Tokens`
  // knows the order of elements in all four.
  template <typename Tokens>
  void run(const Pictures<Tokens>& in, const float* bias, typename Tokens::Element* result) const {
    const AttentionShares shares = attention_shares(layer_, sizes_);
    float* const blocks = Workspace::current().floats(shares.floats(sizes_));
    float* const heads = blocks + shares.pieces * sizes_.block_floats();
    const auto read = [&](size_t head, const HeadRoom& room) {
      const Place place = place_of(head, 0);
      for (size_t first = 0; first < sizes_.keys; first += width_at(first)) {
        const size_t width = width_at(first), count = std::min(width, sizes_.keys - first);
        float* const panel = room.keys + first * sizes_.size;
        // Keys that fill a panel's rows are zeros.
        if (width > count) std::fill_n(panel, sizes_.size * width, 0.0f);
        in[1].by_channel(part(1, place, first, count), panel, width);
      }
      in[2].by_token(part(2, place, 0, sizes_.keys), room.values);
    };
    const auto attend = [&](size_t head, size_t block, const HeadRoom& keys, size_t piece) {
      const Place place = place_of(head, block * sizes_.rows());
      const size_t count = std::min(sizes_.rows(), sizes_.queries - place.first);
      const BlockRoom own(blocks + piece * sizes_.block_floats(), sizes_);
      in[0].by_token(part(0, place, place.first, count), own.query);
      see(bias, place, count, keys, own);
      Tokens::put(own.seen, own.inverses, seen_part(place, count), result, pixels_[kOperands]);
    };
    const auto room = [&](size_t i) { return HeadRoom(heads + i * sizes_.head_floats(), sizes_); };
    const size_t each = sizes_.blocks(), pieces = shares.pieces;
    if (shares.by_block) {
      share(static_cast<int>(shares.heads), [&](size_t head) { read(head, room(head)); });
      share(static_cast<int>(pieces), [&](size_t piece) {
        const size_t tasks = shares.heads * each;
        for (size_t t = piece * tasks / pieces; t < (piece + 1) * tasks / pieces; ++t) {
          attend(t / each, t % each, room(t / each), piece);
        }
      });
      return;
    }
    share(static_cast<int>(pieces), [&](size_t piece) {
      const size_t count = shares.heads;
      for (size_t head = piece * count / pieces; head < (piece + 1) * count / pieces; ++head) {
        read(head, room(piece));
        for (size_t i = 0; i < each; ++i) attend(head, i, room(piece), piece);
      }
    });
  }

  void operator()(const float* const* in, float* result) const {
    run<PlaneTokens>({PlaneTokens(in[0], pixels_[0]), PlaneTokens(in[1], pixels_[1]),
                      PlaneTokens(in[2], pixels_[2])},
                     has_bias_ ? in[kOperands] : nullptr, result);
  }

 private:
  struct Place {
    size_t sequence, head, first;  // `first`: the block's first query
  };
  // Row-major matrices of a block, and of a head.
  struct BlockRoom {
    float *products, *query, *seen, *inverses;
    BlockRoom(float* at, const AttentionSizes& sizes)
        : products(at),
          query(products + sizes.rows() * sizes.stride()),
          seen(query + AttentionSizes::aligned(sizes.rows() * sizes.size)),
          inverses(seen + AttentionSizes::aligned(sizes.rows() * sizes.value_size)) {}
  };
  struct HeadRoom {
    float *keys, *values;
    HeadRoom(float* at, const AttentionSizes& sizes)
        : keys(at), values(keys + sizes.stride() * sizes.size) {}
  };
  // Returns the width of the panel of keys that begins with this one. The last two share what is
  // less than two panels, as products of a single vector of keys would wait for one another.
  size_t width_at(size_t first) const {
    const size_t rest = sizes_.stride() - first;
    if (rest <= kPanelKeys) return rest;
    return rest < 2 * kPanelKeys ? AttentionSizes::aligned(rest / 2) : kPanelKeys;
  }

  Place place_of(size_t head, size_t first) const {
    const auto each = static_cast<size_t>(layer_.heads);
    return {head / each, head % each, first};
  }

  // Returns the head's channels in an input, from one of the sequence's tokens on.
  HeadPart part(size_t input, const Place& place, size_t first, size_t count) const {
    const size_t tokens = input == 0 ? sizes_.queries : sizes_.keys;
    return {static_cast<size_t>(layer_.first[input]) +
                place.head * static_cast<size_t>(layer_.step[input]),
            input == 2 ? sizes_.value_size : sizes_.size, place.sequence * tokens + first, count,
            places()};
  }

  HeadPart seen_part(const Place& place, size_t count) const {
    return {place.head * sizes_.value_size, sizes_.value_size,
            place.sequence * sizes_.queries + place.first, count, places()};
  }

  const int* places() const { return layer_.places.empty() ? nullptr : layer_.places.data(); }

  void see(const float* bias, const Place& place, size_t count, const HeadRoom& head,
           const BlockRoom& own) const {
    const size_t stride = sizes_.stride();
    for (size_t first = 0; first < sizes_.keys; first += width_at(first)) {
      kernels::multiply_panel(own.query, head.keys + first * sizes_.size, own.products + first,
                              count, sizes_.size, width_at(first), stride);
    }
    const bool scaled = bias || !(layer_.scale > 0);
    if (scaled) scale_and_add(bias, place, count, own.products);
    kernels::softmax_powers({own.products, count, sizes_.keys, stride}, scaled ? 1 : layer_.scale,
                            own.inverses);
    kernels::multiply_rows(own.products, stride, head.values, own.seen, count, sizes_.keys,
                           sizes_.value_size);
  }

  // Brings products to their scale, and adds the bias, if there is one.
  void scale_and_add(const float* bias, const Place& place, size_t count, float* products) const {
    const auto at = [](size_t index, int64_t stride) {
      return static_cast<int64_t>(index) * stride;
    };
    for (size_t i = 0; i < count; ++i) {
      float* const to = products + i * sizes_.stride();
      for (size_t j = 0; j < sizes_.keys; ++j) to[j] *= layer_.scale;
      if (!bias) continue;
      const float* row = bias + at(place.sequence, bias_[0]) + at(place.head, bias_[1]) +
                         at(place.first + i, bias_[2]);
      if (bias_[3] == 1) {
        for (size_t j = 0; j < sizes_.keys; ++j) to[j] += row[j];
      } else {
        for (size_t j = 0; j < sizes_.keys; ++j) to[j] += row[0];
      }
    }
  }

  AttentionAttributes layer_;
  AttentionSizes sizes_;
  std::array<size_t, kWithAttentionBias> pixels_ = {};  // widths of the inputs and of the result
  Strides bias_ = {};
  bool has_bias_ = false;
};

// Attention of the device's own memory: heads are converted to floats one by one, and no picture is
// copied.
class AttendChunks final : public CpuLayer {
 public:
  AttendChunks(const AttentionAttributes& layer, Span<const TensorDesc> inputs,
               const TensorDesc& output)
      : attend_(layer, inputs, output) {
    if (inputs.size() == kWithAttentionBias) bias_.emplace(inputs[kOperands]);
  }

  // Returns whether all pictures lie in chunks of binary16, and all heads in whole chunks.
  static bool fits(const AttentionAttributes& layer, Span<const TensorDesc> inputs,
                   const TensorDesc& output) {
    const auto whole = [](int channels) { return channels % int{ChunkTokens::kChunk} == 0; };
    const auto in_chunks = [&](const TensorDesc& desc) {
      return desc.type == ElementType::kFloat16 && lies_in_chunks(desc.layout) &&
             whole(desc.shape.c());
    };
    return std::all_of(inputs.begin(), inputs.begin() + kOperands, in_chunks) &&
           in_chunks(output) && std::all_of(layer.first.begin(), layer.first.end(), whole) &&
           std::all_of(layer.step.begin(), layer.step.end(), whole) && whole(layer.size) &&
           whole(layer.value_size);
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const auto tokens = [&](size_t i) {
      return ChunkTokens(reinterpret_cast<const half_t*>(inputs[i].data),
                         inputs[i].desc.shape.extent(3));
    };
    bool apart = true;
    for (size_t i = 0; i < kOperands; ++i) {
      apart = apart && !share_memory(inputs[i], outputs[0]);
    }
    const size_t bytes = outputs[0].desc.bytes();
    uint8_t* const to = apart ? outputs[0].data : Workspace::current().bytes(bytes);
    const float* bias = bias_ ? bias_->read(inputs[kOperands]) : nullptr;
    attend_.run<ChunkTokens>({tokens(0), tokens(1), tokens(2)}, bias,
                             reinterpret_cast<half_t*>(to));
    if (!apart) std::copy_n(to, bytes, outputs[0].data);
    return {};
  }

 private:
  Attend attend_;
  std::optional<FloatReader> bias_;
};

Error attention_misfit(const std::string& what) {
  return {ErrorCode::kUnsupported, what};
}

// Returns whether each pixel of a row is the place of one token.
bool are_all_pixels(const std::vector<int>& places, int pixels) {
  std::vector<bool> seen(static_cast<size_t>(pixels), false);
  for (int place : places) {
    if (place >= pixels || seen[static_cast<size_t>(place)]) return false;
    seen[static_cast<size_t>(place)] = true;
  }
  return places.size() == seen.size();
}

}  // namespace

void AttentionAttributes::fields(Fields* f) {
  f->integer("sequences", &sequences, 1, kMostHeadChannels);
  f->integer("heads", &heads, 1, kMostHeadChannels);
  f->integer("size", &size, 1, kMostHeadChannels);
  f->integer("value_size", &value_size, 1, kMostHeadChannels);
  f->number("scale", &scale);
  for (auto [name, list] : {std::pair("first", &first), std::pair("step", &step)}) {
    f->integers(name, list, 0, kMostHeadChannels, kOperands);
    if (list->size() != kOperands) f->fail(name, "does not have a number for each of three inputs");
  }
  f->integers("places", &places, 0, kMostTokens - 1, kMostTokens, !places.empty());
}

DimsResult AttentionAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, kOperands));
  for (size_t i = 0; i < kOperands; ++i) {
    const Shape& shape = inputs[i];
    const int64_t last = first[i] + int64_t{heads - 1} * step[i] + (i == 2 ? value_size : size);
    if (shape.rank != 4 || shape.n() != 1 || shape.h() != 1 || last > shape.c() ||
        shape.w() % sequences != 0) {
      return attention_misfit(shape.to_string() +
                              format(" are not %d sequences of %d heads", sequences, heads));
    }
  }
  if (inputs[1].w() != inputs[2].w()) return attention_misfit("has not as many keys as values");
  const bool in_order = places.empty();
  if (!in_order && (inputs[0].w() != inputs[1].w() || !are_all_pixels(places, inputs[0].w()))) {
    return attention_misfit(
        format("the places of %zu tokens are not all %d pixels", places.size(), inputs[0].w()));
  }
  if (inputs.size() > kOperands) {
    const Shape& bias = inputs[kOperands];
    const int whole[] = {sequences, heads, inputs[0].w() / sequences, inputs[1].w() / sequences};
    bool fits = bias.rank == 4 && inputs.size() == kWithAttentionBias;
    for (int i = 0; fits && i < 4; ++i) fits = bias[i] == 1 || bias[i] == whole[i];
    if (!fits)
      return attention_misfit("the bias " + bias.to_string() + " does not fit the products");
  }
  return std::vector<int64_t>{1, int64_t{heads} * value_size, 1, inputs[0].w()};
}

Cost AttentionAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  Cost cost = float_layer_cost(in, out, 0);
  if (!dims_after(shapes_of(in)).ok()) return cost;
  const AttentionSizes sizes = attention_sizes(*this, in[0].shape, in[1].shape);
  const uint64_t tokens = saturating_product(in[0].shape.extent(3), sizes.keys);
  const auto per_pair = static_cast<uint64_t>(heads) * (sizes.size + sizes.value_size);
  return cost.keep_bytes(places.size() * sizeof(int))
      .borrow_floats(attention_shares(*this, sizes).floats(sizes))
      .add_macs(saturating_product(tokens, per_pair));
}

LayerResult AttentionAttributes::create(Span<const TensorDesc> inputs,
                                        Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, kOperands, kWithAttentionBias, outputs));
  DVNN_TRY(expect_dims(dims_after(shapes_of(inputs)), outputs[0]));
  if (AttendChunks::fits(*this, inputs, outputs[0])) {
    return std::unique_ptr<CpuLayer>(new AttendChunks(*this, inputs, outputs[0]));
  }
  return make_float_layer(inputs, outputs, Attend(*this, inputs, outputs[0]));
}

}  // namespace dvnn::layers
