// SPDX-License-Identifier: Apache-2.0
// Chooses and reorders the pixels of a picture of one row: tokens that form windows.
#include <algorithm>

#include "base/format.h"
#include "base/share.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

constexpr size_t kMostPlaces = 1 << 20;
constexpr int kZeroPixel = -1;  // instead of a place

// Copies the elements of some channels, `lanes`, that lie side by side in each pixel.
template <size_t kLanes, typename T>
void gather_pixels(const T* from, const std::vector<int>& places, T* to, size_t lanes = kLanes) {
  for (int place : places) {
    if (place == kZeroPixel) {
      std::fill_n(to, kLanes > 0 ? kLanes : lanes, T());
    } else {
      std::copy_n(from + static_cast<size_t>(place) * lanes, kLanes > 0 ? kLanes : lanes, to);
    }
    to += lanes;
  }
}

// Pictures in the device's chunks of binary16.
class ChunkPixelGather final : public CpuLayer {
 public:
  ChunkPixelGather(std::vector<int> places, const Shape& in)
      : places_(std::move(places)), pixels_(in.pixels()), channels_(in.channels()) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    constexpr size_t kLanes = 8;
    const auto* from = reinterpret_cast<const uint16_t*>(inputs[0].data);
    auto* to = reinterpret_cast<uint16_t*>(outputs[0].data);
    share(static_cast<int>((channels_ + kLanes - 1) / kLanes), [&](size_t i) {
      const size_t first = i * kLanes, lanes = std::min(kLanes, channels_ - first);
      const uint16_t* source = from + first * pixels_;
      uint16_t* target = to + first * places_.size();
      if (lanes == kLanes) return gather_pixels<kLanes>(source, places_, target);
      gather_pixels<0>(source, places_, target, lanes);
    });
    return {};
  }

 private:
  std::vector<int> places_;
  size_t pixels_, channels_;
};

}  // namespace

void PixelGatherAttributes::fields(Fields* f) {
  f->integer("pixels", &pixels, 1, kMostPlaces);
  f->integers("places", &places, kZeroPixel, kMostPlaces - 1, kMostPlaces);
  const bool lie_within =
      std::all_of(places.begin(), places.end(), [this](int place) { return place < pixels; });
  if (places.empty() || !lie_within) f->fail("places", "needs numbers of pixels, and at least one");
}

DimsResult PixelGatherAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& shape = inputs[0];
  if (shape.rank != 4 || shape.n() != 1 || shape.h() != 1 || shape.w() != pixels) {
    return unsupported(shape.to_string() + format(" is no row of %d pixels", pixels));
  }
  return std::vector<int64_t>{1, shape.c(), 1, static_cast<int64_t>(places.size())};
}

Cost PixelGatherAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out).keep_bytes(places.size() * sizeof(int));
}

LayerResult PixelGatherAttributes::create(Span<const TensorDesc> inputs,
                                          Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 1, inputs, outputs));
  const auto is_chunked = [](const TensorDesc& desc) {
    return desc.type == ElementType::kFloat16 && lies_in_chunks(desc.layout);
  };
  const Shape& shape = inputs[0].shape;
  if (is_chunked(inputs[0]) && is_chunked(outputs[0])) {
    return std::unique_ptr<CpuLayer>(new ChunkPixelGather(places, shape));
  }
  return make_float_layer(inputs, outputs,
                          [all = places, channels = shape.channels(), row = shape.pixels()](
                              const float* const* in, float* result) {
                            for (size_t c = 0; c < channels; ++c) {
                              gather_pixels<1>(in[0] + c * row, all, result + c * all.size());
                            }
                          });
}

}  // namespace dvnn::layers
