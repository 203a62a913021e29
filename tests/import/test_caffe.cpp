// SPDX-License-Identifier: Apache-2.0
// Refusals of the front end, and how it says them.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "caffe_fixture.h"
#include "check_suite.h"
#include "run_model.h"

namespace dvnn::test::caffe_tests {

DVNN_SUITE(import_caffe);

namespace {

bool has(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

void refused(const std::string& text, const Weights& weights,
             std::initializer_list<const char*> words) {
  const auto model = ModelFiles(text, weights.net()).convert();
  ck_assert_msg(!model.ok(), "accepted: %s", text.c_str());
  for (const char* word : words) {
    ck_assert_msg(has(model.error().message, word), "no '%s' in: %s", word,
                  model.error().message.c_str());
  }
  ck_assert(!has(model.error().message, "\n"));
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

const char* const kConv = "convolution_param { num_output: 8 kernel_size: 3 }";

}  // namespace

DVNN_TEST(sizes_that_do_not_meet_again_are_told_the_multiple) {
  refused(network_text(
              3, 13, 16,
              layer("p", "Pooling", "data", "p", "pooling_param { kernel_size: 2 stride: 2 }") +
                  layer("u", "Upsample", "p", "u", "upsample_param { scale: 2 }") +
                  layer("s", "Eltwise", "u", "s", "bottom: \"data\"")),
          Weights(), {"layer 's' (Eltwise)", "try a multiple of 2, such as --size 16x14"});
}

DVNN_TEST(models_that_cannot_be_done_are_refused_by_layer) {
  const Weights conv = Weights().blob("c", 216).blob("c", 8);
  const auto one = [](const std::string& l) { return network_text(3, 16, 16, l); };
  refused(one(layer("x", "LSTM", "data", "x")), Weights(), {"'x'", "LSTM", "--outputs"});
  refused(one(layer("r", "ReLU", "data", "r") + layer("x", "LSTM", "r", "x")), Weights(),
          {"'x'", "LSTM", "cut the model before it: --outputs r"});
  refused(one(layer("c", "Convolution", "nowhere", "c", kConv)), conv, {"'c'", "nowhere"});
  refused(one(layer("c", "Convolution", "c", "c", kConv)), conv, {"'c'"});  // reads itself
  refused(one(layer("c", "Convolution", "data", "c", kConv)), Weights(), {"'c'", "blobs"});
  refused(one(layer("c", "Convolution", "data", "c", kConv)), Weights().blob("c", 215).blob("c", 8),
          {"'c'", "215", "216"});
  refused(one(layer("c", "Convolution", "data", "c",
                    "convolution_param { num_output: 8 kernel_size: 65 }")),
          conv, {"'c'", "65", "64"});
  refused(one(layer("c", "Convolution", "data", "c",
                    "convolution_param { num_output: 8 kernel_size: 3 group: 2 }")),
          conv, {"'c'", "group"});
  refused(one(layer("c", "Convolution", "data", "c",
                    "convolution_param { num_output: 4000000000 kernel_size: 3 }")),
          conv, {"'c'", "32768"});
  refused(one(layer("p", "Power", "data", "p", "power_param { power: 2 }")), Weights(),
          {"'p'", "power"});
  refused(one(layer("r", "Reshape", "data", "r", "reshape_param { shape { dim: 7 } }")), Weights(),
          {"'r'"});
  refused(one(layer("p", "Pooling", "data", "p", "pooling_param { kernel_size: 2 pad: 2 }")),
          Weights(), {"'p'", "pad"});
  refused(one(layer("f", "Permute", "data", "f", "permute_param { order: 0 order: 0 }")), Weights(),
          {"'f'"});
}

DVNN_TEST(the_vendors_limits_are_named_where_they_are_asked_for) {
  convert::ConvertOptions options;
  options.as_vendor = true;
  const auto refused_as_vendor = [&](const char* layer_name, int h, int w,
                                     std::initializer_list<const char*> words) {
    const std::string text =
        network_text(3, h, w, layer(layer_name, "Convolution", "data", layer_name, kConv));
    const Weights weights = Weights().blob(layer_name, 216).blob(layer_name, 8);
    const auto made = ModelFiles(text, weights.net()).convert(options);
    ck_assert(!made.ok());
    for (const char* word : words) ck_assert(has(made.error().message, word));
  };
  refused_as_vendor("wide", 8, 2048, {"'wide'", "width", "2048", "2047"});
  refused_as_vendor("tall", 1025, 8, {"'tall'", "height", "1025", "1024"});
}

DVNN_TEST(what_the_driver_would_refuse_becomes_strips) {
  const std::string text =
      network_text(3, 1024, 8,
                   layer("many", "Convolution", "data", "many",
                         "convolution_param { num_output: 512 kernel_size: 1 }") +
                       layer("deep", "Convolution", "many", "deep", kConv));
  const Weights weights =
      Weights().blob("many", 1536).blob("many", 512).blob("deep", 8 * 512 * 9).blob("deep", 8);
  convert::Report report;
  auto model = ModelFiles(text, weights.net()).convert({}, &report);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  int strips = 0, told = 0;
  for (const plan::StepNote& step : report.steps) {
    if (step.layers != std::vector<std::string>{"deep"}) continue;
    if (step.where != "device") continue;
    ++strips;
    told += step.why.find("unified buffer") != std::string::npos;
  }
  ck_assert_int_gt(strips, 1);
  ck_assert_int_eq(told, strips);
}

DVNN_TEST(inputs_that_make_no_sense_are_refused) {
  const std::string conv = layer("c", "Convolution", "data", "c", kConv);
  refused("name: \"t\" " + conv, Weights(), {"data"});
  refused(network_text(3, 0, 8, conv), Weights(), {"data"});
  refused(network_text(3, -5, 8, conv), Weights(), {"data"});
  refused(network_text(3, 2000000000, 2000000000, conv), Weights(), {"data"});
  refused("input: \"data\" " + conv, Weights(), {"data"});
}

DVNN_TEST(text_that_is_no_prototxt_is_refused_with_its_line) {
  refused("name: \"t\"\nlayer {\n  name: 7\n}", Weights(), {"line 3"});
  refused("{{{{", Weights(), {"line 1"});
  refused(std::string(100000, '{'), Weights(), {"line 1"});
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "unknown {";
  refused(nested, Weights(), {"'"});
}

DVNN_TEST(files_that_are_missing_or_damaged_are_named) {
  const std::string text = network_text(3, 16, 16, layer("c", "Convolution", "data", "c", kConv));
  const Weights weights = Weights().blob("c", 216).blob("c", 8);
  const auto missing =
      convert::convert_caffe("/nowhere.prototxt", "/nowhere.caffemodel", {}, nullptr);
  ck_assert(missing.error().code == ErrorCode::kNotFound);
  ModelFiles files(text, weights.net());
  ck_assert(files.convert().ok());
  ck_assert(has(
      convert::convert_caffe(files.prototxt, "/nowhere.caffemodel", {}, nullptr).error().message,
      "/nowhere.caffemodel"));
  const std::string bytes = slurp(files.caffemodel);
  for (size_t size = 0; size < bytes.size(); size += 13) {
    std::ofstream(files.caffemodel, std::ios::binary | std::ios::trunc) << bytes.substr(0, size);
    const auto model = files.convert();
    ck_assert_msg(!model.ok(), "%zu of %zu bytes were accepted", size, bytes.size());
  }
  const std::string good = slurp(files.prototxt);
  std::ofstream(files.prototxt, std::ios::trunc) << "";
  ck_assert(has(files.convert().error().message, "empty"));
}

DVNN_TEST(random_damage_never_crashes) {
  const std::string text = network_text(
      3, 16, 16,
      layer("c", "Convolution", "data", "c", kConv) + layer("r", "ReLU", "c", "c") +
          layer("p", "Pooling", "c", "p", "pooling_param { kernel_size: 2 stride: 2 }") +
          layer("f", "Flatten", "p", "f") +
          layer("i", "InnerProduct", "f", "i", "inner_product_param { num_output: 4 }") +
          layer("s", "Softmax", "i", "s"));
  const Weights weights = Weights().blob("c", 216).blob("c", 8).blob("i", 1568).blob("i", 4);
  ModelFiles files(text, weights.net());
  ck_assert(files.convert().ok());
  const std::string model = slurp(files.caffemodel);
  std::mt19937 random(2);
  for (int i = 0; i < 400; ++i) {
    std::string bad_text = text, bad_model = model;
    for (int k = 0; k < 2; ++k) {
      bad_text[random() % bad_text.size()] = "0123456789 {}:-\"ae"[random() % 18];
      bad_model[random() % 64] ^= static_cast<char>(1 << random() % 8);
    }
    std::ofstream(files.prototxt, std::ios::trunc) << (i % 2 ? bad_text : text);
    std::ofstream(files.caffemodel, std::ios::binary | std::ios::trunc)
        << (i % 2 ? model : bad_model);
    (void)files.convert().ok();  // either way; the sanitizers watch
  }
}

DVNN_TEST(old_spellings_and_unknown_fields_are_read) {
  const std::string text =
      "name: \"old\" input: \"data\" input_dim: 1 input_dim: 3 input_dim: 16 input_dim: 16 "
      "force_backward: true "
      "layers { name: \"c\" type: CONVOLUTION bottom: \"data\" top: \"c\" blobs_lr: 1 "
      "  convolution_param { num_output: 8 kernel_size: 3 shiny_new_field: 3 } } "
      "layers { name: \"r\" type: RELU bottom: \"c\" top: \"c\" } "
      "layers { name: \"t\" type: SOFTMAX_LOSS bottom: \"c\" top: \"t\" include { phase: TRAIN } "
      "} ";
  convert::Report report;
  const auto model =
      ModelFiles(text, Weights().blob("c", 216).blob("c", 8).net()).convert({}, &report);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  ck_assert_uint_eq(model.value().steps.size(), 1);
  ck_assert(!report.skipped.empty());
}

DVNN_TEST(layers_of_training_alone_are_left_out) {
  // The layer doubles what it gets; without it, the ReLU is all.
  auto steps = [](const char* rules) {
    const std::string twice = layer("c", "Convolution", "data", "data",
                                    std::string("convolution_param { num_output: 3 kernel_size: 1 "
                                                "bias_term: false } ") +
                                        rules);
    const auto model = ModelFiles(network_text(3, 8, 8, twice + layer("a", "AbsVal", "data", "a")),
                                  Weights().blob("c", 9).net())
                           .convert();
    ck_assert_msg(model.ok(), "%s: %s", rules, model.ok() ? "" : model.error().message.c_str());
    return model.value().steps.size();
  };
  const size_t all = steps(""), some = steps("phase: TRAIN");
  ck_assert_uint_gt(all, some);
  for (const char* left_out : {"include { phase: TRAIN }", "exclude { phase: TEST }", "exclude { }",
                               "exclude { phase: TRAIN } exclude { phase: TEST }"}) {
    ck_assert_msg(steps(left_out) == some, "%s", left_out);
  }
  for (const char* stays :
       {"phase: TEST", "include { phase: TEST }", "include { }", "exclude { phase: TRAIN }",
        "include { phase: TRAIN } include { phase: TEST }"}) {
    ck_assert_msg(steps(stays) == all, "%s", stays);
  }
}

DVNN_TEST(shapes_take_what_is_left) {
  auto made = [](const std::string& dims) {
    return ModelFiles(network_text(3, 4, 8,
                                   layer("a", "AbsVal", "data", "a") +
                                       layer("r", "Reshape", "a", "r",
                                             "reshape_param { shape { " + dims + "} }")),
                      Weights().net())
        .convert();
  };
  const std::pair<const char*, Shape> good[] = {{"dim: 0 dim: -1 ", {1, 96}},
                                                {"dim: 0 dim: 0 dim: -1 ", {1, 3, 32}},
                                                {"dim: 1 dim: -1 dim: 4 dim: 3 ", {1, 8, 4, 3}},
                                                {"dim: 1 dim: 12 dim: 8 ", {1, 12, 8}}};
  for (const auto& [dims, want] : good) {
    const auto model = made(dims);
    ck_assert_msg(model.ok(), "%s: %s", dims, model.ok() ? "" : model.error().message.c_str());
    const auto output = static_cast<size_t>(model.value().outputs[0].tensor);
    ck_assert_msg(model.value().tensors[output].desc.shape == want, "%s", dims);
  }
  for (const char* bad : {"dim: 1 dim: -1 dim: 7 ", "dim: 1 dim: 48 ", "dim: 1 dim: 97 ",
                          "dim: -1 dim: -1 ", "dim: 32 dim: 32 "}) {
    const auto model = made(bad);
    ck_assert_msg(!model.ok() && has(model.error().message, "'r'"), "%s", bad);
  }
}

DVNN_TEST(a_decoder_that_does_not_fit_is_refused) {
  const std::string text = network_text(3, 16, 16, layer("c", "Convolution", "data", "c", kConv));
  ModelFiles files(text, Weights().blob("c", 216).blob("c", 8).net());
  convert::ConvertOptions options;
  options.decoder = "ssd";
  const auto model = files.convert(options);
  ck_assert(!model.ok());
  ck_assert(has(model.error().message, "num_classes"));
}

// Two permutations become one, which reads what the first one reads; and a Dropout is what it
// reads. Neither makes an output of what a layer reads, nor loses one.
DVNN_TEST(outputs_are_the_blobs_that_no_layer_reads) {
  const std::string order = "permute_param { order: 0 order: 2 order: 3 order: 1 }";
  const std::string text = network_text(
      3, 16, 16,
      layer("one", "Permute", "data", "one", order) + layer("two", "Permute", "one", "two", order) +
          layer("c", "Convolution", "data", "c", kConv) + layer("r", "ReLU", "c", "r") +
          layer("d", "Dropout", "c", "d"));
  const auto made = ModelFiles(text, Weights().blob("c", 216).blob("c", 8).net()).convert({});
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  std::vector<std::string> names;
  for (const auto& output : made.value().outputs) names.push_back(output.name);
  ck_assert(names == std::vector<std::string>({"two", "r", "d"}));
}

// y = a x + y with a number per channel, as squeeze-and-excitation networks have it.
DVNN_TEST(scaled_sums_take_a_number_per_channel) {
  constexpr size_t kPixels = 16, kChannels = 3;
  const auto model =
      ModelFiles(
          network_text(kChannels, 4, 4,
                       layer("g", "Pooling", "data", "g",
                             "pooling_param { pool: AVE global_pooling: true }") +
                           layer("y", "Axpy", "g", "y", "bottom: \"data\" bottom: \"data\"")),
          Weights().net())
          .convert();
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  const std::vector<float> input = rising(kChannels * kPixels);
  std::vector<float> want = input;
  for (size_t c = 0; c < kChannels; ++c) {
    float mean = 0;
    for (size_t i = 0; i < kPixels; ++i) mean += input[c * kPixels + i] / kPixels;
    for (size_t i = 0; i < kPixels; ++i) want[c * kPixels + i] += mean * input[c * kPixels + i];
  }
  expect_close("Axpy", run_model("Axpy", model.value(), input.data()), want.data(), want.size());
}

DVNN_TEST(interpolation_puts_corners_on_corners) {
  constexpr size_t kSide = 4;
  const std::vector<float> input = rising(kSide * kSide);
  const struct {
    const char* how;
    size_t side;
    double step;  // in pixels of the input
  } cases[] = {
      {"zoom_factor: 2", 7, 0.5}, {"shrink_factor: 3", 2, 3}, {"height: 7 width: 7", 7, 0.5}};
  for (const auto& c : cases) {
    const auto model =
        ModelFiles(network_text(1, kSide, kSide,
                                layer("i", "Interp", "data", "i",
                                      std::string("interp_param { ") + c.how + " }")),
                   Weights().net())
            .convert();
    ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
    std::vector<float> want;
    for (size_t i = 0; i < c.side * c.side; ++i) {
      const double y = static_cast<double>(i / c.side) * c.step;
      const double x = static_cast<double>(i % c.side) * c.step;
      const auto y0 = static_cast<size_t>(y), x0 = static_cast<size_t>(x);
      const size_t y1 = std::min(y0 + 1, kSide - 1), x1 = std::min(x0 + 1, kSide - 1);
      const double v = y - static_cast<double>(y0), u = x - static_cast<double>(x0);
      const auto at = [&](size_t row, size_t column) {
        return double{input[row * kSide + column]};
      };
      want.push_back(static_cast<float>((1 - v) * ((1 - u) * at(y0, x0) + u * at(y0, x1)) +
                                        v * ((1 - u) * at(y1, x0) + u * at(y1, x1))));
    }
    expect_close(c.how, run_model(c.how, model.value(), input.data()), want.data(), want.size());
  }
  const auto one = [](const char* how) {
    return network_text(
        1, kSide, kSide,
        layer("i", "Interp", "data", "i", std::string("interp_param { ") + how + " }"));
  };
  refused(one("zoom_factor: 100000"), Weights(), {"'i'", "makes 300001 x 300001 pixels"});
  refused(one("pad_beg: 1"), Weights(), {"'i'", "needs a picture without pads"});
}

}  // namespace dvnn::test::caffe_tests
