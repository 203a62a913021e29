// SPDX-License-Identifier: Apache-2.0
// Attributes of CPU layers: to JSON and back, and the shapes that they give.
#include "layers/attributes.h"

#include <algorithm>
#include <map>
#include "base/json.h"
#include "check_suite.h"
#include "named_layer.h"

namespace dvnn::test::attributes_tests {

DVNN_SUITE(layer_attributes);

using namespace dvnn::layers;
using json = dvnn::Json;

namespace {

struct Sample {
  json params;
  std::vector<Shape> inputs;
  std::vector<int64_t> dims;  // of the result; empty: the type does not say
};

// Every parameter that is written, with another value than its default where it has one.
std::map<std::string, Sample> samples() {
  const json window = {{"method", "average"}, {"kernel_w", 2},  {"kernel_h", 3},
                       {"stride_w", 4},       {"stride_h", 5},  {"pad_w", 1},
                       {"pad_h", 2},          {"global", true}, {"counts_pads", false}};
  const json convolution = {{"kernel_w", 1},     {"kernel_h", 2},      {"stride_w", 3},
                            {"stride_h", 4},     {"dilation_w", 5},    {"dilation_h", 6},
                            {"pad_left", 7},     {"pad_top", 8},       {"groups", 2},
                            {"weights", {1, 2}}, {"transposed", true}, {"bias", {3}}};
  const json priors = {{"min_sizes", {8.5}}, {"max_sizes", {16}}, {"aspect_ratios", {2}},
                       {"flip", false},      {"clip", true},      {"variances", {0.5}},
                       {"img_w", 64},        {"img_h", 32},       {"layer_w", 8},
                       {"layer_h", 4},       {"step_w", 8},       {"step_h", 4},
                       {"offset", 0.25}};
  const json detections = {{"num_classes", 3},
                           {"share_location", false},
                           {"background_label_id", 1},
                           {"nms_threshold", 0.5},
                           {"nms_top_k", 7},
                           {"nms_eta", 0.5},
                           {"keep_top_k", 9},
                           {"variance_encoded_in_target", true},
                           {"code_type", "corner_size"},
                           {"confidence_threshold", 0.25}};
  const Shape picture = {1, 8, 4, 6};
  const std::vector<int64_t> same = {1, 8, 4, 6};
  const json chain = {{"inputs", 2},
                      {"constants", {{0.5, 1, 1, 1, 1, 1, 1, 2}}},
                      {"wide", true},
                      {"steps",
                       {{{"function", "clip"}, {"a", -1}, {"b", 6}, {"of", {0}}},
                        {{"function", "prelu"}, {"of", {3, 2}}},
                        {{"function", "sub"}, {"of", {4, 1}}}}}};
  return {
      {"ArgReduce",
       {{{"operation", "min"}, {"axis", 2}, {"keep", false}, {"last", true}},
        {picture},
        {1, 8, 6}}},
      {"Attention",
       {{{"sequences", 2},
         {"heads", 2},
         {"size", 3},
         {"value_size", 4},
         {"scale", 0.5},
         {"first", {0, 1, 0}},
         {"step", {3, 4, 4}},
         {"places", {5, 0, 1, 2, 3, 4}}},
        {{1, 8, 1, 6}, {1, 8, 1, 6}, {1, 8, 1, 6}, {2, 1, 3, 3}},
        {1, 8, 1, 6}}},
      {"Border",
       {{{"before", {0, 1, 2, 0}}, {"after", {0, 0, -1, 3}}, {"mode", "edge"}, {"value", 0.5}},
        {picture},
        {1, 9, 5, 9}}},
      {"CumSum", {{{"axis", 3}, {"exclusive", true}, {"reverse", true}}, {picture}, same}},
      {"Gather", {{{"axis", 1}}, {picture, {3, 2}}, {1, 3, 2, 4, 6}}},
      {"GridSample",
       {{{"mode", "cubic"}, {"padding", "reflection"}, {"align_corners", true}},
        {picture, {1, 2, 3, 2}},
        {1, 8, 2, 3}}},
      {"LRN", {{{"size", 3}, {"alpha", 0.5}, {"beta", 0.25}, {"bias", 2}}, {picture}, same}},
      {"MatMul", {json::object(), {{2, 1, 4, 6}, {3, 6, 5}}, {2, 3, 4, 5}}},
      {"Recurrent",
       {{{"kind", "gru"},
         {"activations", {"relu", "hardsigmoid", "identity"}},
         {"clip", 0.5},
         {"reverse", true},
         {"reset_after", true},
         {"coupled", true},
         {"cell", true}},
        {{5, 2, 3}, {12, 3}, {12, 4}, {24}, {2, 4}, {2, 4}, {12}},
        {5, 2, 4}}},
      {"Reduce", {{{"operation", "l2"}, {"axes", {1, 3}}, {"keep", false}}, {picture}, {1, 4}}},
      {"Resize",
       {{{"mode", "cubic"},
         {"coordinates", "crop_and_resize"},
         {"cubic_a", -0.5},
         {"exclude_outside", true},
         {"antialias", true},
         {"extrapolation", 2},
         {"scales", {1, 1, 0.5, 2}},
         {"roi", {0, 0, 0, 0, 1, 1, 1, 1}}},
        {picture},
        {1, 8, 2, 12}}},
      {"Scatter", {{{"operation", "max"}}, {{5, 2}, {3}, {3, 2}}, {5, 2}}},
      {"Standardize", {{{"axes", {1}}, {"epsilon", 0.5}, {"centre", false}}, {picture}, same}},
      {"Tile", {{{"repeats", {1, 2, 1, 3}}}, {picture}, {1, 16, 4, 18}}},
      {"TopK",
       {{{"axis", 1}, {"k", 3}, {"smallest", true}, {"places", true}}, {picture}, {1, 3, 4, 6}}},
      {"Where", {json::object(), {picture, {6}, {4, 1}}, same}},
      {"WindowPool",
       {{{"operation", "lp"},
         {"kernel", {2, 3}},
         {"stride", {1, 2}},
         {"dilation", {2, 1}},
         {"before", {0, 1}},
         {"after", {1, 0}},
         {"ceil", true},
         {"counts_pads", true},
         {"column_major", true},
         {"p", 3}},
        {picture},
        {1, 8, 3, 3}}},
      {"ChannelGather",
       {{{"inputs", {1, 0, 0}}, {"channels", {3, 7, 0}}}, {picture, picture}, {1, 3, 4, 6}}},
      {"Concat", {{{"axis", 2}}, {picture, picture}, {1, 8, 8, 6}}},
      {"Constant", {{{"values", {1, 2}}}, {}, {}}},
      {"Convolution", {convolution, {picture}, {}}},
      {"DetectionOutput", {detections, {picture, picture, picture}, {1, 1, 9, 7}}},
      {"Elementwise", {chain, {picture, picture}, same}},
      {"Flatten", {{{"dims", {0, -1}}}, {picture}, {1, 192}}},
      {"Normalize",
       {{{"across_spatial", false}, {"channel_shared", false}, {"eps", 0.5}, {"scale", {1, 2}}},
        {picture},
        same}},
      {"Pad", {{{"left", 1}, {"right", 2}, {"top", 3}, {"bottom", 4}}, {picture}, {1, 8, 11, 9}}},
      {"Permute", {{{"order", {0, 2, 3, 1}}}, {picture}, {1, 4, 6, 8}}},
      {"PixelGather", {{{"pixels", 5}, {"places", {4, -1, 0}}}, {{1, 8, 1, 5}}, {1, 8, 1, 3}}},
      {"Pooling", {window, {picture}, {}}},
      {"PriorBox", {priors, {}, {1, 2, 4 * 8 * 4 * 3}}},
      {"Reshape", {{{"dims", {0, 2, -1}}}, {picture}, {1, 2, 96}}},
      {"Slice",
       {{{"begin", {0, 1, 3, 1}}, {"step", {1, 2, -1, 1}}, {"count", {-1, -1, -1, 2}}},
        {picture},
        {1, 4, 4, 2}}},
      {"Softmax", {{{"axis", 3}}, {picture}, same}},
  };
}

LayerAttributes parsed(const std::string& type, const json& params) {
  auto attributes = parse_layer(type, params);
  ck_assert_msg(attributes.ok(), "%s: %s", type.c_str(),
                attributes.ok() ? "" : attributes.error().message.c_str());
  return std::move(attributes.value());
}

}  // namespace

DVNN_TEST(every_type_is_written_as_it_is_read) {
  const auto all = samples();
  for (const std::string& type : cpu_layer_names()) {
    ck_assert_msg(all.count(type) == 1, "no sample of %s", type.c_str());
    const Sample& sample = all.at(type);
    const LayerAttributes attributes = parsed(type, sample.params);
    const std::string name = type_of(attributes);
    ck_assert_msg(name == (type == "Flatten" ? "Reshape" : type), "%s", name.c_str());
    const json written = params_of(attributes);
    ck_assert_msg(written == sample.params, "%s: %s", type.c_str(), json_text(written).c_str());
  }
}

DVNN_TEST(every_type_says_its_shape) {
  for (const auto& [type, sample] : samples()) {
    const auto dims = dims_after(parsed(type, sample.params), sample.inputs);
    if (sample.dims.empty() && type != "Constant") {
      ck_assert_msg(!dims.ok(), "%s", type.c_str());
      continue;
    }
    ck_assert_msg(dims.ok(), "%s: %s", type.c_str(), dims.ok() ? "" : dims.error().message.c_str());
    ck_assert_msg(dims.value() == sample.dims, "%s", type.c_str());
  }
}

DVNN_TEST(shapes_that_do_not_fit_are_refused) {
  const Shape picture = {1, 8, 4, 6}, other = {1, 8, 4, 5};
  const struct {
    const char* type;
    json params;
    std::vector<Shape> inputs;
  } refusals[] = {
      {"Elementwise", operation_of("add"), {picture, other}},
      {"Elementwise", operation_of("add"), {picture}},
      {"ArgReduce", {{"operation", "max"}, {"axis", 4}}, {picture}},
      {"Border", {{"before", {1}}, {"after", {1}}}, {picture}},
      {"Gather", {{"axis", 4}}, {picture, {2}}},
      {"GridSample", json::object(), {picture, {1, 2, 3, 3}}},
      {"LRN", json::object(), {{8}}},
      {"MatMul", json::object(), {{2, 3}, {2, 3}}},
      {"Recurrent", {{"kind", "lstm"}}, {{5, 2, 3}, {12, 3}, {12, 4}, {24}, {2, 4}, {2, 4}, {12}}},
      {"Scatter", json::object(), {{5, 2}, {3}, {3, 3}}},
      {"MatMul", json::object(), {{2, 4, 3}, {3, 3, 4}}},
      {"Reduce", {{"operation", "sum"}, {"axes", {1, 1}}}, {picture}},
      {"Resize", {{"mode", "linear"}, {"scales", {2, 2}}}, {picture}},
      {"Resize", {{"mode", "linear"}, {"scales", {1, 1, 0.1, 1}}}, {picture}},
      {"Standardize", {{"axes", {4}}}, {picture}},
      {"Tile", {{"repeats", {2}}}, {picture}},
      {"TopK", {{"axis", 1}, {"k", 9}}, {picture}},
      {"Where", json::object(), {picture, picture}},
      {"WindowPool", {{"operation", "max"}, {"kernel", {2}}}, {picture}},
      {"ChannelGather", {{"inputs", {0}}, {"channels", {8}}}, {picture}},
      {"Concat", {{"axis", 1}}, {picture, other}},
      {"Concat", {{"axis", 4}}, {picture, picture}},
      {"Pad", {{"left", 1}}, {{8, 4}}},
      {"Permute", {{"order", {0, 1, 1, 3}}}, {picture}},
      {"PixelGather", {{"pixels", 5}, {"places", {4, 0}}}, {{1, 8, 1, 6}}},
      {"Permute", {{"order", {0, 1, 2}}}, {picture}},
      {"Reshape", {{"dims", {0, 5, -1}}}, {picture}},
      {"Slice", {{"begin", {0, 0}}, {"step", {1, 1}}, {"count", {-1, -1}}}, {picture}},
      {"Slice", {{"begin", {0, 9}}, {"step", {1, 1}}, {"count", {-1, 1}}}, {{1, 8}}},
      {"Softmax", {{"axis", 4}}, {picture}},
      {"Elementwise", function_of("abs"), {}},
      {"Mine", json::object(), {picture}},
  };
  for (const auto& r : refusals) {
    ck_assert_msg(!dims_after(parsed(r.type, r.params), r.inputs).ok(), "%s %s", r.type,
                  json_text(r.params).c_str());
  }
}

DVNN_TEST(the_published_prior_box_takes_its_grid_from_its_input) {
  const json params = {{"img_size", {64, 32}},    {"min_size", 10},     {"max_size", 30},
                       {"aspect_ratios", {1, 2}}, {"variances", {0.5}}, {"clip", true}};
  ck_assert(params_of(parsed("PriorBox", params)) == params);
  json sized = params;
  sized["layer_w"] = 3, sized["layer_h"] = 2;
  const LayerAttributes attributes = parsed("PriorBox", sized);
  ck_assert(params_of(attributes) == sized);
  ck_assert(dims_after(attributes, {}).value() == std::vector<int64_t>({1, 3 * 2 * 2, 8}));
}

}  // namespace dvnn::test::attributes_tests
