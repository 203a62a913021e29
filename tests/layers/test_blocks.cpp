// SPDX-License-Identifier: Apache-2.0
// Layers that look at all channels of a pixel, against what each means in row-major floats: in
// every layout, with the output where the input lies, and on several threads.
#include "layers/loops/blocks.h"

#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include "base/json.h"
#include "check_suite.h"
#include "kernels/arithmetic/softmax.h"
#include "named_layer.h"
#include "tensor/half.h"

namespace dvnn::test::blocks_tests {

DVNN_SUITE(blocks);

using namespace dvnn::layers;
using json = dvnn::Json;
using Values = std::vector<float>;

namespace {

// One pixel, columns and rows alone, more pixels than a block has, chunks that are whole and that
// are not, and more channels than fit a tile.
const Shape kShapes[] = {{1, 9, 1, 1},   {2, 19, 7, 9},  {1, 8, 1, 9},   {1, 9, 257, 1},
                         {1, 3, 66, 67}, {1, 130, 5, 7}, {1, 300, 3, 5}, {2, 24, 7, 10}};

struct Forms {
  TensorDesc in, out;
};

std::vector<Forms> forms(const Shape& in, const Shape& out) {
  std::vector<TensorDesc> all;
  const ElementType types[] = {ElementType::kFloat16, ElementType::kFloat32, ElementType::kInt8};
  for (ElementType type : types) {
    for (Layout layout :
         {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8, Layout::kHwc8}) {
      // Integers are floats while they are moved.
      if (type == ElementType::kInt8 && layout != Layout::kWhc8) continue;
      all.push_back({type, layout, in});
    }
  }
  std::vector<Forms> pairs;
  for (const TensorDesc& a : all) {
    for (const TensorDesc& b : all) pairs.push_back({a, {b.type, b.layout, out}});
  }
  return pairs;
}

// Whole numbers that every type holds; with `odd`, some are NaN.
Values numbers(const Shape& shape, bool odd) {
  std::mt19937 random(7);
  Values values(static_cast<size_t>(shape.elements()));
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 21) - 10);
  for (size_t i = 5; odd && i < values.size(); i += 97) values[i] = std::nanf("");
  return values;
}

