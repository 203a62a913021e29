// SPDX-License-Identifier: Apache-2.0
#include "network/network.h"

#include <unistd.h>

#include <atomic>
#include <functional>
#include <limits>
#include <thread>

#include "../layers/named_layer.h"
#include "check_suite.h"
#include "grid_network.h"
#include "network/dvn_file.h"
#include "network/finite_watch.h"

namespace dvnn::test::network_tests {

DVNN_SUITE(network);

using namespace dvnn::network;

namespace {

std::shared_ptr<Network> grid() {
  auto device = device::Device::open("soft");
  ck_assert_msg(device.ok(), "%s", device.ok() ? "" : device.error().message.c_str());
  auto network = Network::create(test::grid_network(), device.value());
  ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
  return network.value();
}

// A slot with outputs that are infinite or not, by its run's settings.
class ToldSlot : public Slot {
 public:
  ToldSlot(std::shared_ptr<Network> network, bool is_finite, std::function<void()> during = {})
      : Slot(std::move(network)), is_finite_(is_finite), during_(std::move(during)) {}
  Span<uint8_t> input() const override { return {input_, sizeof input_}; }
  Status run(RunTimes*) override {
    has_results_ = true;
    if (during_) std::exchange(during_, {})();
    return {};
  }
  // The search overwrites the run's results, because steps share memory.
  Result<std::string> first_not_finite() override {
    has_results_ = false;
    return std::string("where");
  }
  bool has_results() const { return has_results_; }
  ConstTensorView output(size_t) const override {
    const float value = is_finite_ ? 1 : std::numeric_limits<float>::infinity();
    for (float& result : results_) result = value;
    return {{ElementType::kFloat32, Layout::kNchw, {1, 1, 1, 2}},
            reinterpret_cast<const uint8_t*>(results_)};
  }

 private:
  const bool is_finite_;
  std::function<void()> during_;
  bool has_results_ = false;
  mutable uint8_t input_[4]{};
  mutable float results_[2]{};
};

// Fills the slot's input with red in one cell and runs it; the confidences of "red" by cell.
std::vector<float> run_cell(Slot* slot, int cell) {
  const TensorDesc& desc = slot->network()->input_desc();
  std::vector<float> picture(3 * 16 * 16, 0.0f);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      picture[static_cast<size_t>((cell / 4 * 4 + y) * 16 + cell % 4 * 4 + x)] = 1;
    }
  }
  write_nchw(picture.data(), {desc, slot->input().data()});
  ck_assert(slot->run().ok());
  std::vector<float> scores(32), red(16);
  read_nchw(slot->output(1), scores.data());
  for (size_t i = 0; i < 16; ++i) red[i] = scores[2 * i + 1];
  return red;
}

bool only(const std::vector<float>& red, int cell) {
  for (int i = 0; i < 16; ++i) {
    if ((red[static_cast<size_t>(i)] > 0.5f) != (i == cell)) return false;
  }
  return true;
}

}  // namespace

DVNN_TEST(the_output_follows_the_input) {
  auto slot = grid()->create_slot();
  ck_assert(slot.ok());
  for (int cell = 0; cell < 16; ++cell) ck_assert(only(run_cell(slot.value().get(), cell), cell));
}

// The device has a copy of its own, and a model's weights are most of its memory.
DVNN_TEST(a_loaded_network_holds_its_weights_once) {
  ck_assert(!test::grid_network().weights.empty());
  ck_assert_uint_eq(grid()->model().weights.capacity(), 0);
}

DVNN_TEST(pixels_give_the_outputs_of_their_tensor) {
  // All levels and, as the network is small, random pictures; the same bits either way, and either
  // way in any order.
  const auto network = grid();
  ck_assert(network->takes_pixels());
  auto made = network->create_slot();
  ck_assert(made.ok());
  Slot& slot = *made.value();
  const TensorDesc& desc = network->input_desc();
  const TensorDesc bytes = {ElementType::kUint8, desc.layout, desc.shape};
  const InputSpec& picture = network->model().input.picture;
  const size_t count = static_cast<size_t>(desc.shape.elements()), plane = count / 3;
  unsigned state = 1;
  for (int round = 0; round < 8; ++round) {
    std::vector<float> levels(count), values(count);
    for (size_t i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      levels[i] = round == 0 ? static_cast<float>(i % 256) : static_cast<float>(state >> 24);
      values[i] = (levels[i] - picture.mean[i / plane]) * picture.scale[i / plane];
    }
    std::vector<std::vector<uint8_t>> results;
    for (InputKind kind : {InputKind::kTensor, InputKind::kPixels}) {
      if (kind == InputKind::kPixels) {
        slot.expect_pixels();
        write_nchw(levels.data(), {bytes, slot.input().data()});
      } else {
        slot.expect_tensor();
        write_nchw(values.data(), {desc, slot.input().data()});
      }
      ck_assert(slot.run().ok());
      std::vector<uint8_t> all;
      for (size_t i = 0; i < network->model().outputs.size(); ++i) {
        const ConstTensorView view = slot.output(i);
        all.insert(all.end(), view.data, view.data + view.desc.bytes());
      }
      results.push_back(all);
    }
    ck_assert(results[0] == results[1]);
  }
}

