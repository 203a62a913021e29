// SPDX-License-Identifier: Apache-2.0
// Networks with a memory: which outputs are states, and that they follow computations in float64
// over many frames. Loops of known length, and convolutions by long kernels, which such models
// have.
#include <cmath>
#include <limits>
#include <random>

#include "check_suite.h"
#include "network/finite_watch.h"
#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::states_tests {

DVNN_SUITE(import_states);

namespace {

using network::Model;

Model converted(OnnxModel* model, convert::ConvertOptions options = {},
                convert::Report* report = nullptr) {
  auto made = convert_model(*model, options, report);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  return std::move(made.value());
}

std::vector<float> random_values(size_t count, std::mt19937* random) {
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> values(count);
  for (float& v : values) v = value(*random);
  return values;
}

// A stream on a network.
class Stream {
 public:
  explicit Stream(Model model) {
    auto made = network::Network::create(std::move(model), device::Device::open("soft").value());
    ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
    network_ = made.value();
    slot_ = std::move(network_->create_slot().value());
    memory_ = std::make_unique<network::StreamMemory>(network_);
    live_ = std::make_unique<network::LiveInputs>(network_->model());
  }
  std::vector<float> run(const std::vector<float>& frame) {
    write_nchw(frame.data(), {network_->input_desc(), slot_->input().data()});
    std::string warning;
    ck_assert(watch_.run(slot_.get(), memory_.get(), nullptr, &warning, live_.get()).ok());
    std::vector<float> values(slot_->output(0).desc.shape.count());
    read_nchw(slot_->output(0), values.data());
    return values;
  }
  network::StreamMemory& memory() { return *memory_; }
  network::LiveInputs& live() { return *live_; }

 private:
  std::shared_ptr<network::Network> network_;
  std::unique_ptr<network::Slot> slot_;
  std::unique_ptr<network::StreamMemory> memory_;
  std::unique_ptr<network::LiveInputs> live_;
  network::FiniteWatch watch_;
};

constexpr int64_t kChannels = 8, kSide = 4;

// A convolutional gated unit of 1x1 kernels: z = sigmoid(W [x, h] + b), h' = (1 - z) h + z x.
OnnxModel gated(const std::string& in, const std::string& out, bool open) {
  OnnxModel model({1, kChannels, kSide, kSide}, 12);
  model.input(in, open ? std::vector<int64_t>{0, 0, 0, 0}
                       : std::vector<int64_t>{1, kChannels, kSide, kSide});
  std::string h = in;
  if (open) {
    model.node("Shape", {"x"}, {"size"}).node("Expand", {in, "size"}, {"h_wide"});
    h = "h_wide";
  }
  model.weights("w", {kChannels, 2 * kChannels, 1, 1}).weights("b", {kChannels});
  model.node("Concat", {"x", h}, {"both"}).set("axis", 1);
  model.node("Conv", {"both", "w", "b"}, {"gate"}).node("Sigmoid", {"gate"}, {"z"});
  model.node("Sub", {"x", h}, {"change"}).node("Mul", {"z", "change"}, {"part"});
  model.node("Add", {h, "part"}, {out}).node("Mul", {out, "two"}, {"y"});
  model.floats("two", {2});
  model.output("y").output(out);
  return model;
}

// The same in float64.
class Gated {
 public:
  explicit Gated(OnnxModel* model) {
    for (const auto& tensor : model->graph().initializer()) {
      if (tensor.name() == "w") w_.assign(tensor.float_data().begin(), tensor.float_data().end());
      if (tensor.name() == "b") b_.assign(tensor.float_data().begin(), tensor.float_data().end());
    }
  }
  std::vector<float> run(const std::vector<float>& x) {
    constexpr size_t kPixels = kSide * kSide, kC = kChannels;
    std::vector<double> next(h_);
    std::vector<float> y(h_.size());
    for (size_t p = 0; p < kPixels; ++p) {
      for (size_t c = 0; c < kC; ++c) {
        double gate = b_[c];
        for (size_t i = 0; i < kC; ++i) {
          gate += w_[c * 2 * kC + i] * double{x[i * kPixels + p]} +
                  w_[c * 2 * kC + kC + i] * h_[i * kPixels + p];
        }
        const size_t at = c * kPixels + p;
        next[at] = h_[at] + (x[at] - h_[at]) / (1 + std::exp(-gate));
        y[at] = static_cast<float>(2 * next[at]);
      }
    }
    h_ = next;
    return y;
  }

