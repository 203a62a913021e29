// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/control/control.h"

#include <cmath>

#include "base/format.h"
#include "base/nth.h"
#include "plan/graph/graph.h"

namespace dvnn::import {
namespace {

using Dims = std::vector<int64_t>;

constexpr double kTurn = 6.283185307179586;
constexpr int64_t kMostLength = 1 << 16;  // of a transform, and of a window

class Spectrum final : public ControlImport {
 public:
  using ControlImport::ControlImport;

  // A convolution of the line by each frequency's cosine and sine, whose steps are the frames'.
  Status stft() {
    DVNN_ASSIGN(const int value, node_.value(0));
    const Dims in = dims_of(value);
    const bool is_real = in.size() == 2 || (in.size() == 3 && in[2] == 1);
    if (!is_real || in[0] != 1) return unsupported("of other than one line of real numbers");
    DVNN_ASSIGN(const int64_t step, number(1, 0));
    std::vector<double> window;
    if (node_.has(2)) {
      DVNN_ASSIGN(const auto given, node_.constant(2));
      window = given->values;
    }
    DVNN_ASSIGN(const int64_t length, number(3, static_cast<int64_t>(window.size())));
    if (window.empty()) window.assign(static_cast<size_t>(length), 1.0);
    if (static_cast<int64_t>(window.size()) != length || length > in[1]) {
      return malformed(format("windows of %zu numbers for frames of %lld, of a line of %lld",
                              window.size(), static_cast<long long>(length),
                              static_cast<long long>(in[1])));
    }
    const int64_t bins = node_.integer("onesided", 1) != 0 ? length / 2 + 1 : length;
    const int64_t frames = (in[1] - length) / step + 1;
    DVNN_TRY(importer_.check_numbers(static_cast<uint64_t>(2 * bins * length)));
    OnnxConstant taps = empty({2 * bins, 1, length});
    for (int64_t k = 0; k < bins; ++k) {
      for (const bool imaginary : {false, true}) {
        for (int64_t j = 0; j < length; ++j) {
          const double angle =
              kTurn * static_cast<double>(j * k % length) / static_cast<double>(length);
          const double wave = imaginary ? -std::sin(angle) : std::cos(angle);
          taps.values.push_back(wave * window[static_cast<size_t>(j)]);
        }
      }
    }
    importer_.set(own_name("taps"), std::move(taps));
    DVNN_TRY(reshape(node_.input_name(0), own_name("line"), {1, 1, in[1]}));
    onnx::NodeProto conv =
        made_node("Conv", {own_name("line"), own_name("taps")}, own_name("waves"));
    add_attribute("strides", Dims{step}, &conv);
    DVNN_TRY(import_(conv));
    DVNN_TRY(transpose(own_name("waves"), own_name("frames"), {0, 2, 1}));
    return reshape(own_name("frames"), node_.output_name(0), {1, frames, bins, 2});
  }

