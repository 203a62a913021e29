// SPDX-License-Identifier: Apache-2.0
// The rule for places against brute force: each element of each section of small tensors in each
// layout, and networks that cut, flip and join the device's results. Buffers share memory unless
// they live together.
#include <random>

#include "../import/run_model.h"
#include "check_suite.h"
#include "graph_maker.h"
#include "plan/layout/memory_plan.h"
#include "plan/layout/placement.h"
#include "plan/plan.h"

namespace dvnn::test::layout_tests {

DVNN_SUITE(plan_layout);

using namespace dvnn::plan;

namespace {

// The formulas of tensor.h, written down once more.
int64_t place(Layout layout, const Shape& s, const int at[4]) {
  const int64_t n = at[0], c = at[1], h = at[2], w = at[3];
  const int64_t C = s.c(), H = s.h(), W = s.w();
  const int64_t k = c / 8, ck = std::min<int64_t>(8, C - 8 * k);
  switch (layout) {
    case Layout::kNchw:
      return ((n * C + c) * H + h) * W + w;
    case Layout::kNhwc:
      return ((n * H + h) * W + w) * C + c;
    case Layout::kNwhc:
      return ((n * W + w) * H + h) * C + c;
    case Layout::kWhc8:
      return n * C * H * W + k * 8 * H * W + (w * H + h) * ck + c % 8;
    case Layout::kHwc8:
      return n * C * H * W + k * 8 * H * W + (h * W + w) * ck + c % 8;
  }
  return -1;
}

// All indices of a shape.
template <typename Visit>
void for_each_index(const Shape& s, Visit visit) {
  int at[4];
  for (at[0] = 0; at[0] < s[0]; ++at[0])
    for (at[1] = 0; at[1] < s[1]; ++at[1])
      for (at[2] = 0; at[2] < s[2]; ++at[2])
        for (at[3] = 0; at[3] < s[3]; ++at[3]) visit(at);
}

std::optional<uint64_t> by_hand(const TensorDesc& whole, const Section& section,
                                const TensorDesc& part) {
  int64_t distance = -1;
  bool same = true;
  for_each_index(part.shape, [&](const int at[4]) {
    int from[4];
    for (size_t i = 0; i < 4; ++i) from[i] = section.begin[i] + section.step[i] * at[i];
    const int64_t d = place(whole.layout, whole.shape, from) - place(part.layout, part.shape, at);
    if (distance < 0) distance = d;
    same &= d == distance;
  });
  const auto bytes = static_cast<uint64_t>(distance) * element_size(whole.type);
  if (!same || distance < 0 || (whole.type == ElementType::kFloat16 && bytes % 16 != 0)) {
    return std::nullopt;
  }
  return bytes;
}

constexpr Layout kLayouts[] = {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8,
                               Layout::kHwc8};

int one_of(std::initializer_list<int> list) {
  return *(list.begin() + source() % list.size());
}

}  // namespace

DVNN_TEST(sections_lie_where_their_elements_do) {
  source.seed(dvnn_seed(40));
  int inside = 0, flipped = 0, elsewhere = 0;
  for (int round = 0; round < dvnn_rounds(60000); ++round) {
    const auto type = source() % 2 ? ElementType::kFloat16 : ElementType::kFloat32;
    const Shape whole = {one_of({1, 1, 2}), one_of({1, 3, 8, 12, 16, 20, 24}), one_of({1, 2, 3}),
                         one_of({1, 2, 4})};
    Section section;
    Shape part = whole;
    for (int i = 0; i < 4; ++i) {
      // Most axes are taken whole, as most slices do.
      const bool cut = source() % 3 == 0;
      const int step = cut ? one_of({1, 1, 2, -1, -2}) : 1;
      int begin = cut ? static_cast<int>(source() % static_cast<unsigned>(whole[i])) : 0;
      if (cut && i == 1 && source() % 2) begin = begin / 8 * 8;
      if (cut && step < 0 && source() % 2) begin = whole[i] - 1;
      const int most = step > 0 ? (whole[i] - 1 - begin) / step + 1 : begin / -step + 1;
      part[i] = !cut || source() % 2 ? most
                                     : 1 + static_cast<int>(source() % static_cast<unsigned>(most));
      section.begin.push_back(begin);
      section.step.push_back(step);
    }
    const Layout first = kLayouts[source() % 5];
    const Layout second = source() % 4 ? first : kLayouts[source() % 5];
    const TensorDesc a = {type, first, whole}, b = {type, second, part};
    const auto want = by_hand(a, section, b), have = lies_within(a, section, b);
    ck_assert_msg(
        want == have, "%s of %s in %s, as %s from %d,%d,%d,%d by %d,%d,%d,%d: %lld, not %lld",
        to_string(first), whole.to_string().c_str(), to_string(second), part.to_string().c_str(),
        section.begin[0], section.begin[1], section.begin[2], section.begin[3], section.step[0],
        section.step[1], section.step[2], section.step[3],
        have ? static_cast<long long>(*have) : -1, want ? static_cast<long long>(*want) : -1);
    inside += want.has_value();
    for (int i = 0; i < 4; ++i) flipped += nth(section.step, i) < 0 && part[i] > 1;
    elsewhere += !want.has_value();
  }
  // The sweep contains enough of such cases.
  ck_assert_int_gt(inside, 1000 / std::max(1, 60000 / dvnn_rounds(60000)));
  ck_assert_int_gt(flipped, 0);
  ck_assert_int_gt(elsewhere, 0);
}

DVNN_TEST(reshapes_that_move_nothing_are_known) {
  source.seed(dvnn_seed(41));
  for (int round = 0; round < dvnn_rounds(20000); ++round) {
    const Shape a = {1, one_of({1, 2, 8, 12, 16}), one_of({1, 2, 3}), one_of({1, 2, 4})};
    const Shape b = source() % 2 ? Shape({1, static_cast<int>(a.elements()), 1, 1})
                                 : Shape({1, a.h(), a.c(), a.w()});
    const Layout first = kLayouts[source() % 5], second = kLayouts[source() % 5];
    std::vector<int64_t> places;
    for_each_index(a, [&](const int at[4]) { places.push_back(place(first, a, at)); });
    size_t i = 0;
    bool same = true;
    for_each_index(b, [&](const int at[4]) { same &= places[i++] == place(second, b, at); });
    const bool have =
        same_addresses({ElementType::kFloat16, first, a}, {ElementType::kFloat16, second, b});
    // Two orders that are alike but not row-major may go unnoticed: a move too many is no error.
    const bool known = first == second && a == b;
    ck_assert_msg(!have || same, "%s of %s is not %s of %s", to_string(first),
                  a.to_string().c_str(), to_string(second), b.to_string().c_str());
    if (known || (first == Layout::kNchw && second == Layout::kNchw)) ck_assert(have);
  }
}

namespace {

// Moves pictures about between convolutions that copy them, all of it exact in binary16.
struct Movements : Maker {
  Movements(int h, int w) : Maker(h, w) {}

