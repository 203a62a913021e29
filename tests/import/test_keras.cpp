// SPDX-License-Identifier: Apache-2.0
// Small Keras models on the software device against scalar references in Keras' own order
// (H, W, C), and what is refused.
//
// Tolerance: see test_numerics.cpp.
#include "base/json.h"
#include "keras_fixture.h"
#include "run_model.h"

namespace dvnn::test::keras_tests {

DVNN_SUITE(import_keras);

using json = dvnn::Json;

namespace {

// A picture in Keras' order.
struct Picture {
  int h, w, c;
  std::vector<float> v;
  Picture(int height, int width, int channels)
      : h(height), w(width), c(channels), v(static_cast<size_t>(height * width * channels)) {}
  float& at(int y, int x, int k) { return v[static_cast<size_t>((y * w + x) * c + k)]; }
  float get(int y, int x, int k) const {
    const bool inside = y >= 0 && x >= 0 && y < h && x < w;
    return inside ? v[static_cast<size_t>((y * w + x) * c + k)] : 0;
  }
};

Picture random_picture(int h, int w, int c) {
  Picture p(h, w, c);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> value(-1, 1);
  for (float& v : p.v) v = value(random);
  return p;
}

std::vector<float> channels_first(const Picture& p) {
  std::vector<float> out;
  for (int k = 0; k < p.c; ++k) {
    for (int y = 0; y < p.h; ++y) {
      for (int x = 0; x < p.w; ++x) out.push_back(p.get(y, x, k));
    }
  }
  return out;
}

// TensorFlow's "same": pads before = total / 2.
int pad_before(int size, int kernel, int stride, bool same) {
  if (!same) return 0;
  const int out = (size + stride - 1) / stride;
  return std::max((out - 1) * stride + kernel - size, 0) / 2;
}

int outputs(int size, int kernel, int stride, bool same) {
  return same ? (size + stride - 1) / stride : (size - kernel) / stride + 1;
}

// kernel: (ky, kx, in, out); depthwise: (ky, kx, in, multiplier).
Picture conv(const Picture& in, const std::vector<float>& kernel, int k, int out_c, int stride,
             bool same, bool depthwise = false) {
  Picture out(outputs(in.h, k, stride, same), outputs(in.w, k, stride, same),
              depthwise ? in.c * out_c : out_c);
  const int top = pad_before(in.h, k, stride, same), left = pad_before(in.w, k, stride, same);
  for (int y = 0; y < out.h; ++y) {
    for (int x = 0; x < out.w; ++x) {
      for (int j = 0; j < k; ++j) {
        for (int i = 0; i < k; ++i) {
          for (int c = 0; c < in.c; ++c) {
            const float v = in.get(y * stride + j - top, x * stride + i - left, c);
            for (int o = 0; o < out_c; ++o) {
              const float w = kernel[static_cast<size_t>(((j * k + i) * in.c + c) * out_c + o)];
              out.at(y, x, depthwise ? c * out_c + o : o) += v * w;
            }
          }
        }
      }
    }
  }
  return out;
}

void expect(const char* what, const KerasModel& keras, const Picture& in,
            const std::vector<float>& want, const json& architecture = nullptr,
            const char* version = "2.4.0") {
  convert::Report report;
  auto model = convert_model(keras, architecture, version, &report);
  ck_assert_msg(model.ok(), "%s: %s", what, model.ok() ? "" : model.error().message.c_str());
  const std::vector<float> first = channels_first(in);
  expect_close(what, run_reference(what, *report.imported, first.data()), want.data(), want.size(),
               kFloatTolerance);
  expect_close(what, run_model(what, std::move(model.value()), first.data()), want.data(),
               want.size());
}

json shaped(const char* name, int h, int w, int c, json more) {
  more["name"] = name;
  more["batch_input_shape"] = {nullptr, h, w, c};
  return more;
}

}  // namespace

DVNN_TEST(convolutions_follow_tensorflow) {
  const Picture in = random_picture(9, 12, 3);
  for (const char* padding : {"same", "valid"}) {
    for (int stride : {1, 2}) {
      const bool same = std::string(padding) == "same";
      KerasModel plain;
      plain.layer(
          "Conv2D",
          shaped("c", 9, 12, 3,
                 {{"padding", padding}, {"strides", {stride, stride}}, {"use_bias", false}}));
      plain.weights("c", "kernel:0", {3, 3, 3, 10});
      expect("Conv2D", plain, in, channels_first(conv(in, plain.values(0), 3, 10, stride, same)));
      KerasModel depthwise;
      depthwise.layer("Conv2D", shaped("c", 9, 12, 3, {{"use_bias", false}}));
      depthwise.layer(
          "DepthwiseConv2D",
          {{"name", "d"}, {"padding", padding}, {"strides", stride}, {"use_bias", false}});
      depthwise.weights("c", "kernel:0", {1, 1, 3, 8})
          .weights("d", "depthwise_kernel:0", {3, 3, 8, 1});
      const Picture first = conv(in, depthwise.values(0), 1, 8, 1, false);
      expect("DepthwiseConv2D", depthwise, in,
             channels_first(conv(first, depthwise.values(1), 3, 1, stride, same, true)));
    }
  }
  KerasModel separable;
  separable.layer("SeparableConv2D",
                  shaped("s", 9, 12, 3, {{"padding", "same"}, {"use_bias", false}}));
  separable.weights("s", "depthwise_kernel:0", {3, 3, 3, 2})
      .weights("s", "pointwise_kernel:0", {1, 1, 6, 5});
  const Picture middle = conv(in, separable.values(0), 3, 2, 1, true, true);
  expect("SeparableConv2D", separable, in,
         channels_first(conv(middle, separable.values(1), 1, 5, 1, false)));
}

// A sequence is a picture of one row.
DVNN_TEST(sequences_are_convolved_and_pooled) {
  const Picture in = random_picture(1, 24, 3);
  auto sequence = [](json more) {
    more["name"] = "s";
    more["batch_input_shape"] = {nullptr, 24, 3};
    return more;
  };
  auto along_the_row = [&](const std::vector<float>& kernel, int k, int out_c, int left,
                           int dilation, int length) {
    Picture out(1, length, out_c);
    for (int x = 0; x < length; ++x) {
      for (int i = 0; i < k; ++i) {
        for (int c = 0; c < 3; ++c) {
          for (int o = 0; o < out_c; ++o) {
            out.at(0, x, o) += in.get(0, x + i * dilation - left, c) *
                               kernel[static_cast<size_t>((i * 3 + c) * out_c + o)];
          }
        }
      }
    }
    return out;
  };
  KerasModel same;
  same.layer("Conv1D", sequence({{"padding", "same"}, {"strides", {1}}, {"use_bias", false}}));
  same.weights("s", "kernel:0", {5, 3, 8});
  expect("Conv1D", same, in, channels_first(along_the_row(same.values(0), 5, 8, 2, 1, 24)));
  KerasModel causal;
  causal.layer("Conv1D", sequence({{"padding", "causal"}, {"use_bias", false}}));
  causal.weights("s", "kernel:0", {3, 3, 8});
  expect("causal", causal, in, channels_first(along_the_row(causal.values(0), 3, 8, 2, 1, 24)));

  KerasModel pooled;
  pooled.layer("MaxPooling1D", sequence({{"pool_size", {2}}, {"strides", {2}}}))
      .layer("GlobalAveragePooling1D", {{"name", "g"}});
  std::vector<float> want(3, 0.0f);
  for (int x = 0; x < 24; x += 2) {
    for (int c = 0; c < 3; ++c) {
      want[static_cast<size_t>(c)] += std::max(in.get(0, x, c), in.get(0, x + 1, c)) / 12;
    }
  }
  expect("MaxPooling1D", pooled, in, want);
}

DVNN_TEST(transposed_convolutions_double_the_size) {
  // "same", stride 2: output pixel 2 i + j - 1 takes input pixel i by kernel row j of 4.
  const Picture in = random_picture(5, 6, 3);
  KerasModel m;
  m.layer("Conv2DTranspose",
          shaped("t", 5, 6, 3, {{"padding", "same"}, {"strides", {2, 2}}, {"use_bias", false}}));
  m.weights("t", "kernel:0", {4, 4, 2, 3});  // y, x, out, in
  Picture out(10, 12, 2);
  for (int y = 0; y < in.h; ++y) {
    for (int x = 0; x < in.w; ++x) {
      for (int j = 0; j < 4; ++j) {
        for (int i = 0; i < 4; ++i) {
          const int oy = 2 * y + j - 1, ox = 2 * x + i - 1;
          if (oy < 0 || ox < 0 || oy >= out.h || ox >= out.w) continue;
          for (int o = 0; o < 2; ++o) {
            for (int c = 0; c < 3; ++c) {
              out.at(oy, ox, o) +=
                  in.get(y, x, c) * m.values(0)[static_cast<size_t>(((j * 4 + i) * 2 + o) * 3 + c)];
            }
          }
        }
      }
    }
  }
  expect("Conv2DTranspose", m, in, channels_first(out));
}

DVNN_TEST(flattened_pictures_keep_keras_order) {
  // Every output of the dense layer is one element of the picture, in Keras' order.
  const Picture in = random_picture(3, 4, 3);
  KerasModel m;
  m.layer("Activation", shaped("a", 3, 4, 3, {{"activation", "relu"}}))
      .layer("Flatten", {{"name", "f"}});
  m.layer("Dense", {{"name", "d"}, {"use_bias", false}});
  std::vector<float> identity(36 * 36, 0.0f);
  for (size_t i = 0; i < 36; ++i) identity[i * 37] = 1;
  m.array("d", "kernel:0", {36, 36}, identity);
  std::vector<float> want = in.v;
  for (float& v : want) v = std::max(v, 0.0f);
  expect("Flatten and Dense", m, in, want);
  KerasModel alone;
  alone.layer("Activation", shaped("a", 3, 4, 3, {{"activation", "relu"}}))
      .layer("Flatten", {{"name", "f"}});
  expect("Flatten", alone, in, want);
  KerasModel reshaped;
  reshaped.layer("Activation", shaped("a", 3, 4, 3, {{"activation", "relu"}}));
  reshaped.layer("Reshape", {{"name", "r"}, {"target_shape", {-1, 6}}});
  expect("Reshape", reshaped, in, want);
}

DVNN_TEST(functional_and_nested_models_are_walked) {
  const Picture in = random_picture(6, 6, 3);
  KerasModel m;
  m.weights("c", "kernel:0", {1, 1, 3, 3})
      .weights("inner", "kernel:0", {1, 1, 3, 3}, -0.5f, 0.5f, "nest");
  auto input = [](const char* name) {
    return json{{"class_name", "InputLayer"},
                {"name", name},
                {"inbound_nodes", json::array()},
                {"config", {{"name", name}, {"batch_input_shape", {nullptr, 6, 6, 3}}}}};
  };
  auto node = [](std::initializer_list<const char*> from) {
    json references = json::array();
    for (const char* name : from) references.push_back({name, 0, 0, json::object()});
    return json::array({references});
  };
  const json conv_config = {{"use_bias", false}, {"padding", "same"}};
  json c = conv_config, inner = conv_config;
  c["name"] = "c";
  inner["name"] = "inner";
  const json nested = {{"name", "nest"},
                       {"layers",
                        {input("i"),
                         {{"class_name", "Conv2D"},
                          {"name", "inner"},
                          {"config", inner},
                          {"inbound_nodes", node({"i"})}}}},
                       {"input_layers", {{"i", 0, 0}}},
                       {"output_layers", {{"inner", 0, 0}}}};
  const json model = {
      {"class_name", "Functional"},
      {"config",
       {{"name", "outer"},
        {"layers",
         {input("x"),
          {{"class_name", "Conv2D"}, {"name", "c"}, {"config", c}, {"inbound_nodes", node({"x"})}},
          {{"class_name", "Functional"},
           {"name", "nest"},
           {"config", nested},
           {"inbound_nodes", node({"c"})}},
          {{"class_name", "Add"},
           {"name", "sum"},
           {"config", {{"name", "sum"}}},
           {"inbound_nodes", node({"c", "nest"})}}}},
        {"input_layers", {{"x", 0, 0}}},
        {"output_layers", {{"sum", 0, 0}}}}}};
  const Picture first = conv(in, m.values(0), 1, 3, 1, true);
  Picture want = conv(first, m.values(1), 1, 3, 1, true);
  for (size_t i = 0; i < want.v.size(); ++i) want.v[i] += first.v[i];
  expect("nested", m, in, channels_first(want), model);
}

DVNN_TEST(keras_1_names_are_known) {
  const Picture in = random_picture(8, 8, 3);
  KerasModel m;
  m.layer("Convolution2D", shaped("c", 8, 8, 3,
                                  {{"nb_filter", 4},
                                   {"nb_row", 3},
                                   {"nb_col", 3},
                                   {"border_mode", "same"},
                                   {"subsample", {2, 2}},
                                   {"bias", false},
                                   {"dim_ordering", "tf"}}));
  m.weights("c", "c_W", {3, 3, 3, 4});
  const json list = {{"class_name", "Sequential"}, {"config", m.layers}};
  expect("Convolution2D", m, in, channels_first(conv(in, m.values(0), 3, 4, 2, true)), list,
         nullptr);
}

// As sensors and autoencoders have: no picture at all.
DVNN_TEST(vectors_are_inputs_too) {
  KerasModel m;
  m.layer("Dense", {{"name", "d"}, {"batch_input_shape", {nullptr, 5}}, {"activation", "relu"}});
  m.layer("BatchNormalization", {{"name", "n"}, {"scale", false}, {"center", false}});
  m.layer("Dense", {{"name", "e"}, {"use_bias", false}});
  m.weights("d", "kernel:0", {5, 4}).weights("d", "bias:0", {4});
  m.weights("n", "moving_mean:0", {4}).weights("n", "moving_variance:0", {4}, 0.5f, 1.5f);
  m.weights("e", "kernel:0", {4, 3});
  const std::vector<float> in = {0.5f, -1, 0.25f, 2, -0.75f};
  std::vector<float> want(3), middle(4);
  for (size_t o = 0; o < 4; ++o) {
    middle[o] = m.values(1)[o];
    for (size_t i = 0; i < 5; ++i) middle[o] += in[i] * m.values(0)[i * 4 + o];
    middle[o] = (std::max(middle[o], 0.0f) - m.values(2)[o]) / std::sqrt(m.values(3)[o] + 1e-3f);
    for (size_t k = 0; k < 3; ++k) want[k] += middle[o] * m.values(4)[o * 3 + k];
  }
  auto model = convert_model(m);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  const network::Model& made = model.value();
  dvnn_assert_text(made.tensor(made.input.tensor).desc.shape.to_string(), "1x5");
  expect_close("vector", run_model("vector", std::move(model.value()), in.data()), want.data(), 3);
  KerasModel open;
  open.layer("Dense", {{"name", "d"}, {"batch_input_shape", {nullptr, nullptr}}});
  expect_refused(convert_model(open), {"'d'", "--size"});
}

DVNN_TEST(what_cannot_be_is_named) {
  KerasModel unknown;
  unknown.layer("Lambda", shaped("l", 8, 8, 3, json::object()));
  expect_refused(convert_model(unknown), {"'l'", "Lambda", "--layer-types"});
  KerasModel none;
  none.layer("Conv2D", shaped("c", 8, 8, 3, json::object()));
  expect_refused(convert_model(none), {"'c'", "Conv2D", "kernel"});
  KerasModel bias;
  bias.layer("Conv2D", shaped("c", 8, 8, 3, json::object())).weights("c", "kernel:0", {3, 3, 3, 4});
  expect_refused(convert_model(bias), {"'c'", "weights 1"});
  KerasModel open;
  open.layer("Conv2D", {{"name", "c"}, {"batch_input_shape", {nullptr, nullptr, nullptr, 3}}});
  expect_refused(convert_model(open), {"--size"});
  KerasModel first;
  first.layer("Conv2D", shaped("c", 8, 8, 3, {{"data_format", "channels_first"}}));
  first.weights("c", "kernel:0", {3, 3, 3, 4});
  expect_refused(convert_model(first), {"channels_first"});
  expect_refused(
      convert_model(KerasModel(), {{"class_name", "Sequential"}, {"config", json::array()}}),
      {"list of layers"});
  auto text = convert::convert_keras("/dev/null", {}, nullptr);
  ck_assert(!text.ok());
}

DVNN_TEST(sequences_end_where_they_are_told_to) {
  KerasModel m;
  m.layer("LeakyReLU", shaped("a", 4, 4, 3, {{"alpha", 0.5}}));
  m.layer("Dropout", {{"name", "d"}, {"rate", 0.5}}).layer("ReLU", {{"name", "r"}});
  const TemporaryPath file;
  m.write(file.path);
  convert::ConvertOptions options;
  options.import.outputs = {"d"};
  auto model = convert::convert_keras(file.path, options, nullptr);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  const std::vector<float> input = rising(48);
  std::vector<float> want = input;
  for (float& value : want) value = value < 0 ? value / 2 : value;
  expect_close("until d", run_model("until d", std::move(model.value()), input.data()), want.data(),
               want.size());
  options.import.outputs = {"x"};
  expect_refused(convert::convert_keras(file.path, options, nullptr),
                 {"--outputs x", "no such layer", "'a'"});
  options.import.outputs = {"a", "d"};
  expect_refused(convert::convert_keras(file.path, options, nullptr),
                 {"a sequence of layers has one result"});
}

// Weights of another model, or an option of another kind, would make another network of it.
DVNN_TEST(an_architecture_that_its_weights_contradict_is_refused) {
  const struct {
    json more;
    const char* says;
  } cases[] = {{{{"filters", 5}}, "filters is 5, and its weights are made for 4"},
               {{{"filters", "4"}}, "filters is \"4\""},
               {{{"groups", 3}}, "groups is 3, and its weights are made for 1"},
               {{{"kernel_size", {3, 1}}}, "kernel_size is not that of its weights, 3 and 3"},
               {{{"kernel_size", 5}}, "kernel_size is not that of its weights"},
               {{{"kernel_size", "x"}}, "kernel_size is not that of its weights"},
               {{{"use_bias", "no"}}, "use_bias is \"no\", and must be true or false"},
               {{{"data_format", 5}}, "5 is not supported (channels_last is)"}};
  for (const auto& c : cases) {
    json config = {{"use_bias", false}, {"filters", 4}, {"kernel_size", {3, 3}}, {"groups", 1}};
    config.update(c.more);
    KerasModel m;
    m.layer("Conv2D", shaped("c", 8, 8, 3, config)).weights("c", "kernel:0", {3, 3, 3, 4});
    expect_refused(convert_model(m), {"'c' (Conv2D)", c.says});
  }
  KerasModel slope;
  slope.layer("LeakyReLU", shaped("l", 8, 8, 3, {{"alpha", "0.1"}}));
  expect_refused(convert_model(slope), {"alpha is \"0.1\", and must be a number"});
  KerasModel dense;
  dense.layer("Flatten", shaped("f", 2, 2, 3, json::object()));
  dense.layer("Dense", {{"name", "d"}, {"units", 7}, {"use_bias", false}});
  expect_refused(convert_model(dense.weights("d", "kernel:0", {12, 5})),
                 {"units is 7, and its weights are made for 5"});
}

}  // namespace dvnn::test::keras_tests