 private:
  std::vector<double> w_, b_;
  std::vector<double> h_ = std::vector<double>(kChannels * kSide * kSide);
};

double worst(const std::vector<float>& a, const std::vector<float>& b) {
  ck_assert_uint_eq(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::fabs(double{a[i]} - double{b[i]}));
  return most;
}

}  // namespace

DVNN_TEST(states_are_found_by_usual_names) {
  const std::pair<const char*, const char*> usual[] = {{"r1i", "r1o"},
                                                       {"state", "stateN"},
                                                       {"h", "hn"},
                                                       {"h0", "hn"},
                                                       {"c_0", "c_n"},
                                                       {"cache_in", "cache_out"},
                                                       {"in_cache", "out_cache"},
                                                       {"input_state", "output_state"},
                                                       {"past_key", "present_key"},
                                                       {"cache", "new_cache"}};
  for (const auto& [in, out] : usual) {
    OnnxModel onnx = gated(in, out, false);
    convert::Report report;
    const Model model = converted(&onnx, {}, &report);
    ck_assert_msg(model.extra_inputs.size() == 1 && model.extra_inputs[0].is_state(), "%s", in);
    dvnn_assert_text(model.extra_inputs[0].name, in);
    ck_assert_uint_eq(model.outputs.size(), 1);
    dvnn_assert_text(model.outputs[0].name, "y");
    bool told = false;
    for (const std::string& note : report.warnings) {
      told |= note.find(std::string("takes '") + out + "' as '" + in + "' (found by its name)") !=
              std::string::npos;
    }
    ck_assert_msg(told, "%s", in);
  }
  // Other names are named by hand, and an output that is asked for is shown.
  OnnxModel onnx = gated("memory", "y2", false);
  convert::ConvertOptions options;
  options.import.states = {{"y2", "memory", {}}};
  options.import.outputs = {"y", "y2"};
  const Model model = converted(&onnx, options);
  ck_assert_uint_eq(model.outputs.size(), 2);
  ck_assert_int_eq(model.extra_inputs[0].next, model.outputs[1].tensor);
}

DVNN_TEST(a_state_follows_float64_over_300_frames) {
  for (const bool open : {false, true}) {
    OnnxModel onnx = gated("h", "hn", open);
    Gated wanted(&onnx);
    Stream stream(converted(&onnx));
    std::mt19937 random(7);
    double first = 0, last = 0;
    for (int frame = 0; frame < 300; ++frame) {
      const auto x = random_values(kChannels * kSide * kSide, &random);
      const double error = worst(stream.run(x), wanted.run(x));
      // Values up to 2 have 11 significand bits: half a unit is 2^-11. State, gate and result are
      // each rounded once in a frame, and gates forget what is older.
      ck_assert_msg(error < 8 * std::ldexp(1, -11), "frame %d: off by %g", frame, error);
      if (frame < 30) first = std::max(first, error);
      if (frame >= 270) last = std::max(last, error);
    }
    ck_assert_msg(last < 2 * first, "the error grows from %g to %g", first, last);
    // Zeros again.
    stream.memory().begin_anew();
    Gated anew(&onnx);
    const auto x = random_values(kChannels * kSide * kSide, &random);
    ck_assert(worst(stream.run(x), anew.run(x)) < std::ldexp(1, -9));
  }
}

DVNN_TEST(an_input_may_be_the_next_state) {
  OnnxModel onnx({1, 3, 4, 4}, 12);
  onnx.input("before", {1, 3, 4, 4});
  onnx.node("Sub", {"x", "before"}, {"y"}).node("Identity", {"x"}, {"now"});
  onnx.output("y").output("now");
  convert::ConvertOptions options;
  options.import.states = {{"now", "before", {}}};
  Stream stream(converted(&onnx, options));
  std::vector<float> before(48, 0.0f);
  for (int i = 1; i < 6; ++i) {
    std::vector<float> frame = rising(48), wanted(48);
    for (size_t k = 0; k < frame.size(); ++k) {
      frame[k] += static_cast<float>(i * i) / 4;
      wanted[k] = frame[k] - before[k];
    }
    const auto y = stream.run(frame);
    ck_assert(worst(y, wanted) == 0);
    before = frame;
  }
}

