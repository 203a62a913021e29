// SPDX-License-Identifier: Apache-2.0
// Moves between tensors, held against the layouts' formulas element by element, and spans.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/json.h"
#include "check_suite.h"
#include "layers/loops/moves.h"
#include "layers/loops/spans.h"
#include "named_layer.h"
#include "tensor/half.h"

namespace dvnn::test::loops_tests {

DVNN_SUITE(loops);

using layers::MovedPart;
using namespace dvnn::layers;

namespace {

constexpr uint8_t kUntouched = 0xa5;

class Case {
 public:
  explicit Case(unsigned seed) : random_(seed) {
    rank_ = below(3) > 0 ? 4 : 1 + below(Shape::kMaxRank);
    std::vector<int> axes;
    for (int i = 0; i < rank_; ++i) axes.push_back(i);
    std::shuffle(axes.begin(), axes.end(), random_);
    const int most = rank_ <= 4 ? 34 : 5;
    from_.shape.rank = to_.shape.rank = rank_;
    for (int i = 0; i < rank_; ++i) {
      const auto k = static_cast<size_t>(i);
      const auto a = static_cast<size_t>(axes[k]);
      part_.count[k] = 1 + below(most);
      part_.to[k] = below(4);
      to_.shape[i] = part_.to[k] + part_.count[k] + below(3);
      part_.follows[k] = below(8) > 0 ? axes[k] : MovedPart::kStays;
      part_.step[k] = below(3) > 0 ? 1 : below(7) - 3;
      const int reach = (part_.count[k] - 1) * part_.step[k];
      part_.from[a] = below(4) + std::max(0, -reach);
      from_.shape[axes[k]] = part_.from[a] + std::max(0, reach) + 1 + below(4);
    }
    for (TensorDesc* desc : {&from_, &to_}) {
      desc->type = below(2) ? ElementType::kFloat16 : ElementType::kFloat32;
      if (rank_ == 4) desc->layout = static_cast<Layout>(below(5));
    }
  }

  void check(unsigned seed) {
    const auto elements = static_cast<size_t>(from_.shape.elements());
    std::vector<float> values(elements);
    for (float& value : values) value = static_cast<float>(below(4000)) / 4 - 500;
    std::vector<uint8_t> from(static_cast<size_t>(from_.bytes()));
    write_nchw(values.data(), {from_, from.data()});
    std::vector<uint8_t> found(static_cast<size_t>(to_.bytes()), kUntouched), wanted = found;
    int index[Shape::kMaxRank] = {};
    do {
      place(index, from, &wanted);
    } while (next(index));
    layers::Moves moves(from_, to_);
    moves.add(part_);
    moves.run(from.data(), found.data());
    ck_assert_msg(found == wanted, "case %u: %s %s of %s to %s %s of %s", seed,
                  to_string(from_.type), to_string(from_.layout), from_.shape.to_string().c_str(),
                  to_string(to_.type), to_string(to_.layout), to_.shape.to_string().c_str());
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  static size_t offset(const TensorDesc& desc, const int* at) {
    if (desc.shape.rank == 4) {
      return static_cast<size_t>(
          element_offset(desc.layout, desc.shape, at[0], at[1], at[2], at[3]));
    }
    size_t offset = 0;
    for (int i = 0; i < desc.shape.rank; ++i) {
      offset = offset * static_cast<size_t>(desc.shape[i]) + static_cast<size_t>(at[i]);
    }
    return offset;
  }

  void place(const int* index, const std::vector<uint8_t>& from, std::vector<uint8_t>* to) const {
    int source[Shape::kMaxRank], target[Shape::kMaxRank];
    std::copy(part_.from.begin(), part_.from.end(), source);
    for (int i = 0; i < rank_; ++i) {
      const auto k = static_cast<size_t>(i);
      target[i] = part_.to[k] + index[i];
      if (part_.follows[k] >= 0) source[part_.follows[k]] += part_.step[k] * index[i];
    }
    const uint8_t* const at = &from[offset(from_, source) * element_size(from_.type)];
    float value;
    if (from_.type == ElementType::kFloat32) {
      std::memcpy(&value, at, sizeof value);
    } else {
      half_t half;
      std::memcpy(&half, at, sizeof half);
      value = half_to_float(half);
    }
    uint8_t* const into = &(*to)[offset(to_, target) * element_size(to_.type)];
    if (to_.type == ElementType::kFloat32) {
      std::memcpy(into, &value, sizeof value);
    } else {
      const half_t half = float_to_half(value);
      std::memcpy(into, &half, sizeof half);
    }
  }

  bool next(int* index) const {
    for (int i = rank_ - 1; i >= 0; --i) {
      if (++index[i] < part_.count[static_cast<size_t>(i)]) return true;
      index[i] = 0;
    }
    return false;
  }

  std::mt19937 random_;
  int rank_ = 0;
  TensorDesc from_, to_;
  MovedPart part_;
};

}  // namespace

DVNN_TEST(elements_go_where_the_formulas_say_and_others_stay) {
  const int count = dvnn_rounds(600);
  for (int i = 0; i < count; ++i) {
    const unsigned seed = dvnn_seed(1) + static_cast<unsigned>(i);
    Case(seed).check(seed);
  }
}

DVNN_TEST(a_moved_half_keeps_its_bits) {
  std::vector<half_t> from(1 << 16), to(from.size());
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<half_t>(i);
  const Shape shape = {1, 64, 32, 32};
  const TensorDesc rows = {ElementType::kFloat16, Layout::kNchw, shape};
  const TensorDesc chunks = {ElementType::kFloat16, Layout::kWhc8, shape};
  layers::Moves moves(rows, chunks);
  moves.add(layers::whole_part(shape));
  moves.run(reinterpret_cast<const uint8_t*>(from.data()), reinterpret_cast<uint8_t*>(to.data()));
  std::sort(to.begin(), to.end());
  ck_assert(from == to);
}

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

}  // namespace dvnn::test::loops_tests
