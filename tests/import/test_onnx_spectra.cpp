// SPDX-License-Identifier: Apache-2.0
// Spectra of sound. Wanted numbers are sums by the definitions in double precision.
#include <cmath>
#include <complex>

#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_spectra_tests {

DVNN_SUITE(import_onnx_spectra);

namespace {

using Complex = std::complex<double>;
constexpr double kTurn = 6.283185307179586;

void expect(const char* what, OnnxModel& model, size_t inputs, const std::vector<double>& want) {
  const auto got = run_model(what, made_of(model.output("y")), rising(inputs).data());
  const std::vector<float> floats(want.begin(), want.end());
  expect_close(what, got, floats.data(), floats.size());
}

// The sum over `count` numbers from at(0) on, turned by the frequency k; `sign` is -1 forwards.
template <typename At>
Complex transformed(int count, int k, int sign, At at) {
  Complex sum = 0;
  for (int j = 0; j < count; ++j) sum += at(j) * std::polar(1.0, sign * kTurn * j * k / count);
  return sum;
}

void append(Complex number, std::vector<double>* list) {
  list->push_back(number.real());
  list->push_back(number.imag());
}

}  // namespace

DVNN_TEST(frames_of_sound_become_spectra) {
  constexpr int kLine = 50, kLength = 12, kStep = 7, kFrames = (kLine - kLength) / kStep + 1;
  for (const bool onesided : {true, false}) {
    const std::vector<float> x = rising(kLine), window = rising(kLength);
    OnnxModel m({1, kLine}, 17);
    m.ints("step", {kStep}, true).floats("window", window);
    m.node("STFT", {"x", "step", "window"}, {"y"}).set("onesided", onesided ? 1 : 0);
    std::vector<double> want;
    for (int frame = 0; frame < kFrames; ++frame) {
      for (int k = 0; k < (onesided ? kLength / 2 + 1 : kLength); ++k) {
        const auto at = [&](int j) {
          return double{x[static_cast<size_t>(frame * kStep + j)]} * window[static_cast<size_t>(j)];
        };
        append(transformed(kLength, k, -1, at), &want);
      }
    }
    expect("STFT", m, kLine, want);
  }
}

DVNN_TEST(transforms_go_both_ways_along_any_axis) {
  constexpr int kLength = 6, kColumns = 3;
  const std::vector<float> x = rising(kLength * kColumns * 2);
  const auto number = [&](int row, int column) {
    const auto at = static_cast<size_t>((row * kColumns + column) * 2);
    return Complex(x[at], x[at + 1]);
  };
  for (const bool inverse : {false, true}) {
    OnnxModel m({1, kLength, kColumns, 2}, 17);
    m.node("DFT", {"x"}, {"y"}).set("axis", 1).set("inverse", inverse ? 1 : 0);
    std::vector<double> want;
    for (int k = 0; k < kLength; ++k) {
      for (int column = 0; column < kColumns; ++column) {
        const auto at = [&](int j) { return number(j, column); };
        const Complex sum = transformed(kLength, k, inverse ? 1 : -1, at);
        append(inverse ? sum / double{kLength} : sum, &want);
      }
    }
    expect(inverse ? "inverse DFT" : "DFT", m, x.size(), want);
  }
  // Of real numbers, the first half of frequencies; opset 20 has the axis as an input.
  OnnxModel half({1, 2, 8, 1}, 20);
  half.ints("axis", {-2}, true).node("DFT", {"x", "", "axis"}, {"y"}).set("onesided", 1);
  const std::vector<float> line = rising(16);
  std::vector<double> want;
  for (int row = 0; row < 2; ++row) {
    for (int k = 0; k <= 4; ++k) {
      const auto at = [&](int j) { return double{line[static_cast<size_t>(row * 8 + j)]}; };
      append(transformed(8, k, -1, at), &want);
    }
  }
  expect("one-sided DFT", half, 16, want);
}

DVNN_TEST(windows_and_bands_are_known) {
  constexpr int kLength = 16;
  const std::vector<float> x = rising(kLength);
  for (const char* type : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    OnnxModel m({1, kLength}, 17);
    m.ints("length", {kLength}, true).node(type, {"length"}, {"w"}).set("periodic", 0);
    m.node("Mul", {"x", "w"}, {"y"});
    std::vector<double> want;
    for (int i = 0; i < kLength; ++i) {
      const double c = std::cos(kTurn * i / (kLength - 1)),
                   d = std::cos(2 * kTurn * i / (kLength - 1));
      const double value = type[1] == 'a' && type[2] == 'n' ? (1 - c) / 2
                           : type[1] == 'a'                 ? 0.543478 - 0.456522 * c
                                                            : 0.42 - 0.5 * c + 0.08 * d;
      want.push_back(value * double{x[static_cast<size_t>(i)]});
    }
    expect(type, m, kLength, want);
  }
  // By the ONNX project's reference.
  OnnxModel m({1, 16}, 17);
  m.ints("bands", {3}, true).ints("length", {30}, true).ints("rate", {8000}, true);
  m.floats("low", {200}).floats("high", {3800});
  m.node("MelWeightMatrix", {"bands", "length", "rate", "low", "high"}, {"w"});
  m.node("MatMul", {"x", "w"}, {"y"});
  const std::vector<float> s = rising(16);
  const auto sum = [&](size_t first, std::initializer_list<double> sixths) {
    double all = 0;
    for (double sixth : sixths) all += sixth / 6 * double{s[first++]};
    return all;
  };
  expect("mel", m, 16, {sum(1, {3, 6}), sum(3, {6, 4, 2}), sum(4, {2, 4, 6, 4, 2})});
  // Bands that begin and end in one bin.
  OnnxModel narrow({1, 9}, 17);
  narrow.ints("bands", {8}, true).ints("length", {16}, true).ints("rate", {8192}, true);
  narrow.floats("low", {0}).floats("high", {4096});
  narrow.node("MelWeightMatrix", {"bands", "length", "rate", "low", "high"}, {"w"});
  narrow.node("MatMul", {"x", "w"}, {"y"});
  const std::vector<float> few = rising(9);
  std::vector<double> want;
  for (size_t bin : {0, 0, 1, 1, 2, 3, 4, 5}) want.push_back(double{few[bin]});
  expect("narrow bands", narrow, 9, want);
}

DVNN_TEST(transforms_that_cannot_be_are_refused) {
  OnnxModel longer({1, 8}, 17);
  longer.ints("step", {4}, true).ints("length", {9}, true);
  longer.node("STFT", {"x", "step", "", "length"}, {"y"}).output("y");
  expect_refused(convert_model(longer), {"'STFT_y'", "frames of 9", "line of 8"});
  OnnxModel parts({1, 4, 6, 2}, 17);
  parts.node("DFT", {"x"}, {"y"}).set("axis", 3).output("y");
  expect_refused(convert_model(parts), {"'DFT_y'", "real and imaginary parts"});
}

}  // namespace dvnn::test::onnx_spectra_tests
