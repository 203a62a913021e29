// SPDX-License-Identifier: Apache-2.0
#include "tools/page/step_times.h"

#include <algorithm>
#include <random>

#include "tools/timing.h"

namespace dvnn::tools {

Result<std::vector<double>> measure_steps(const std::shared_ptr<network::Network>& network) {
  constexpr int kWarmUps = 2, kRuns = 10;
  DVNN_ASSIGN(const auto slot, network->create_slot());
  const TensorDesc& input = network->input_desc();
  std::mt19937 random(1);
  std::vector<float> numbers(input.shape.count());
  for (float& n : numbers) n = static_cast<float>(random() % 256) / 256;
  const size_t count = network->model().steps.size();
  std::vector<std::vector<double>> ms(count);
  std::vector<int64_t> ns(count);
  for (int i = 0; i < kWarmUps + kRuns; ++i) {
    // Steps may have reused the input's memory.
    write_nchw(numbers.data(), {input, slot->input().data()});
    std::fill(ns.begin(), ns.end(), 0);
    network::RunTimes times;
    times.step_ns = ns;
    DVNN_TRY(slot->run(&times));
    if (i < kWarmUps) continue;
    for (size_t k = 0; k < count; ++k) ms[k].push_back(static_cast<double>(ns[k]) / 1e6);
  }
  std::vector<double> medians;
  for (auto& of_step : ms) medians.push_back(median(std::move(of_step)));
  return medians;
}

}  // namespace dvnn::tools
