// SPDX-License-Identifier: Apache-2.0
// Windows over results, against lists of all rows.
#include "network/stream_memory.h"

#include <random>
#include <vector>

#include "check_suite.h"

namespace dvnn::test::row_window_tests {

DVNN_SUITE(row_window);

using network::row_layout;
using network::RowLayout;
using network::RowWindow;

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

}  // namespace dvnn::test::row_window_tests