// Threads take pieces from the last one on.
void on_three_threads(int count, void (*call)(void* work, int i), void* work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([=] {
      for (int i = count - 1 - t; i >= 0; i -= 3) call(work, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Named {
  const char* type;
  json params;
};

std::vector<uint8_t> run(const Named& layer, const Forms& form, const Values& values, bool shared) {
  const auto in = static_cast<size_t>(form.in.bytes()), out = static_cast<size_t>(form.out.bytes());
  std::vector<uint8_t> memory(std::max(in, out)), own(out);
  write_nchw(values.data(), {form.in, memory.data()});
  auto made = test::create_layer(layer.type, layer.params, {&form.in, 1}, {&form.out, 1});
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  const ConstTensorView from = {form.in, memory.data()};
  const TensorView to = {form.out, shared ? memory.data() : own.data()};
  ck_assert(made.value()->run({&from, 1}, {&to, 1}).ok());
  return {to.data, to.data + out};
}

void assert_same(const Forms& form, const std::vector<uint8_t>& found, const Values& wanted) {
  std::vector<uint8_t> bytes(found.size());
  write_nchw(wanted.data(), {form.out, bytes.data()});
  Values a(wanted.size()), b(wanted.size());
  read_nchw({form.out, found.data()}, a.data());
  read_nchw({form.out, bytes.data()}, b.data());
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same =
        std::memcmp(&a[i], &b[i], sizeof(float)) == 0 || (std::isnan(a[i]) && std::isnan(b[i]));
    ck_assert_msg(same, "%s %s %s to %s %s: element %zu is %a, not %a", to_string(form.in.type),
                  to_string(form.in.layout), form.in.shape.to_string().c_str(),
                  to_string(form.out.type), to_string(form.out.layout), i,
                  static_cast<double>(a[i]), static_cast<double>(b[i]));
  }
}

using Meaning = std::function<Values(const Values& values, const Shape& shape)>;

// `reduces`: the result has one channel.
void check(const Named& layer, bool reduces, const Meaning& meaning) {
  size_t number = 0;
  for (const Shape& shape : kShapes) {
    Shape out = shape;
    if (reduces) out[1] = 1;
    for (bool odd : {false, true}) {
      const Values values = numbers(shape, odd), wanted = meaning(values, shape);
      for (const Forms& form : forms(shape, out)) {
        const bool integers = !is_float(form.in.type) || !is_float(form.out.type);
        if ((odd && integers) || !dvnn_plays(number++)) continue;
        assert_same(form, run(layer, form, values, false), wanted);
        if (odd) continue;
        assert_same(form, run(layer, form, values, true), wanted);
        const SharedThreads lend(on_three_threads);
        assert_same(form, run(layer, form, values, false), wanted);
      }
    }
  }
}

// Reduces each pixel's channels to one number.
template <typename Fold>
Values folded(const Values& values, const Shape& shape, Fold fold) {
  const AxisSplit split = split_at(shape, 1);
  Values made;
  for (size_t g = 0; g < split.outer * split.inner; ++g) {
    const size_t first = g / split.inner * split.count * split.inner + g % split.inner;
    Values channels;
    for (size_t c = 0; c < split.count; ++c) channels.push_back(values[first + c * split.inner]);
    made.push_back(fold(channels));
  }
  return made;
}

}  // namespace

DVNN_TEST(channels_become_shares_of_one) {
  check({"Softmax", {{"axis", 1}}}, false, [](const Values& values, const Shape& shape) {
    const AxisSplit split = split_at(shape, 1);
    Values made = values;
    kernels::plain::softmax(made.data(), split.outer, split.count, split.inner);
    return made;
  });
}

DVNN_TEST(pixels_get_lengths) {
  for (bool across : {false, true}) {
    const json params = {{"across_spatial", across}, {"scale", {20}}, {"eps", 0.5}};
    check({"Normalize", params}, false, [across](const Values& values, const Shape& shape) {
      const AxisSplit split = split_at(shape, 1);
      Values made = values;
      for (size_t n = 0; n < split.outer; ++n) {
        Values norm(split.inner, 0.5f);
        float* const first = &made[n * split.count * split.inner];
        for (size_t i = 0; i < split.count * split.inner; ++i) {
          const volatile float square = first[i] * first[i];
          norm[i % split.inner] += square;
        }
        double sum = 0.5;
        for (float v : norm) sum += static_cast<double>(v) - 0.5;
        for (size_t i = 0; i < split.count * split.inner; ++i) {
          const float length = across ? static_cast<float>(sum) : norm[i % split.inner];
          first[i] = first[i] * (1 / std::sqrt(length)) * 20;
        }
      }
      return made;
    });
  }
}

DVNN_TEST(pixels_get_mean_0_and_variance_1) {
  for (bool centre : {false, true}) {
    const json params = {{"axes", {1}}, {"epsilon", 0.25}, {"centre", centre}};
    check({"Standardize", params}, false, [centre](const Values& values, const Shape& shape) {
      const AxisSplit split = split_at(shape, 1);
      Values made = values;
      for (size_t g = 0; g < split.outer * split.inner; ++g) {
        float* const first = &made[g / split.inner * split.count * split.inner + g % split.inner];
        double mean = 0, squares = 0;
        for (size_t c = 0; c < split.count; ++c)
          mean += static_cast<double>(first[c * split.inner]);
        mean = centre ? mean / static_cast<double>(split.count) : 0;
        for (size_t c = 0; c < split.count; ++c) {
          const double far = static_cast<double>(first[c * split.inner]) - mean;
          const volatile double square = far * far;
          squares += square;
        }
        const double factor = 1 / std::sqrt(squares / static_cast<double>(split.count) + 0.25);
        for (size_t c = 0; c < split.count; ++c) {
          float& x = first[c * split.inner];
          x = static_cast<float>((static_cast<double>(x) - mean) * factor);
        }
      }
      return made;
    });
  }
}

DVNN_TEST(channels_become_one_number) {
  check({"Reduce", {{"operation", "mean"}, {"axes", {1}}}}, true,
        [](const Values& values, const Shape& shape) {
          return folded(values, shape, [](const Values& channels) {
            double sum = 0;
            for (float x : channels) sum += static_cast<double>(x);
            return static_cast<float>(sum / static_cast<double>(channels.size()));
          });
        });
  check({"ArgReduce", {{"operation", "max"}, {"axis", 1}}}, true,
        [](const Values& values, const Shape& shape) {
          return folded(values, shape, [](const Values& channels) {
            size_t best = 0;  // whose place none that is not a number takes
            for (size_t c = 1; c < channels.size(); ++c) {
              if (channels[c] > channels[best]) best = c;
            }
            return static_cast<float>(best);
          });
        });
}

}  // namespace dvnn::test::blocks_tests
