// SPDX-License-Identifier: Apache-2.0
#include "layers/loops/spans.h"

#include <random>

#include "base/json.h"
#include "check_suite.h"
#include "named_layer.h"

namespace dvnn::test::spans_tests {

DVNN_SUITE(spans);

using namespace dvnn::layers;

namespace {

// More than two spans, and not whole ones.
const Shape kShape = {1, 19, 13, 17};

std::vector<TensorDesc> forms() {
  std::vector<TensorDesc> all;
  for (ElementType type : {ElementType::kFloat16, ElementType::kFloat32, ElementType::kInt8}) {
    for (Layout layout : {Layout::kNchw, Layout::kWhc8, Layout::kHwc8}) {
      all.push_back({type, layout, kShape});
    }
  }
  return all;
}

// Whole numbers that every type holds.
std::vector<float> numbers(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(kShape.elements()));
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 61) - 30);
  return values;
}

const Json kSum = {
    {"inputs", 3},
    {"steps", {{{"function", "add"}, {"of", {0, 1}}}, {{"function", "add"}, {"of", {3, 2}}}}}};

struct Memory {
  TensorDesc desc;
  std::vector<uint8_t> bytes;
  Memory(const TensorDesc& form, const std::vector<float>& values)
      : desc(form), bytes(static_cast<size_t>(form.bytes())) {
    write_nchw(values.data(), {desc, bytes.data()});
  }
  std::vector<float> read() const {
    std::vector<float> values(static_cast<size_t>(desc.shape.elements()));
    read_nchw({desc, bytes.data()}, values.data());
    return values;
  }
};

// Runs a layer; the output lies in the memory of input `shared`, or in its own if that is -1.
std::vector<float> run(const Json& params, std::vector<Memory> inputs, const TensorDesc& form,
                       int shared) {
  Memory own(form, std::vector<float>(static_cast<size_t>(kShape.elements())));
  Memory& output = shared < 0 ? own : inputs[static_cast<size_t>(shared)];
  std::vector<TensorDesc> descs;
  std::vector<ConstTensorView> views;
  for (const Memory& input : inputs) {
    descs.push_back(input.desc);
    views.push_back({input.desc, input.bytes.data()});
  }
  auto layer = test::create_layer("Elementwise", params, descs, {&output.desc, 1});
  ck_assert(layer.ok());
  const TensorView view = {output.desc, output.bytes.data()};
  ck_assert(layer.value()->run(views, {&view, 1}).ok());
  return output.read();
}

}  // namespace

DVNN_TEST(any_types_and_layouts_go_together) {
  const std::vector<float> a = numbers(1), b = numbers(2);
  std::vector<float> most(a.size());
  for (size_t i = 0; i < a.size(); ++i) most[i] = std::max(a[i], b[i]);
  for (const TensorDesc& first : forms()) {
    for (const TensorDesc& second : forms()) {
      for (const TensorDesc& output : forms()) {
        ck_assert(run(operation_of("max"), {{first, a}, {second, b}}, output, -1) == most);
      }
    }
  }
}

DVNN_TEST(the_output_may_lie_where_any_input_lies) {
  const std::vector<float> a = numbers(1), b = numbers(2), c = numbers(3);
  std::vector<float> sum(a.size());
  for (size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i] + c[i];
  for (const TensorDesc& form : forms()) {
    for (const TensorDesc& other : forms()) {
      if (form.type == ElementType::kInt8) continue;  // does not hold all sums
      for (int shared = 0; shared < 3; ++shared) {
        std::vector<Memory> inputs = {{other, a}, {other, b}, {other, c}};
        const std::vector<float>* values[] = {&a, &b, &c};
        inputs[static_cast<size_t>(shared)] = Memory(form, *values[shared]);
        ck_assert(run(kSum, inputs, form, shared) == sum);
      }
    }
  }
}

DVNN_TEST(functions_of_one_input_run_in_place) {
  const std::vector<float> a = numbers(4);
  std::vector<float> relu(a.size());
  for (size_t i = 0; i < a.size(); ++i) relu[i] = std::max(a[i], 0.0f);
  for (const TensorDesc& form : forms()) {
    ck_assert(run(function_of("relu"), {{form, a}}, form, 0) == relu);
    for (const TensorDesc& output : forms()) {
      ck_assert(run(function_of("relu"), {{form, a}}, output, -1) == relu);
    }
  }
}

DVNN_TEST(other_elements_may_lie_where_results_go) {
  // Results are twice as large as the elements that they are made of, in the same memory.
  const std::vector<float> a = numbers(5);
  for (Layout layout : {Layout::kNchw, Layout::kWhc8}) {
    const TensorDesc from = {ElementType::kFloat16, layout, kShape};
    const TensorDesc to = {ElementType::kFloat32, layout, kShape};
    std::vector<uint8_t> bytes(static_cast<size_t>(to.bytes()));
    write_nchw(a.data(), {from, bytes.data()});
    const ConstTensorView input = {from, bytes.data()};
    const TensorView output = {to, bytes.data()};
    auto layer = test::create_layer("Elementwise", function_of("relu"), {&from, 1}, {&to, 1});
    ck_assert(layer.value()->run({&input, 1}, {&output, 1}).ok());
    std::vector<float> made(a.size());
    read_nchw({to, bytes.data()}, made.data());
    for (size_t i = 0; i < a.size(); ++i) ck_assert(made[i] == std::max(a[i], 0.0f));
  }
}

DVNN_TEST(results_are_rounded_once) {
  // 2048 + 1 + 1 in binary16 is 2050, rounded after each sum 2048.
  const std::vector<float> one(static_cast<size_t>(kShape.elements()), 1.0f);
  const std::vector<float> large(one.size(), 2048.0f), sum(one.size(), 2050.0f);
  const TensorDesc half = {ElementType::kFloat16, Layout::kWhc8, kShape};
  ck_assert(run(kSum, {{half, large}, {half, one}, {half, one}}, half, -1) == sum);
}

}  // namespace dvnn::test::spans_tests