DVNN_TEST(states_that_are_none_are_refused_by_name) {
  const struct {
    import::StateOption state;
    const char* words;
  } refusals[] = {
      {{"hn", "nothing", {}}, "--state hn=nothing: the model has no input 'nothing', it has 'x'"},
      {{"nothing", "h", {}}, "--state nothing=h: the model makes no such result"},
      {{"both", "h", {}}, "state 'h' is 1x8x4x4, its next value 'both' is 1x16x4x4"},
  };
  for (const auto& refusal : refusals) {
    OnnxModel onnx = gated("h", "hn", false);
    convert::ConvertOptions options;
    options.import.states = {refusal.state};
    expect_refused(convert_model(onnx, options), {refusal.words});
  }
  OnnxModel onnx = gated("h", "hn", false);
  convert::ConvertOptions options;
  options.import.states = {{"hn", "h", {}}, {"y", "h", {}}};
  expect_refused(convert_model(onnx, options), {"--state y=h: the input is another state already"});
  options.import.states = {{"hn", "h", {}}};
  options.import.inputs = {{"h", {}, {0}}};
  expect_refused(convert_model(onnx, options), {"--set gives the same input a value"});
  options = {};
  options.import.live = {"g"};
  expect_refused(convert_model(onnx, options), {"--live g: the model has no such input"});
  // Values given by hand are no state, whatever the name.
  options.import.live = {};
  options.import.inputs = {{"h", {}, {0}}};
  ck_assert(converted(&onnx, options).extra_inputs.empty());
}

DVNN_TEST(live_inputs_are_read_in_each_frame) {
  OnnxModel onnx = gated("h", "hn", false);
  convert::ConvertOptions options;
  options.import.live = {"h"};
  Model model = converted(&onnx, options);
  ck_assert(!network::has_states(model));
  dvnn_assert_text(network::live_inputs_text(model), "'h'");
  Stream stream(std::move(model));
  Gated wanted(&onnx);
  std::mt19937 random(3);
  const auto x = random_values(kChannels * kSide * kSide, &random);
  std::vector<float> h(x.size(), 0.0f);
  for (int frame = 0; frame < 3; ++frame) {
    stream.live().set(0, h.data());
    h = wanted.run(x);  // 2 h
    ck_assert(worst(stream.run(x), h) < std::ldexp(1, -8));
    for (float& v : h) v /= 2;
  }
}

DVNN_TEST(loops_of_known_length_are_unrolled) {
  // a = a / 2 + i, five times; each a's row sums are collected.
  OnnxModel body({2, 3}, 12);
  body.graph().clear_input();
  body.input("i", {}).input("go", {}).input("a", {2, 3}).floats("half", {0.5});
  body.node("Mul", {"a", "half"}, {"a_half"}).node("Cast", {"i"}, {"number"}).set("to", 1);
  body.node("Add", {"a_half", "number"}, {"a_next"});
  body.node("ReduceSum", {"a_next"}, {"sums"}).list("axes", {1}).set("keepdims", 0);
  body.node("Identity", {"go"}, {"go_on"});
  body.output("go_on").output("a_next").output("sums");
  OnnxModel onnx({2, 3}, 12);
  onnx.ints("five", {5}, true).integers("yes", 9, {}, {1});
  onnx.node("Loop", {"five", "yes", "x"}, {"last", "all"}).branch("body", body.graph());
  onnx.output("all");
  const auto x = rising(6);
  std::vector<float> wanted;
  std::vector<double> a(x.begin(), x.end());
  for (int i = 0; i < 5; ++i) {
    for (double& v : a) v = v / 2 + i;
    wanted.push_back(static_cast<float>(a[0] + a[1] + a[2]));
    wanted.push_back(static_cast<float>(a[3] + a[4] + a[5]));
  }
  const auto have = run_model("loop", converted(&onnx), x.data());
  expect_close("loop", have, wanted.data(), wanted.size(), kFloatTolerance);

  // What the input shows decides how often.
  OnnxModel unknown({1}, 12);
  unknown.node("Cast", {"x"}, {"count"}).set("to", 7).weights("v", {2, 3});
  unknown.node("Loop", {"count", "", "v"}, {"last", "all"}).branch("body", body.graph());
  unknown.output("last");
  expect_refused(convert_model(unknown), {"(Loop, opset 12)", "only a Loop of known length"});
  OnnxModel endless({2, 3}, 12);
  endless.ints("many", {1000000}, true);
  endless.node("Loop", {"many", "", "x"}, {"last", "all"}).branch("body", body.graph());
  endless.output("last");
  expect_refused(convert_model(endless),
                 {"repeats 5 operations 1000000 times, the limit is 20000"});
}

