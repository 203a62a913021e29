// SPDX-License-Identifier: Apache-2.0
// States that go from one run to the next, and what happens when runs are given up.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check_suite.h"
#include "leaky_network.h"
#include "network/dvn_file.h"
#include "network/finite_watch.h"
#include "network/stream_memory.h"

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

// Windows over results, against lists of all rows.

namespace {

void expect_layout(const Shape& input, const Shape& result, const std::vector<size_t>& want) {
  const auto layout = row_layout(input, result);
  ck_assert_msg(layout.ok(), "%s", layout.ok() ? "" : layout.error().message.c_str());
  const RowLayout& l = layout.value();
  ck_assert_msg(std::vector<size_t>({l.outer, l.rows, l.inner, l.added}) == want,
                "%s of %s: %zu %zu %zu %zu", input.to_string().c_str(), result.to_string().c_str(),
                l.outer, l.rows, l.inner, l.added);
}

}  // namespace

DVNN_TEST(rows_lie_along_the_axis_that_differs) {
  expect_layout({1, 1, 76, 32}, {1, 1, 8, 32}, {1, 76, 32, 8});
  expect_layout({1, 16, 96}, {1, 1, 1, 96}, {1, 16, 96, 1});
  expect_layout({1, 96, 16}, {1, 96}, {96, 16, 1, 1});
  expect_layout({1, 40, 1, 98}, {1, 40, 1, 2}, {40, 98, 1, 2});
  expect_layout({1, 16, 3, 8, 8}, {1, 3, 8, 8}, {1, 16, 192, 1});
  expect_layout({5}, {1, 1}, {1, 5, 1, 1});
  expect_layout({4, 4}, {4}, {1, 4, 4, 1});         // of two axes, the outermost
  expect_layout({1, 32}, {1, 40}, {1, 32, 1, 40});  // the newest of many
  // Whole inputs, whatever their shapes.
  expect_layout({1, 9216}, {1, 256, 6, 6}, {1, 1, 9216, 1});
  expect_layout({1, 3, 4, 4}, {1, 3, 4, 4}, {1, 1, 48, 1});
}

DVNN_TEST(what_differs_in_more_is_refused) {
  const Shape inputs[] = {{1, 76, 32}, {16, 96}, {1, 8}};
  const Shape results[] = {{1, 8, 40}, {2, 2, 96}, {4, 4}};
  for (size_t i = 0; i < 3; ++i) {
    const auto layout = row_layout(inputs[i], results[i]);
    ck_assert(!layout.ok());
    ck_assert_msg(layout.error().message.find("nor rows of it") != std::string::npos, "%s",
                  layout.error().message.c_str());
  }
}

DVNN_TEST(a_window_has_the_newest_rows) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  const auto between = [&](size_t low, size_t high) { return low + random() % (high - low + 1); };
  for (int round = 0; round < dvnn_rounds(300); ++round) {
    RowLayout layout;
    layout.outer = between(1, 3), layout.inner = between(1, 4);
    layout.rows = between(1, 9), layout.added = between(1, 12);
    RowWindow window(layout);
    // Element (row, o, i) of all that came; a number that tells all three.
    const auto number = [](size_t row, size_t o, size_t i) {
      return static_cast<float>(1 + row * 100 + o * 10 + i);
    };
    for (size_t came = 0; came < 8 * layout.added;) {
      std::vector<float> result;
      for (size_t o = 0; o < layout.outer; ++o) {
        for (size_t row = came; row < came + layout.added; ++row) {
          for (size_t i = 0; i < layout.inner; ++i) result.push_back(number(row, o, i));
        }
      }
      window.add(result.data());
      came += layout.added;
      ck_assert_msg(window.is_full() == (came >= layout.rows), "seed %u: %zu of %zu", seed, came,
                    layout.rows);
      size_t at = 0;
      for (size_t o = 0; o < layout.outer; ++o) {
        for (size_t row = 0; row < layout.rows; ++row) {
          for (size_t i = 0; i < layout.inner; ++i, ++at) {
            const bool there = came + row >= layout.rows;
            const float want = there ? number(came + row - layout.rows, o, i) : 0;
            ck_assert_msg(window.input()[at] == want, "seed %u: element %zu is %g, not %g", seed,
                          at, double(window.input()[at]), double(want));
          }
        }
      }
    }
  }
}

}  // namespace dvnn::test::stream_memory_tests
