// SPDX-License-Identifier: Apache-2.0
// Slots whose layers follow commands, against the same networks step by step: seeded random
// networks whose tensors share memory as those of converted models do.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../layers/named_layer.h"
#include "check_suite.h"
#include "network/model_network.h"
#include "network/slot_plan.h"

namespace dvnn::test::slot_plan_tests {

DVNN_SUITE(slot_plan);

using namespace dvnn::network;

namespace {

// 8 channels of 6 x 5 pixels each, or 16 where two lie side by side. Some commands read and write
// the same pixels as 2 rows of 15.
constexpr int kChannels = 8, kHeight = 6, kWidth = 5, kFewRows = 2, kLongRow = 15;

class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : random_(seed) {
    model_.name = "random";
    model_.producer = "test";
    tensors_.push_back(add_tensor("input", kChannels, kNone, 0));
    model_.input.tensor = tensors_[0];
    model_.input.picture.order = ChannelOrder::kBgr;
    const int steps = between(4, 18);
    for (int i = 0; i < steps; ++i) add_step();
    add_outputs();
    place();
  }
  Model model() const { return model_; }

  // Runs all layers that have their operands, then all commands, and so on: returns how often
  // there were commands.
  int fewest_lists() const {
    std::vector<bool> done(model_.steps.size());
    const auto advance = [&](StepKind kind) {
      bool any = false;
      for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < done.size(); ++i) {
          if (done[i] || model_.steps[i].kind != kind || !has_operands(model_.steps[i], done)) {
            continue;
          }
          done[i] = more = any = true;
        }
      }
      return any;
    };
    int lists = 0;
    for (bool more = true; more; lists += more) {
      advance(StepKind::kCpu);
      more = advance(StepKind::kDevice);
    }
    return lists;
  }

 private:
  static constexpr int kNone = -1;
  // Tensors of one piece of memory.
  struct Region {
    std::vector<int> tensors;
    int birth, death;
    uint64_t bytes = 0, offset = 0;
  };

  bool has_operands(const Step& step, const std::vector<bool>& done) const {
    for (size_t i = 0; i < done.size(); ++i) {
      if (!done[i] && meet(model_.steps[i].outputs[0], step.inputs)) return false;
    }
    return true;
  }
  bool meet(int written, const std::vector<int>& read) const {
    const auto range = [&](int t) {
      const TensorInfo& info = model_.tensor(t);
      return ByteRange{info.offset, info.desc.bytes()};
    };
    return std::any_of(read.begin(), read.end(), [&](int t) {
      return region_of_[static_cast<size_t>(t)] == region_of_[static_cast<size_t>(written)] &&
             range(t).meets(range(written));
    });
  }

  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  int now() const { return static_cast<int>(model_.steps.size()) + 1; }

  // Adds a tensor in a region of its own, or at byte `within` of another region.
  int add_tensor(const std::string& name, int channels, int region, uint64_t within) {
    const TensorDesc desc = {ElementType::kFloat16, Layout::kWhc8, {1, channels, kHeight, kWidth}};
    const int index = static_cast<int>(model_.tensors.size());
    model_.tensors.push_back({name, desc, Storage::kIo, within});
    if (region == kNone) {
      region = static_cast<int>(regions_.size());
      regions_.push_back({{}, now(), now()});
    }
    Region& of = regions_[static_cast<size_t>(region)];
    of.tensors.push_back(index);
    of.bytes = std::max<uint64_t>(of.bytes, within + desc.bytes());
    region_of_.push_back(region);
    return index;
  }

  // Adds the tensor's bytes as a picture of few long rows.
  int folded(int tensor) {
    const TensorInfo info = model_.tensor(tensor);
    const int region = region_of_[static_cast<size_t>(tensor)];
    const int index = add_tensor(info.name + "_folded", info.desc.shape.c(), region, info.offset);
    model_.tensors.back().desc.shape = {1, info.desc.shape.c(), kFewRows, kLongRow};
    return index;
  }

  // Adds a half of the channels as a tensor of its own.
  int half_of(int tensor) {
    const TensorInfo info = model_.tensor(tensor);
    const int region = region_of_[static_cast<size_t>(tensor)];
    const uint64_t before = between(0, 1) ? info.desc.bytes() / 2 : 0;
    return add_tensor(info.name + "_half", kChannels, region, info.offset + before);
  }

  int read(int tensor) {
    Region& region = regions_[static_cast<size_t>(region_of_[static_cast<size_t>(tensor)])];
    region.death = std::max(region.death, now());
    return tensor;
  }
  int channels(int tensor) const { return model_.tensor(tensor).desc.shape.c(); }

  // Chooses one of the newest tensors of that many channels, or of any number.
  int choose(int wanted) {
    for (int tries = 0; tries < 20; ++tries) {
      const int last = static_cast<int>(tensors_.size()) - 1;
      const int tensor = tensors_[static_cast<size_t>(std::max(0, last - between(0, 3)))];
      if (wanted == 0 || channels(tensor) == wanted) return tensor;
    }
    return tensors_[0];
  }

  void convolve(int from, int to, int m) {
    Step step;
    step.kind = StepKind::kDevice;
    step.name = "conv" + std::to_string(now());
    step.layers = {step.name};
    step.inputs = {read(from)};
    step.outputs = {to};
    device::ConvRun run;
    run.m = m;
    run.conv = device::ConvKind::kConv;
    run.weight_format = device::WeightFormat::kHalf;
    run.weight_offset = model_.weights.size();
    step.command.w = model_.tensor(from).desc.shape.w();
    step.command.h = model_.tensor(from).desc.shape.h();
    step.command.c = channels(from);
    step.command.runs = {run};
    const PackedGeometry g = device::run_geometry(run, channels(from));
    std::vector<half_t> weights(static_cast<size_t>(m * channels(from)));
    std::vector<half_t> bias(static_cast<size_t>(m));
    for (half_t& w : weights) w = float_to_half(static_cast<float>(between(-64, 64)) / 256);
    for (half_t& b : bias) b = float_to_half(static_cast<float>(between(-64, 64)) / 64);
    model_.weights.resize(model_.weights.size() + packed_weights_size(g));
    pack_weights(g, {nullptr, weights.data(), bias.data(), nullptr},
                 model_.weights.data() + run.weight_offset);
    model_.steps.push_back(step);
  }

  void compute(std::vector<int> inputs, int to) {
    const Json silu = {{"function", "swish"}, {"a", 1}, {"of", {0}}};
    const int count = static_cast<int>(inputs.size());
    Json params = {{"inputs", count}, {"steps", Json::array()}};
    if (count == 2) {
      params["steps"] = {{{"function", "sigmoid"}, {"of", {between(0, 1)}}},
                         {{"function", between(0, 1) ? "mul" : "add"}, {"of", {2, between(0, 1)}}}};
    } else if (between(0, 2) == 0) {
      params["constants"] =
          Json::array({std::vector<float>(static_cast<size_t>(channels(to)), 0.25f)});
      params["steps"] = {{{"function", "prelu"}, {"of", {0, 1}}}};
    } else if (between(0, 4) == 0) {
      params["steps"] = {{{"function", "softsign"}, {"of", {0}}}};  // follows no command
    } else {
      params["steps"] = {silu};
    }
    Step step;
    step.name = "layer" + std::to_string(now());
    step.layers = {step.name};
    for (int input : inputs) step.inputs.push_back(read(input));
    step.outputs = {to};
    step.layer = test::layer_of("Elementwise", params);
    model_.steps.push_back(step);
  }

  // Adds a step with a result of its own, or two results that later steps read as one.
  void add_step() {
    const std::string name = "t" + std::to_string(now());
    const bool pair = between(0, 4) == 0;
    if (pair) {
      const int first = add_tensor(name + "a", kChannels, kNone, 0);
      const uint64_t bytes = model_.tensor(first).desc.bytes();
      const int region = region_of_.back();
      const int second = add_tensor(name + "b", kChannels, region, bytes);
      const int both = add_tensor(name, 2 * kChannels, region, 0);
      for (int half : {first, second}) {
        make(half);
        regions_[static_cast<size_t>(region)].death = now();
        if (between(0, 1)) tensors_.push_back(half);
      }
      tensors_.push_back(both);
      return;
    }
    const int to = add_tensor(name, between(0, 2) ? kChannels : 2 * kChannels, kNone, 0);
    make(to);
    tensors_.push_back(to);
    if (channels(to) == 2 * kChannels && between(0, 1)) tensors_.push_back(half_of(to));
  }

  void make(int to) {
    const int m = channels(to), like = choose(m);
    const int other = choose(m);
    if (between(0, 1) && channels(like) == m && channels(other) == m) {
      return compute(between(0, 1) ? std::vector<int>{like, other} : std::vector<int>{like}, to);
    }
    const int from = choose(0);
    if (between(0, 2)) return convolve(from, to, m);
    const int as_read = folded(from);
    convolve(as_read, folded(to), m);
  }

  // The newest, and some of the others, which must live to the end.
  void add_outputs() {
    for (size_t i = 1; i < tensors_.size(); ++i) {
      if (i + 1 < tensors_.size() && between(0, 4)) continue;
      model_.outputs.push_back({"out" + std::to_string(i), tensors_[i]});
      read(tensors_[i]);
    }
  }

  void place() {
    for (size_t i = 0; i < regions_.size(); ++i) {
      Region& region = regions_[i];
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t k = 0; k < i; ++k) {
          const Region& o = regions_[k];
          const bool together = o.birth <= region.death && region.birth <= o.death;
          if (!together || o.offset >= region.offset + region.bytes ||
              region.offset >= o.offset + o.bytes) {
            continue;
          }
          region.offset = (o.offset + o.bytes + 15) / 16 * 16;
          moved = true;
        }
      }
      for (int t : region.tensors) model_.tensor(t).offset += region.offset;
      model_.io_bytes = std::max(model_.io_bytes, region.offset + region.bytes);
    }
  }

  std::mt19937 random_;
  Model model_;
  std::vector<int> tensors_;  // those that steps may read
  std::vector<Region> regions_;
  std::vector<int> region_of_;
};