  // A convolution whose results are sums of two inputs: exact for small whole numbers.
  int copy(int in, int m) {
    const int c = shape_of(in).c();
    import::ConvSpec spec;
    spec.outputs = m;
    spec.kernel_x = spec.kernel_y = 1;
    std::vector<float> weights(static_cast<size_t>(m) * static_cast<size_t>(c), 0.0f);
    for (int k = 0; k < m; ++k) nth(weights, k * c + k % c) = 1;
    return sure(convolution(name(), in, spec, weights, std::vector<float>(static_cast<size_t>(m))));
  }

  int cut(int in) {
    const Shape s = shape_of(in);
    std::vector<int64_t> begin = {0}, step = {1}, count = {1};
    for (int i = 1; i < 4; ++i) {
      const int by = source() % 2 ? 1 : one_of({-1, -1, 2, -2});
      const int size = s[i];
      int first = by > 0 ? 0 : size - 1;
      if (i == 1 && by == 1 && size > 8 && source() % 2) first = 8;
      begin.push_back(first);
      step.push_back(by);
      count.push_back(by > 0 ? (size - 1 - first) / by + 1 : first / -by + 1);
    }
    return sure(slice(name(), in, begin, step, count));
  }
};

}  // namespace

DVNN_TEST(what_is_cut_flipped_and_joined_is_what_the_device_reads) {
  source.seed(dvnn_seed(42));
  for (int round = 0; round < dvnn_rounds(400); ++round) {
    Movements m(one_of({1, 2, 5}), one_of({2, 4, 7}));
    std::vector<int> values = {m.copy(m.graph.input, one_of({3, 8, 16, 20}))};
    for (int step = 0; step < 6; ++step) {
      const int any = values[source() % values.size()];
      switch (source() % 4) {
        case 0:
        case 1:
          values.push_back(m.cut(any));
          break;
        case 2:
          values.push_back(m.copy(any, one_of({4, 8, 12, 16})));
          break;
        default: {
          const int axis = 1 + static_cast<int>(source() % 3);
          values.push_back(sure(m.concat(m.name(), {any, m.copy(any, m.shape_of(any).c())}, axis)));
        }
      }
    }
    const int last = m.copy(values.back(), 8);
    const Graph graph = m.done({last, values[source() % values.size()]});
    std::vector<float> input(graph.shape_of(graph.input).count());
    for (float& v : input) v = static_cast<float>(source() % 64);
    PlanOptions options;
    options.hwc = source() % 2 != 0;
    auto model = dvnn::plan::plan(graph, options, InputSpec(), nullptr);
    ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
    const auto want = run_reference("movements", graph, input.data());
    const auto have = run_model("movements", std::move(model.value()), input.data());
    for (size_t i = 0; i < want.size(); ++i) {
      ck_assert_msg(have[i] == want[i], "round %d: element %zu is %g, not %g", round, i, have[i],
                    want[i]);
    }
  }
}

DVNN_TEST(buffers_that_live_together_do_not_overlap) {
  std::mt19937 random(dvnn_seed(4));
  for (int round = 0; round < dvnn_rounds(200); ++round) {
    std::vector<PlannedBuffer> buffers(1 + random() % 40);
    uint64_t sum = 0;
    for (PlannedBuffer& b : buffers) {
      b.size = 1 + random() % 5000;
      b.birth = static_cast<int>(random() % 30);
      b.death = b.birth + static_cast<int>(random() % 6);
      b.alignment = random() % 3 ? kDeviceAlignment : kCpuAlignment;
      sum += b.size + kCpuAlignment;
    }
    const uint64_t total = plan_memory(&buffers);
    ck_assert_uint_le(total, sum);
    ck_assert_uint_ge(total, least_memory(buffers));
    for (size_t i = 0; i < buffers.size(); ++i) {
      ck_assert_uint_eq(buffers[i].offset % buffers[i].alignment, 0);
      ck_assert_uint_le(buffers[i].offset + buffers[i].size, total);
      for (size_t k = 0; k < i; ++k) {
        const PlannedBuffer &a = buffers[i], &b = buffers[k];
        const bool together = a.birth <= b.death && b.birth <= a.death;
        const bool apart = a.offset + a.size <= b.offset || b.offset + b.size <= a.offset;
        ck_assert(!together || apart);
      }
    }
  }
}

DVNN_TEST(a_chain_takes_the_two_largest_neighbours) {
  std::vector<PlannedBuffer> chain = {{640, 0, 1}, {1280, 1, 2}, {640, 2, 3}, {320, 3, 4}};
  ck_assert_uint_eq(plan_memory(&chain), 1920);
}

// None of the orders that are tried first needs less than 208 bytes here.
DVNN_TEST(orders_are_exchanged_where_that_helps) {
  std::vector<PlannedBuffer> buffers = {{16, 0, 1}, {48, 2, 3}, {64, 2, 5},
                                        {96, 5, 7}, {16, 0, 2}, {64, 2, 4}};
  ck_assert_uint_eq(least_memory(buffers), 192);
  ck_assert_uint_eq(plan_memory(&buffers), 192);
}

// More buffers than the search covers: pairs, and then one buffer in the place of both, whichever
// of them has the lower place.
DVNN_TEST(free_places_side_by_side_become_one) {
  std::vector<PlannedBuffer> buffers;
  for (int step = 0; step < 4000; step += 4) {
    buffers.push_back({16, step, step});
    buffers.push_back({16, step, step});
    buffers.push_back({32, step + 1, step + 1});
    buffers.push_back({16, step + 2, step + 3});
    buffers.push_back({16, step + 2, step + 2});
  }
  ck_assert_uint_eq(plan_memory(&buffers), 32);
  for (size_t i = 0; i < buffers.size(); i += 5) {
    ck_assert_uint_ne(buffers[i].offset, buffers[i + 1].offset);
    ck_assert_uint_eq(buffers[i + 2].offset, 0);
    ck_assert_uint_ne(buffers[i + 3].offset, buffers[i + 4].offset);
  }
}

}  // namespace dvnn::test::layout_tests