DVNN_TEST(networks_say_when_they_take_no_pixels) {
  auto device = device::Device::open("soft");
  ck_assert(device.ok());
  // Something else than a convolution reads the input.
  Model model = test::grid_network();
  Step step = model.steps.back();
  step.name = step.layers[0] = "spy";
  step.layer = test::layer_of("Permute", {{"order", {0, 2, 3, 1}}});
  step.inputs = {model.input.tensor};
  const TensorDesc desc = {ElementType::kFloat32, Layout::kNchw, {1, 16, 16, 3}};
  model.tensors.push_back({"spy", desc, Storage::kIo, model.io_bytes});
  model.io_bytes += static_cast<uint64_t>(desc.bytes());
  step.outputs = {static_cast<int>(model.tensors.size()) - 1};
  model.steps.push_back(step);
  auto network = Network::create(model, device.value());
  ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
  ck_assert(!network.value()->takes_pixels());
}

DVNN_TEST(slots_run_side_by_side) {
  const auto network = grid();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto slot = network->create_slot();
      for (int i = 0; i < 50; ++i) {
        if (!slot.ok() || !only(run_cell(slot.value().get(), (i + t) % 16), (i + t) % 16)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ck_assert_int_eq(wrong, 0);
}

DVNN_TEST(users_of_one_file_share_a_network) {
  std::string path = "/tmp/dvnn-net-XXXXXX";
  close(mkstemp(&path[0]));
  ck_assert(write_dvn(test::grid_network(), path).ok());
  auto first = Network::load({path, ""}, "soft"), second = Network::load({path, ""}, "soft");
  ck_assert(first.ok() && second.ok());
  ck_assert_ptr_eq(first.value().get(), second.value().get());
  // A file that was rewritten is another network.
  ck_assert(write_dvn(test::grid_network(), path).ok());
  auto third = Network::load({path, ""}, "soft");
  ck_assert_ptr_ne(first.value().get(), third.value().get());
  unlink(path.c_str());
}

DVNN_TEST(the_device_is_chosen_or_its_absence_explained) {
  const auto missing = device::Device::open("/nowhere/libdv.so");
  ck_assert(!missing.ok());
  ck_assert(missing.error().message.find("DVNN_DEVICE") != std::string::npos);
  const auto foreign = device::Device::open("libz.so.1");
  ck_assert(!foreign.ok());
  ck_assert(foreign.error().message.find("libz.so.1") != std::string::npos);
  ck_assert(device::Device::open("auto").ok());
}

DVNN_TEST(a_step_that_a_layer_refuses_is_named) {
  Model model = test::grid_network();
  model.steps.back().layer = test::layer_of("Softmax", {{"axis", 5}});
  auto device = device::Device::open("soft");
  auto network = Network::create(model, device.value());
  ck_assert(network.ok());
  const auto slot = network.value()->create_slot();
  ck_assert(!slot.ok());
  ck_assert(slot.error().message.find("'conf'") != std::string::npos);
}

// A second run ends while the first is under way: which of them reports, and with the layer or not.
DVNN_TEST(what_is_not_finite_is_told_by_who_knows_where) {
  const std::shared_ptr<Network> network = grid();
  for (const bool first_is_finite : {false, true}) {
    FiniteWatch watch;
    StreamMemory memory(network);
    std::string of_first, of_second, of_third;
    ToldSlot second(network, false), third(network, false);
    ToldSlot first(network, first_is_finite,
                   [&] { ck_assert(watch.run(&second, &memory, nullptr, &of_second).ok()); });
    ck_assert(watch.run(&first, &memory, nullptr, &of_first).ok());
    ck_assert(watch.run(&third, &memory, nullptr, &of_third).ok());
    ck_assert(of_second.empty());
    // The frame gets its results even after a search for the layer.
    ck_assert(first.has_results());
    ck_assert(of_first.find("not finite") == 0);
    const bool says_where = of_first.find("first at layer 'where'") != std::string::npos;
    ck_assert(says_where == !first_is_finite);
    ck_assert(of_third.empty());
  }
}

// Where it begins is known of a later run only if each run's input is kept; it is told once.
DVNN_TEST(later_runs_say_where_if_each_keeps_its_input) {
  const std::shared_ptr<Network> network = grid();
  for (const auto keeps : {FiniteWatch::Keeps::kFirst, FiniteWatch::Keeps::kEvery}) {
    FiniteWatch watch(keeps);
    StreamMemory memory(network);
    ToldSlot good(network, true), bad(network, false);
    for (int i = 0; i < 3; ++i) {
      std::string nothing;
      ck_assert(watch.run(&good, &memory, nullptr, &nothing).ok());
      dvnn_assert_text(nothing, "");
    }
    std::string why, again;
    ck_assert(watch.run(&bad, &memory, nullptr, &why).ok());
    ck_assert(why.find("not finite") == 0);
    const bool says_where = why.find("first at layer 'where'") != std::string::npos;
    ck_assert(says_where == (keeps == FiniteWatch::Keeps::kEvery));
    ck_assert(watch.run(&bad, &memory, nullptr, &again).ok());
    dvnn_assert_text(again, "");
  }
}

}  // namespace dvnn::test::network_tests
