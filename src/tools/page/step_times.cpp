// SPDX-License-Identifier: Apache-2.0
#include "tools/page/step_times.h"

#include <algorithm>
#include <random>

#include "tools/timing.h"

namespace dvnn::tools {

namespace {

constexpr int kWarmUps = 2, kRuns = 10;

bool is_command(const network::Model& model, size_t step) {
  return model.steps[step].kind == network::StepKind::kDevice;
}

// Runs a slot on random numbers, and collects medians.
class Stopwatch {
 public:
  explicit Stopwatch(network::Slot* slot)
      : slot_(slot), input_(slot->network()->input_desc()), numbers_(input_.shape.count()) {
    std::mt19937 random(1);
    for (float& n : numbers_) n = static_cast<float>(random() % 256) / 256;
  }

  // Calls run(ns) several times, which writes each step's time. Returns their medians,
  // milliseconds.
  template <typename Run>
  Result<std::vector<double>> time(size_t steps, Run&& run) {
    std::vector<std::vector<double>> ms(steps);
    std::vector<int64_t> ns(steps);
    for (int i = 0; i < kWarmUps + kRuns; ++i) {
      // Steps may have reused the input's memory.
      write_nchw(numbers_.data(), {input_, slot_->input().data()});
      std::fill(ns.begin(), ns.end(), 0);
      DVNN_TRY(run(Span<int64_t>(ns)));
      if (i < kWarmUps) continue;
      for (size_t k = 0; k < steps; ++k) ms[k].push_back(static_cast<double>(ns[k]) / 1e6);
    }
    std::vector<double> medians;
    for (auto& of_step : ms) medians.push_back(median(std::move(of_step)));
    return medians;
  }

 private:
  network::Slot* const slot_;
  const TensorDesc& input_;
  std::vector<float> numbers_;
};

// Gives commands the times that they take each by itself, made less in proportion until they are
// `all_ms` together: by itself, each has the latency of an interrupt and a thread that wakes.
void share_out(double all_ms, const network::Model& model, const std::vector<double>& apart,
               std::vector<double>* ms) {
  double sum = 0;
  for (size_t i = 0; i < apart.size(); ++i) sum += is_command(model, i) ? apart[i] : 0;
  for (size_t i = 0; i < apart.size(); ++i) {
    if (is_command(model, i) && sum > 0) (*ms)[i] = apart[i] * all_ms / sum;
  }
}

}  // namespace

Result<std::vector<double>> measure_steps(const std::shared_ptr<network::Network>& network) {
  const network::Model& model = network->model();
  const size_t count = model.steps.size();
  DVNN_ASSIGN(const auto slot, network->create_slot());
  Stopwatch watch(slot.get());
  std::vector<double> commands_ms;
  DVNN_ASSIGN(std::vector<double> ms, watch.time(count, [&](Span<int64_t> ns) -> Status {
    network::RunTimes times;
    times.step_ns = ns;
    DVNN_TRY(slot->run(&times));
    commands_ms.push_back(static_cast<double>(times.device_us) / 1e3);
    return {};
  }));
  double told = 0;
  for (size_t i = 0; i < count; ++i) told += is_command(model, i) ? ms[i] : 0;
  if (told > 0) return ms;
  DVNN_ASSIGN(const auto apart,
              watch.time(count, [&](Span<int64_t> ns) { return slot->time_apart(ns); }));
  share_out(median(commands_ms), model, apart, &ms);
  return ms;
}

}  // namespace dvnn::tools
