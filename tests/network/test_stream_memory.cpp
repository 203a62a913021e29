// SPDX-License-Identifier: Apache-2.0
// States that go from one run to the next, and what happens when runs are given up.
#include "network/stream_memory.h"

#include <cmath>
#include <limits>
#include <random>

#include "check_suite.h"
#include "leaky_network.h"
#include "network/dvn_file.h"
#include "network/finite_watch.h"

namespace dvnn::test::stream_memory_tests {

DVNN_SUITE(stream_memory);

using namespace dvnn::network;

namespace {

std::shared_ptr<Network> leaky(float factor = 0.5f) {
  auto network = Network::create(leaky_network(factor), device::Device::open("soft").value());
  ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
  return network.value();
}

void write(Slot* slot, float value) {
  const TensorDesc& desc = slot->network()->input_desc();
  const std::vector<float> values(desc.shape.count(), value);
  write_nchw(values.data(), {desc, slot->input().data()});
}

float sum_of(const Slot& slot) {
  std::vector<float> values(slot.output(0).desc.shape.count());
  read_nchw(slot.output(0), values.data());
  return values.back();
}

float run(StreamMemory* memory, Slot* slot, float frame) {
  FiniteWatch watch;
  std::string warning;
  write(slot, frame);
  ck_assert(watch.run(slot, memory, nullptr, &warning).ok());
  return sum_of(*slot);
}

}  // namespace

DVNN_TEST(a_state_goes_on_in_whichever_slot_runs_next) {
  const auto network = leaky();
  const auto first = network->create_slot(), second = network->create_slot();
  StreamMemory memory(network), other(network);
  double sum = 0, of_other = 0;
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    // Two streams share the slots.
    Slot* const slot = random() % 2 ? first.value().get() : second.value().get();
    const auto frame = static_cast<float>(random() % 256);
    const bool ours = random() % 3 != 0;
    double* const wanted = ours ? &sum : &of_other;
    *wanted = 0.5 * *wanted + frame;
    ck_assert_double_eq(run(ours ? &memory : &other, slot, frame),
                        static_cast<double>(static_cast<float>(*wanted)));
    *wanted = static_cast<float>(*wanted);
  }
  memory.begin_anew();
  ck_assert_double_eq(run(&memory, first.value().get(), 3), 3);
  ck_assert_uint_eq(memory.state_bytes(), 768);
}

DVNN_TEST(a_run_that_was_given_up_leaves_no_state) {
  const auto network = leaky();
  const auto late = network->create_slot(), next = network->create_slot();
  StreamMemory memory(network);
  write(late.value().get(), 100);
  const uint64_t given_up = memory.begin_run(late.value().get());
  ck_assert(late.value()->run().ok());
  ck_assert_double_eq(run(&memory, next.value().get(), 8), 8);
  memory.end_run(*late.value(), given_up);
  ck_assert_double_eq(run(&memory, next.value().get(), 8), 12);
  // The same if the stream has begun anew since.
  const uint64_t flushed = memory.begin_run(late.value().get());
  memory.begin_anew();
  memory.end_run(*late.value(), flushed);
  ck_assert_double_eq(run(&memory, next.value().get(), 8), 8);
}

DVNN_TEST(states_that_are_not_finite_begin_anew) {
  const auto network = leaky();
  const auto slot = network->create_slot();
  StreamMemory memory(network);
  FiniteWatch watch;
  std::string warning;
  write(slot.value().get(), std::numeric_limits<float>::infinity());
  ck_assert(watch.run(slot.value().get(), &memory, nullptr, &warning).ok());
  ck_assert_msg(warning.find("first at layer 'leak'") != std::string::npos, "%s", warning.c_str());
  ck_assert_double_eq(run(&memory, slot.value().get(), 5), 5);
}

DVNN_TEST(states_that_do_not_fit_are_refused_in_a_sentence) {
  const struct {
    const char* words;
    void (*spoil)(Model*);
  } forgeries[] = {
      {"is not a per-frame tensor", [](Model* m) { m->extra_inputs[0].tensor = 7; }},
      {"lies in another input's memory", [](Model* m) { m->extra_inputs[0].tensor = 0; }},
      {"lies in another input's memory", [](Model* m) { m->tensors[1].offset = 380; }},
      {"extra input 'before' has another input's name",
       [](Model* m) { m->extra_inputs.push_back(m->extra_inputs[0]); }},
      {"extra input 'again' lies in another input's memory",
       [](Model* m) {
         m->extra_inputs.push_back(m->extra_inputs[0]);
         m->extra_inputs[1].name = "again";
       }},
      {"extra input 'frame' has another input's name",
       [](Model* m) { m->extra_inputs[0].name = "frame"; }},
      {"state of shape 1x3x8x8, its next value has shape 1x3x8x7",
       [](Model* m) {
         m->tensors.push_back(m->tensors[2]);
         m->tensors.back().desc.shape[3] = 7;
         m->extra_inputs[0].next = 3;
       }},
      {"its next value is not a per-frame tensor", [](Model* m) { m->extra_inputs[0].next = 3; }},
      {"state of shape 1x3x8x8, its next value has shape 1x3x64",
       [](Model* m) {
         m->tensors.push_back(m->tensors[2]);
         m->tensors.back().desc.shape = {1, 3, 64};
         m->extra_inputs[0].next = 3;
       }},
      {"the limit is 256", [](Model* m) { m->extra_inputs.resize(257, m->extra_inputs[0]); }},
      {"control characters", [](Model* m) { m->extra_inputs[0].name = "a\nb"; }},
  };
  ck_assert(validate(leaky_network()).ok());
  for (const auto& forgery : forgeries) {
    Model model = leaky_network();
    forgery.spoil(&model);
    const Status status = validate(model);
    ck_assert_msg(!status.ok(), "%s", forgery.words);
    const std::string& text = status.error().message;
    ck_assert_msg(text.find(forgery.words) != std::string::npos, "%s", text.c_str());
    ck_assert(text.find('\n') == std::string::npos);
  }
}

DVNN_TEST(a_description_keeps_states_and_live_inputs) {
  Model model = leaky_network();
  model.extra_inputs.push_back({"live", 0});
  auto again = model_from_json(model_to_json(model), nullptr);
  ck_assert(again.ok());
  const auto& inputs = again.value().extra_inputs;
  ck_assert_uint_eq(inputs.size(), 2);
  ck_assert(inputs[0].name == "before" && inputs[0].tensor == 1 && inputs[0].next == 2);
  ck_assert(inputs[1].name == "live" && !inputs[1].is_state());
  ck_assert(live_inputs_text(again.value()) == "'live'");
  Json damaged = model_to_json(model);
  damaged["extra_inputs"][0]["next"] = -5;
  ck_assert(!model_from_json(damaged, nullptr).ok());
  damaged["extra_inputs"] = 7;
  ck_assert(!model_from_json(damaged, nullptr).ok());
}

}  // namespace dvnn::test::stream_memory_tests
