// SPDX-License-Identifier: Apache-2.0
// Runs converted models on the software device.
#pragma once

#include <cmath>
#include <vector>

#include "check_suite.h"
#include "network/network.h"
#include "plan/reference/reference.h"

namespace dvnn::test {

/// Returns the first output, row-major, for a row-major input. `library` has the model's own CPU
/// layers.
inline std::vector<float> run_model(
    const char* what, network::Model model, const float* input,
    std::shared_ptr<const layers::CustomLibrary> library = nullptr) {
  const TensorDesc desc = model.tensor(model.input.tensor).desc;
  auto network = network::Network::create(std::move(model), device::Device::open("soft").value(),
                                          nullptr, std::move(library));
  ck_assert_msg(network.ok(), "%s: %s", what, network.ok() ? "" : network.error().message.c_str());
  auto slot = network.value()->create_slot();
  ck_assert_msg(slot.ok(), "%s: %s", what, slot.ok() ? "" : slot.error().message.c_str());
  write_nchw(input, {desc, slot.value()->input().data()});
  ck_assert(slot.value()->run().ok());
  const ConstTensorView out = slot.value()->output(0);
  std::vector<float> values(static_cast<size_t>(out.desc.shape.elements()));
  read_nchw(out, values.data());
  return values;
}

/// Returns the first output of an imported graph, computed in FP32.
inline std::vector<float> run_reference(const char* what, const plan::Graph& graph,
                                        const float* input) {
  auto reference = plan::Reference::create(graph);
  ck_assert_msg(reference.ok(), "%s: %s", what,
                reference.ok() ? "" : reference.error().message.c_str());
  auto outputs = reference.value()->run(input);
  ck_assert(outputs.ok());
  return outputs.value()[0];
}

/// The tolerance of two computations in FP32: 24 significand bits, sums of a few hundred products.
constexpr double kFloatTolerance = 1e-5;

/// Fails if a value is off by more than `tolerance` of the largest wanted one.
inline void expect_close(const char* what, const std::vector<float>& have, const float* want,
                         size_t count, double tolerance = 0.01) {
  ck_assert_uint_eq(have.size(), count);
  double largest = 0, worst = 0;
  for (size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::fabs(double{want[i]}));
    worst = std::max(worst, std::fabs(double{have[i]} - double{want[i]}));
  }
  ck_assert_msg(worst <= tolerance * largest, "%s: off by %g of %g", what, worst, largest);
}

/// Fails unless the model was refused with a message that contains all these words.
inline void expect_refused(const Result<network::Model>& made,
                           std::initializer_list<const char*> words) {
  ck_assert(!made.ok());
  for (const char* word : words) {
    ck_assert_msg(made.error().message.find(word) != std::string::npos, "no '%s' in: %s", word,
                  made.error().message.c_str());
  }
}

/// Numbers between -0.75 and 0.75, exact in binary16.
inline std::vector<float> rising(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 13) / 8 - 0.75f;
  return values;
}

}  // namespace dvnn::test