  // A product with a matrix of cosines and sines.
  Status dft() {
    DVNN_ASSIGN(const int value, node_.value(0));
    const Dims in = dims_of(value);
    const size_t rank = in.size();
    constexpr int64_t kAxisIsAnInput = 20;
    int64_t axis = node_.integer("axis", 1);
    if (node_.opset() >= kAxisIsAnInput) {
      axis = -2;
      if (node_.has(2)) {
        DVNN_ASSIGN(const auto said, node_.constant(2));
        if (said->ints().size() == 1) axis = said->ints()[0];
      }
    }
    if (rank < 3 || in.back() > 2) return malformed("its last axis is not of 1 or 2 numbers");
    DVNN_ASSIGN(axis, onnx_axis(axis, rank));
    const auto last = static_cast<int64_t>(rank) - 1;
    if (axis == last) return malformed("is along the axis of its real and imaginary parts");
    const int64_t count = nth(in, axis), parts = in.back();
    DVNN_ASSIGN(const int64_t length, number(1, count));
    const bool inverse = node_.integer("inverse", 0) != 0;
    const bool onesided = node_.integer("onesided", 0) != 0;
    if (inverse && onesided) return unsupported("one-sided and inverse at once is not supported");
    const int64_t bins = onesided ? length / 2 + 1 : length;
    DVNN_TRY(set_waves(count, parts, length, bins, inverse));
    // The axis comes before that of the parts.
    Dims order, back(rank), moved;
    for (int64_t i = 0; i < last; ++i) {
      if (i != axis) order.push_back(i);
    }
    order.push_back(axis);
    order.push_back(last);
    for (size_t i = 0; i < rank; ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    for (size_t i = 0; i + 2 < rank; ++i) moved.push_back(nth(in, order[i]));
    DVNN_TRY(transpose(node_.input_name(0), own_name("moved"), order));
    moved.push_back(count * parts);
    DVNN_TRY(reshape(own_name("moved"), own_name("flat"), moved));
    DVNN_TRY(
        import_(made_node("MatMul", {own_name("flat"), own_name("waves")}, own_name("product"))));
    moved.back() = bins;
    moved.push_back(2);
    DVNN_TRY(reshape(own_name("product"), own_name("apart"), moved));
    return transpose(own_name("apart"), node_.output_name(0), back);
  }

  Status window() {
    DVNN_ASSIGN(const int64_t length, number(0, 0));
    const std::string& type = node_.type();
    const double whole =
        static_cast<double>(node_.integer("periodic", 1) != 0 || length == 1 ? length : length - 1);
    OnnxConstant made = empty({length});
    for (int64_t i = 0; i < length; ++i) {
      const double angle = kTurn * static_cast<double>(i) / whole;
      double value = 0.5 - 0.5 * std::cos(angle);
      constexpr double kHamming = 25.0 / 46;
      if (type == "HammingWindow") value = kHamming - (1 - kHamming) * std::cos(angle);
      if (type == "BlackmanWindow") value -= 0.08 - 0.08 * std::cos(2 * angle);
      made.values.push_back(value);
    }
    return node_.done(std::move(made));
  }

  // Triangles over the bins of a spectrum, as ONNX's operator has them.
  Status mel() {
    DVNN_ASSIGN(const int64_t bands, number(0, 0));
    DVNN_ASSIGN(const int64_t length, number(1, 0));
    DVNN_ASSIGN(const int64_t rate, number(2, 0));
    double edges[2];
    for (int i : {0, 1}) {
      DVNN_ASSIGN(const auto edge, node_.constant(3 + i));
      if (edge->values.size() != 1) return malformed("an edge of its bands is not one number");
      edges[i] = 2595 * std::log10(1 + edge->values[0] / 700);
    }
    const int64_t bins = length / 2 + 1;
    DVNN_TRY(importer_.check_numbers(static_cast<uint64_t>(bins * bands)));
    std::vector<int64_t> places;
    for (int64_t i = 0; i < bands + 2; ++i) {
      const double step = (edges[1] - edges[0]) / static_cast<double>(bands + 2);
      const double mel = static_cast<double>(i) * step + edges[0];
      const double hertz = 700 * (std::pow(10.0, mel / 2595) - 1);
      places.push_back(static_cast<int64_t>(
          std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
      if (!(hertz >= 0) || places.back() < 0 || places.back() >= bins) {
        return malformed("a band lies beyond the spectrum");
      }
    }
    OnnxConstant made = empty({bins, bands});
    made.values.assign(static_cast<size_t>(bins * bands), 0.0);
    for (int64_t band = 0; band < bands; ++band) {
      const int64_t low = nth(places, band), top = nth(places, band + 1);
      const int64_t high = nth(places, band + 2);
      const auto at = [&](int64_t bin) -> double& { return nth(made.values, bin * bands + band); };
      if (low == top) at(top) = 1;
      for (int64_t bin = low; low < top && bin <= top; ++bin) {
        at(bin) = static_cast<double>(bin - low) / static_cast<double>(top - low);
      }
      for (int64_t bin = top; top < high && bin < high; ++bin) {
        at(bin) = static_cast<double>(high - bin) / static_cast<double>(high - top);
      }
    }
    return node_.done(std::move(made));
  }

 private:
  static OnnxConstant empty(Dims dims) {
    OnnxConstant made;
    made.dims = std::move(dims);
    return made;
  }

  Dims dims_of(int value) const { return plan::dims_of(node_.builder().shape_of(value)); }

  // Returns a known length; `fallback` if input `i` is absent.
  Result<int64_t> number(int i, int64_t fallback) const {
    int64_t length = fallback;
    if (node_.has(i)) {
      DVNN_ASSIGN(const auto constant, node_.constant(i));
      const Dims said = constant->ints();
      if (said.size() != 1) return malformed(format("input %d is not one number", i));
      length = said[0];
    }
    if (length >= 1 && length <= kMostLength) return length;
    return malformed(format("a length of %lld, where 1 to %lld are possible",
                            static_cast<long long>(length), static_cast<long long>(kMostLength)));
  }

  // Makes the matrix of a transform, (number, part) by (frequency, part), of `count` numbers.
  Status set_waves(int64_t count, int64_t parts, int64_t length, int64_t bins, bool inverse) {
    DVNN_TRY(importer_.check_numbers(static_cast<uint64_t>(2 * count * parts * bins)));
    const double factor = inverse ? 1.0 / static_cast<double>(length) : 1.0;
    OnnxConstant waves = empty({count * parts, 2 * bins});
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t part = 0; part < parts; ++part) {
        for (int64_t k = 0; k < bins; ++k) {
          const double angle =
              kTurn * static_cast<double>(j * k % length) / static_cast<double>(length);
          const double scale = j < length ? factor : 0;  // what is beyond is cut off
          const double real = scale * std::cos(angle);
          const double turned = (inverse ? 1 : -1) * scale * std::sin(angle);
          waves.values.push_back(part == 0 ? real : -turned);
          waves.values.push_back(part == 0 ? turned : real);
        }
      }
    }
    importer_.set(own_name("waves"), std::move(waves));
    return {};
  }

  Status reshape(const std::string& name, const std::string& output, const Dims& dims) {
    importer_.set(output + "/shape", whole_numbers(dims));
    return import_(made_node("Reshape", {name, output + "/shape"}, output));
  }

  Status transpose(const std::string& name, const std::string& output, const Dims& order) {
    onnx::NodeProto proto = made_node("Transpose", {name}, output);
    add_attribute("perm", order, &proto);
    return import_(proto);
  }
};

}  // namespace

std::vector<ControlOperator> spectral_operators() {
  return {{"BlackmanWindow", import_by<&Spectrum::window>},
          {"DFT", import_by<&Spectrum::dft>},
          {"HammingWindow", import_by<&Spectrum::window>},
          {"HannWindow", import_by<&Spectrum::window>},
          {"MelWeightMatrix", import_by<&Spectrum::mel>},
          {"STFT", import_by<&Spectrum::stft>}};
}

}  // namespace dvnn::import