std::shared_ptr<Network> load(const Model& model) {
  auto device = device::Device::open("soft");
  ck_assert(device.ok());
  auto network = Network::create(model, device.value());
  ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
  return network.value();
}

// A slot with layers that follow commands, or step by step.
std::unique_ptr<Slot> slot_of(const std::shared_ptr<Network>& network, bool fused) {
  if (!fused) setenv("DVNN_SOFT_UNFUSED", "1", 1);
  auto slot = network->create_slot();
  unsetenv("DVNN_SOFT_UNFUSED");
  ck_assert_msg(slot.ok(), "%s", slot.ok() ? "" : slot.error().message.c_str());
  return std::move(slot.value());
}

void fill_input(Slot* slot, unsigned seed) {
  const TensorDesc& desc = slot->network()->input_desc();
  std::mt19937 random(seed);
  std::vector<float> values(desc.shape.count());
  for (float& v : values) v = static_cast<float>(random() % 1024) / 256 - 2;
  write_nchw(values.data(), {desc, slot->input().data()});
}

std::vector<float> results_of(Slot* slot, unsigned seed, RunTimes* times = nullptr) {
  fill_input(slot, seed);
  ck_assert(slot->run(times).ok());
  std::vector<float> all;
  for (size_t i = 0; i < slot->network()->model().outputs.size(); ++i) {
    const ConstTensorView view = slot->output(i);
    std::vector<float> values(view.desc.shape.count());
    read_nchw(view, values.data());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// Returns how many CPU layers took no time of their own.
int count_followers(Slot* slot) {
  const Model& model = slot->network()->model();
  std::vector<int64_t> ns(model.steps.size(), 0);
  RunTimes times;
  times.step_ns = {ns.data(), ns.size()};
  results_of(slot, 1, &times);
  int followers = 0;
  for (size_t i = 0; i < ns.size(); ++i) {
    ck_assert(model.steps[i].kind == StepKind::kCpu || ns[i] > 0);
    followers += model.steps[i].kind == StepKind::kCpu && ns[i] == 0;
  }
  return followers;
}

}  // namespace

// Each step's rounding is within 2^-11 of a value of at most about 16, and no step enlarges a
// difference more than four times: larger differences mean another tensor's values.
DVNN_TEST(results_are_those_of_single_steps_but_for_roundings) {
  const int rounds = dvnn_rounds(300);
  int followers = 0;
  for (int i = 0; i < rounds; ++i) {
    const Model model = RandomNetwork(dvnn_seed(1) + static_cast<unsigned>(i)).model();
    const auto network = load(model);
    const auto fused = slot_of(network, true), plain = slot_of(network, false);
    for (unsigned seed : {3u, 4u}) {
      const auto found = results_of(fused.get(), seed), wanted = results_of(plain.get(), seed);
      for (size_t k = 0; k < wanted.size(); ++k) {
        ck_assert_msg(std::fabs(found[k] - wanted[k]) <= 0.02f + 0.01f * std::fabs(wanted[k]),
                      "network %d: element %zu is %g, not %g", i, k, double{found[k]},
                      double{wanted[k]});
      }
    }
    followers += count_followers(fused.get());
    ck_assert_int_eq(count_followers(plain.get()), 0);
  }
  ck_assert_int_gt(followers, rounds);  // most of the networks have some
}

int count_lists(const std::vector<Act>& acts) {
  int lists = 0;
  for (size_t i = 0; i < acts.size(); ++i) {
    const bool first = i == 0 || acts[i - 1].step->kind == StepKind::kCpu;
    lists += first && acts[i].step->kind == StepKind::kDevice;
  }
  return lists;
}

DVNN_TEST(commands_are_in_as_few_lists_as_can_be) {
  const int rounds = dvnn_rounds(300);
  int joined = 0;
  for (int i = 0; i < rounds; ++i) {
    const RandomNetwork random(dvnn_seed(3) + static_cast<unsigned>(i));
    const auto network = load(random.model());
    const auto& of = static_cast<const ModelNetwork&>(*network);
    const int lists = count_lists(plan_slot(of, false).acts);
    ck_assert_msg(lists == random.fewest_lists(), "network %d: %d lists, not %d", i, lists,
                  random.fewest_lists());
    std::vector<Act> acts = plan_slot(of, true).acts;
    const int with_followers = count_lists(acts);
    std::sort(acts.begin(), acts.end(), [](const Act& a, const Act& b) { return a.step < b.step; });
    ck_assert_int_le(with_followers, count_lists(acts));
    joined += with_followers < count_lists(acts);
  }
  ck_assert_int_gt(4 * joined, rounds);
}

// Slots share memory for what lives within one command list, and lists of several slots may run at
// once.
DVNN_TEST(slots_that_run_at_once_have_the_results_of_each_alone) {
  constexpr unsigned kSlots = 5;
  const int rounds = dvnn_rounds(60);
  std::atomic<int> wrong{0};
  int sharing = 0, lending = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto network = load(RandomNetwork(dvnn_seed(2) + static_cast<unsigned>(i)).model());
    const SlotPlan plan = plan_slot(static_cast<const ModelNetwork&>(*network), true);
    sharing += plan.transient_bytes > 0;
    lending += plan.layers_bytes > 0;
    std::vector<std::unique_ptr<Slot>> slots;
    std::vector<std::vector<float>> alone;
    for (unsigned k = 0; k < kSlots; ++k) {
      slots.push_back(slot_of(network, true));
      alone.push_back(results_of(slots.back().get(), k));
    }
    std::vector<std::thread> threads;
    for (unsigned k = 0; k < kSlots; ++k) {
      threads.emplace_back([&, k] {
        for (int run = 0; run < 8; ++run) wrong += results_of(slots[k].get(), k) != alone[k];
      });
    }
    for (std::thread& thread : threads) thread.join();
    ck_assert_msg(wrong == 0, "network %d: %d runs differ", i, wrong.load());
  }
  ck_assert_int_gt(2 * sharing, rounds);
  ck_assert_int_gt(2 * lending, rounds);
}