DVNN_TEST(scans_are_unrolled_in_both_directions) {
  for (const bool backwards : {false, true}) {
    OnnxModel body({3}, 12);
    body.graph().clear_input();
    body.input("s", {3}).input("row", {3}).floats("part", {0.75});
    body.node("Mul", {"s", "part"}, {"kept"}).node("Add", {"kept", "row"}, {"s_next"});
    body.node("Identity", {"s_next"}, {"shown"}).output("s_next").output("shown");
    OnnxModel onnx({4, 3}, 12);
    onnx.floats("zeros", {0, 0, 0});
    onnx.node("Scan", {"zeros", "x"}, {"last", "all"}).branch("body", body.graph());
    onnx.set("num_scan_inputs", 1).list("scan_input_directions", {backwards});
    onnx.list("scan_output_axes", {1}).output("all");
    const auto x = rising(12);
    std::vector<float> wanted(12);
    std::vector<double> s(3);
    for (size_t i = 0; i < 4; ++i) {
      for (size_t k = 0; k < 3; ++k) {
        s[k] = 0.75 * s[k] + x[(backwards ? 3 - i : i) * 3 + k];
        wanted[k * 4 + i] = static_cast<float>(s[k]);
      }
    }
    const auto have = run_model("scan", converted(&onnx), x.data());
    expect_close("scan", have, wanted.data(), wanted.size(), kFloatTolerance);
  }
}

DVNN_TEST(bodies_that_do_not_fit_are_refused) {
  for (const int64_t count : {std::numeric_limits<int64_t>::min(), int64_t{0}, int64_t{3}}) {
    OnnxModel body({3}, 12);
    body.graph().clear_input();
    body.input("s", {3}).input("row", {3}).node("Add", {"s", "row"}, {"next"}).output("next");
    OnnxModel scan({4, 3}, 12);
    scan.floats("zeros", {0, 0, 0});
    scan.node("Scan", {"zeros", "x"}, {"last"}).branch("body", body.graph()).output("last");
    scan.set("num_scan_inputs", count);
    expect_refused(convert_model(scan), {"Scan", "its body does not fit"});
  }
  OnnxModel body({3}, 12);
  body.graph().clear_input();
  body.input("i", {}).input("go", {}).input("a", {3}).node("Identity", {"go"}, {"on"});
  body.node("Add", {"a", "a"}, {"next"}).output("on").output("next");
  OnnxModel loop({3}, 12);
  loop.floats("many", {std::numeric_limits<float>::quiet_NaN()});
  loop.node("Loop", {"many", "", "x"}, {"last"}).branch("body", body.graph());
  const auto x = rising(3);
  const auto have =
      run_model("no number of repetitions", converted(&loop.output("last")), x.data());
  expect_close("no number of repetitions", have, x.data(), x.size(), kFloatTolerance);
}

DVNN_TEST(a_line_is_convolved_by_a_long_kernel) {
  const struct {
    int64_t length, kernel, stride, pad;
  } cases[] = {{512, 256, 128, 0}, {400, 100, 30, 7}, {333, 65, 2, 32}};
  for (const auto& c : cases) {
    OnnxModel onnx({1, 2, c.length}, 12);
    onnx.weights("w", {3, 2, c.kernel}, -0.125f, 0.125f).weights("b", {3});
    onnx.node("Conv", {"x", "w", "b"}, {"y"}).list("strides", {c.stride});
    onnx.list("pads", {c.pad, c.pad}).output("y");
    const auto& w = onnx.graph().initializer(0).float_data();
    const auto& b = onnx.graph().initializer(1).float_data();
    const auto x = rising(static_cast<size_t>(2 * c.length));
    std::vector<float> wanted;
    const int64_t made = (c.length + 2 * c.pad - c.kernel) / c.stride + 1;
    for (int o = 0; o < 3; ++o) {
      for (int64_t t = 0; t < made; ++t) {
        double sum = b[o];
        for (int64_t ch = 0; ch < 2; ++ch) {
          for (int64_t k = 0; k < c.kernel; ++k) {
            const int64_t at = t * c.stride + k - c.pad;
            if (at < 0 || at >= c.length) continue;
            sum += double{w[static_cast<int>((o * 2 + ch) * c.kernel + k)]} *
                   double{x[static_cast<size_t>(ch * c.length + at)]};
          }
        }
        wanted.push_back(static_cast<float>(sum));
      }
    }
    // Weights of 11 significand bits.
    expect_close("long", run_model("long", converted(&onnx), x.data()), wanted.data(),
                 wanted.size(), std::ldexp(1, -9));
  }
}

}  // namespace dvnn::test::states_tests