// The search names the step that would be the first one by itself, and leaves the input.
DVNN_TEST(the_first_layer_that_is_not_finite_is_found) {
  int found = 0;
  for (unsigned i = 0; i < 40; ++i) {
    const Model model = RandomNetwork(100 + i).model();
    const auto network = load(model);
    const auto fused = slot_of(network, true), plain = slot_of(network, false);
    for (Slot* slot : {fused.get(), plain.get()}) {
      fill_input(slot, 5);
      const half_t infinite = float_to_half(std::numeric_limits<float>::infinity());
      std::memcpy(slot->input().data(), &infinite, sizeof infinite);
    }
    const auto where = fused->first_not_finite(), wanted = plain->first_not_finite();
    ck_assert(where.ok() && wanted.ok());
    dvnn_assert_text(where.value(), wanted.value().c_str());
    ck_assert(std::equal(fused->input().begin(), fused->input().end(), plain->input().begin()));
    found += !where.value().empty();
  }
  ck_assert_int_gt(found, 20);
}

DVNN_TEST(a_layer_that_is_refused_is_named_where_it_follows_a_command) {
  for (unsigned i = 0; i < 40; ++i) {
    Model model = RandomNetwork(200 + i).model();
    for (Step& step : model.steps) {
      if (step.kind == StepKind::kDevice) continue;
      step.layer = test::layer_of(
          "Elementwise", {{"inputs", step.inputs.size()},
                          {"constants", {{1, 2, 3}}},
                          {"steps", {{{"function", "add"}, {"of", {0, step.inputs.size()}}}}}});
      auto device = device::Device::open("soft");
      auto network = Network::create(model, device.value());
      ck_assert(network.ok());
      const auto slot = network.value()->create_slot();
      ck_assert(!slot.ok());
      ck_assert(slot.error().message.find("'" + step.name + "'") != std::string::npos);
      break;
    }
  }
}

}  // namespace dvnn::test::slot_plan_tests
