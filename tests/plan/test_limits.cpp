// SPDX-License-Identifier: Apache-2.0
// Pictures beyond the device's limits: small limits stand for large pictures. A plan computes the
// same as its graph, and no command exceeds a limit.
#include "../import/run_model.h"
#include "base/format.h"
#include "check_suite.h"
#include "graph_maker.h"
#include "plan/passes/passes.h"
#include "plan/plan.h"
#include "plan/replan.h"

namespace dvnn::test::limits_tests {

DVNN_SUITE(plan_limits);

using namespace dvnn::import;
using namespace dvnn::plan;
using device::Activation;

namespace {

PlanOptions within(int width, int height) {
  PlanOptions options;
  options.limits.width = width;
  options.limits.height = height;
  return options;
}

Graph fitted(const char* what, const Graph& graph, const PlanOptions& options) {
  return after(what, graph, [&](Graph* g) {
    const Status status = run_passes(sized_passes(), {g, nullptr, &options});
    ck_assert_msg(status.ok(), "%s", status.ok() ? "" : status.error().message.c_str());
    for (const Node& node : g->nodes) {
      if (node.op != Op::kConvolution && node.op != Op::kPooling) continue;
      if (node.flattens()) continue;
      const device::Dims in = node.input_dims(g->shape_of(node.inputs[0]));
      dvnn_assert_text(device::misfit(node.run, in, options.limits), "");
    }
  });
}

int count_commands(const Graph& graph) {
  return count(graph, Op::kConvolution) + count(graph, Op::kPooling) + count(graph, Op::kBranches);
}

// A node behind one that fits, so that nothing goes into the input.
Graph single(Maker* m, int value) {
  return m->done({value});
}

}  // namespace

DVNN_TEST(what_works_by_pixel_counts_pixels_otherwise) {
  Maker m(1, 84);
  const int conv = m.active(m.conv(m.graph.input, 8, 1), Activation::kElu);
  const Graph graph = m.done({sure(m.sum("sum", conv, m.conv(conv, 8, 1)))});
  const Graph planned = fitted("84 x 1", graph, within(30, 10));
  ck_assert_int_eq(count(planned, Op::kCpu), 0);
  for (const Node& node : planned.nodes) {
    ck_assert_int_eq(node.fold.x, 28);
    ck_assert_int_eq(node.fold.y, 3);
  }
}

DVNN_TEST(a_number_of_pixels_without_factors_is_cut) {
  Maker m(1, 83);
  const Graph planned = fitted("83 x 1", single(&m, m.conv(m.graph.input, 8, 1)), within(30, 10));
  ck_assert_int_eq(count(planned, Op::kConvolution), 3);
}

DVNN_TEST(windows_become_strips_with_what_they_share) {
  struct Case {
    int w, h, kernel, stride, pad, dilation;
    int commands;  // 0: the CPU's
  };
  // Strips of at most 20 x 12 pixels: those in the middle have two neighbours' pixels.
  const Case cases[] = {{50, 9, 3, 1, 1, 1, 3},  {50, 9, 3, 2, 1, 1, 3},   {9, 30, 5, 1, 2, 1, 4},
                        {41, 25, 3, 1, 0, 1, 9}, {40, 24, 7, 3, 3, 1, 12}, {50, 9, 3, 1, 2, 2, 0},
                        {50, 9, 2, 2, 0, 1, 3},  {200, 9, 3, 1, 1, 1, 12}};
  for (const Case& c : cases) {
    for (const int groups : {1, 3}) {
      Maker m(c.h, c.w);
      ConvSpec spec;
      spec.outputs = groups == 1 ? 5 : 3;
      spec.groups = groups;
      spec.kernel_x = spec.kernel_y = c.kernel;
      spec.stride_x = spec.stride_y = c.stride;
      spec.dilation_x = spec.dilation_y = c.dilation;
      spec.left = spec.right = spec.top = spec.bottom = c.pad;
      const auto weights = static_cast<size_t>(spec.outputs * 3 / groups * c.kernel * c.kernel);
      const int conv = sure(m.convolution("conv", m.graph.input, spec, numbers(weights),
                                          numbers(static_cast<size_t>(spec.outputs))));
      Graph graph = m.done({m.active(conv, Activation::kPrelu)});
      InputSpec picture;
      const PlanOptions options;
      ck_assert(run_passes(unsized_passes(), {&graph, &picture, &options}).ok());
      const Graph planned = fitted("strips", graph, within(20, 12));
      ck_assert_msg(count_commands(planned) == c.commands, "%d x %d by %d: %d commands, not %d",
                    c.w, c.h, c.kernel, count_commands(planned), c.commands);
    }
  }
}

DVNN_TEST(long_kernels_become_sums_of_short_ones) {
  struct Case {
    int kernel_x, kernel_y, stride, dilation, pad, groups;
    int convolutions, slices;
  };
  const Case cases[] = {{1, 13, 1, 1, 0, 1, 2, 2},  // each half reads a part
                        {13, 1, 1, 1, 6, 1, 2, 0},  // a tap of 0 reads what one half leaves out
                        {14, 3, 1, 1, 7, 1, 2, 0}, {9, 2, 2, 1, 4, 1, 2, 0},
                        {3, 9, 3, 1, 0, 3, 2, 2},  {13, 1, 1, 2, 12, 1, 2, 0},
                        {8, 1, 1, 2, 3, 1, 1, 0},  // dilated kernels are odd

                        {1, 8, 1, 1, 3, 1, 2, 0},  {1, 15, 1, 1, 7, 1, 1, 0},  // would be three
                        {9, 9, 1, 1, 4, 1, 4, 0},  // a quarter of the taps each
                        {11, 9, 2, 1, 5, 1, 4, 0}, {9, 15, 1, 1, 4, 1, 1, 0},  // would be six
                        {7, 7, 1, 1, 3, 1, 1, 0}};
  for (const Case& c : cases) {
    Maker m(33, 34);
    ConvSpec spec;
    spec.outputs = c.groups == 1 ? 5 : 3;
    spec.groups = c.groups;
    spec.kernel_x = c.kernel_x, spec.kernel_y = c.kernel_y;
    spec.stride_x = spec.stride_y = c.stride;
    spec.dilation_x = spec.dilation_y = c.dilation;
    if (c.kernel_x > 7) spec.left = spec.right = c.pad;
    if (c.kernel_y > 7) spec.top = spec.bottom = c.pad;
    const auto weights = static_cast<size_t>(spec.outputs * 3 / c.groups * c.kernel_x * c.kernel_y);
    const Graph graph = m.done({sure(m.convolution("conv", m.graph.input, spec, numbers(weights),
                                                   numbers(static_cast<size_t>(spec.outputs))))});
    const std::string what = format("%d x %d by %d", c.kernel_x, c.kernel_y, c.stride);
    const Graph split = after(what.c_str(), after("groups", graph, lower_groups), [](Graph* g) {
      ck_assert(split_large_kernels(g, PlanOptions()).ok());
    });
    ck_assert_msg(count(split, Op::kConvolution) == c.convolutions, "%s: %d convolutions",
                  what.c_str(), count(split, Op::kConvolution));
    ck_assert_msg(count(split, Op::kCpu) == c.slices, "%s: %d slices", what.c_str(),
                  count(split, Op::kCpu));
    PlanOptions vendor;
    vendor.as_vendor = true;
    const Graph whole =
        after("vendor", graph, [&](Graph* g) { ck_assert(split_large_kernels(g, vendor).ok()); });
    ck_assert_int_eq(count(whole, Op::kConvolution), 1);
  }
}

DVNN_TEST(what_no_strip_can_do_is_summed_over_channels) {
  const struct {
    int channels, dilation, stride;
    bool transposed;
    int buffer;    // KiB
    int commands;  // 0: the CPU's
  } cases[] = {{3, 3, 1, false, 8, 3}, {2, 3, 1, false, 8, 2}, {5, 4, 1, false, 8, 5},
               {2, 3, 2, false, 6, 2}, {2, 1, 2, true, 6, 2},  {2, 9, 1, false, 8, 0}};
  for (const auto& c : cases) {
    Maker m(24, 16);
    const int channels = c.channels * 8 - 3;  // the last chunk is not whole
    ConvSpec spec;
    spec.outputs = 12;
    spec.kernel_x = spec.kernel_y = 3;
    spec.dilation_x = spec.dilation_y = c.dilation;
    spec.stride_x = spec.stride_y = c.stride;
    spec.left = spec.right = spec.top = spec.bottom = c.dilation;
    const int wide = m.active(m.conv(m.graph.input, channels, 1), Activation::kElu);
    const auto weights = numbers(static_cast<size_t>(12 * channels * 9));
    const int conv =
        sure(c.transposed ? m.deconvolution("conv", wide, spec, 0, 0, weights, numbers(12))
                          : m.convolution("conv", wide, spec, weights, numbers(12)));
    const Graph graph = m.done({m.active(conv, Activation::kRelu)});
    PlanOptions options;
    options.limits.unified_buffer_bytes = c.buffer * 1024;
    const Graph planned = fitted("channels", graph, options);
    ck_assert_msg(count_commands(planned) == (c.commands == 0 ? 1 : 1 + c.commands),
                  "%d chunks: %d commands", c.channels, count_commands(planned));
    const auto input = numbers(3 * 24 * 16, -1, 1);
    const auto want = run_reference("channels", graph, input.data());
    for (const bool hwc : {false, true}) {
      options.hwc = hwc;
      auto model = dvnn::plan::plan(graph, options, InputSpec(), nullptr);
      ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
      // Planned again, for a board's buffer, the parts are one convolution.
      auto again = replan(model.value(), 16, 24);
      if (c.commands > 0) {
        ck_assert_msg(again.ok(), "%s", again.ok() ? "" : again.error().message.c_str());
        ck_assert_uint_lt(again.value().steps.size(), model.value().steps.size());
        expect_close("again", run_model("again", std::move(again.value()), input.data()),
                     want.data(), want.size());
      }
      expect_close("channels", run_model("channels", std::move(model.value()), input.data()),
                   want.data(), want.size());
    }
  }
}

DVNN_TEST(poolings_become_strips_or_other_windows) {
  const struct {
    int w, h;
    bool average;
    int kernel, stride;
    bool ceil, on_device;
  } cases[] = {{50, 9, false, 3, 2, true, true},
               {50, 9, false, 2, 2, false, true},
               {50, 9, false, 3, 1, false, true},
               {50, 8, true, 2, 2, false, true},
               {50, 9, true, 3, 2, true, false}};
  for (const auto& c : cases) {
    Maker m(c.h, c.w);
    const Graph graph = single(&m, m.pooled(m.graph.input, c.average, c.kernel, c.stride, c.ceil));
    const Graph planned = fitted("pooling", graph, within(20, 12));
    ck_assert_int_eq(count_commands(planned) > 0, c.on_device);
  }
  for (const bool average : {false, true}) {  // 90 pixels are 18 x 5 or 15 x 6
    Maker m(1, 90);
    const Graph graph = single(&m, sure(m.global_pooling("global", m.graph.input, average)));
    const Graph planned = fitted("global", graph, within(20, 12));
    ck_assert_int_eq(count(planned, Op::kCpu), average ? 0 : 1);  // 5 is no window of a maximum
  }
  Maker m(9, 18);
  const Graph graph = single(&m, sure(m.upsample2("twice", m.graph.input)));
  ck_assert_int_eq(count_commands(fitted("upsampling", graph, within(20, 12))), 4);
}

DVNN_TEST(a_global_pooling_over_more_rows_than_the_device_takes_is_right) {
  for (const bool average : {false, true}) {
    Maker m(1030, 2);
    const Graph graph = m.done({sure(m.global_pooling("global", m.graph.input, average))});
    auto model = dvnn::plan::plan(graph, PlanOptions(), InputSpec(), nullptr);
    ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
    const auto input = numbers(3 * 2060, -1, 1);
    const auto want = run_reference("global", graph, input.data());
    expect_close("global", run_model("global", std::move(model.value()), input.data()), want.data(),
                 want.size());
  }
}

DVNN_TEST(too_many_channels_are_the_cpus) {
  Maker m(4, 4);
  PlanOptions options;
  options.limits.channels = 40;
  const int fc = sure(m.inner_product("fc", m.graph.input, 6, numbers(6 * 48), numbers(6)));
  const Graph planned = fitted("fully connected", m.done({fc}), options);
  ck_assert_int_eq(count_commands(planned), 0);
  const auto cpu = std::find_if(planned.nodes.begin(), planned.nodes.end(),
                                [](const Node& n) { return n.op == Op::kCpu; });
  dvnn_assert_text(cpu->why, "48 channels exceed the device's limit of 40");
}

DVNN_TEST(a_constant_of_a_whole_picture_is_added) {
  Maker m(4, 4);
  const int map = sure(m.constant("map", {1, 8, 4, 4}, numbers(128)));
  const Graph graph = m.done({sure(m.sum("sum", m.conv(m.graph.input, 8), map))});
  auto model = dvnn::plan::plan(graph, PlanOptions(), InputSpec(), nullptr);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  const auto input = numbers(48, -1, 1);
  const auto want = run_reference("constant", graph, input.data());
  expect_close("constant", run_model("constant", std::move(model.value()), input.data()),
               want.data(), want.size());
}

DVNN_TEST(the_vendors_converter_refuses_what_is_too_large) {
  Maker m(1, 84);
  Graph graph = single(&m, m.conv(m.graph.input, 8, 1));
  PlanOptions options = within(30, 10);
  options.as_vendor = true;
  const Status status = fit_device(&graph, options);
  ck_assert(!status.ok());
  dvnn_assert_text(status.error().message,
                   "layer 'layer0': input width 84 exceeds the device's limit of 30");
}

DVNN_TEST(plans_for_small_limits_compute_the_same) {
  source.seed(dvnn_seed(43));
  for (int round = 0; round < dvnn_rounds(120); ++round) {
    Maker m(6 + static_cast<int>(source() % 30), 6 + static_cast<int>(source() % 50));
    std::vector<int> values = {m.conv(m.graph.input, 8, 3)};
    for (int step = 0; step < 5; ++step) {
      const int any = values[source() % values.size()];
      const bool small = m.shape_of(any).h() < 4 || m.shape_of(any).w() < 4;
      switch (source() % 6) {
        case 0:
          values.push_back(m.conv(any, 8, 1 + 2 * static_cast<int>(source() % 3)));
          break;
        case 1:
          values.push_back(m.active(any, source() % 2 ? Activation::kPrelu : Activation::kRelu));
          break;
        case 2:
          if (!small)
            values.push_back(m.pooled(any, source() % 2, 2 + source() % 2, 2, source() % 2));
          break;
        case 3:
          values.push_back(sure(m.sum("sum", any, m.conv(any, m.shape_of(any).c(), 3))));
          break;
        case 4:
          values.push_back(m.conv(any, m.shape_of(any).c(), 3, 1, m.shape_of(any).c()));
          break;
        default:
          values.push_back(m.joined({any, m.conv(any, 8, 3)}));
      }
    }
    const Graph graph = m.done({values.back()});
    PlanOptions options =
        within(10 + static_cast<int>(source() % 20), 8 + static_cast<int>(source() % 8));
    options.hwc = source() % 2 != 0;
    auto model = dvnn::plan::plan(graph, options, InputSpec(), nullptr);
    ck_assert_msg(model.ok(), "round %d: %s", round,
                  model.ok() ? "" : model.error().message.c_str());
    const auto input = numbers(graph.shape_of(graph.input).count(), -1, 1);
    const auto want = run_reference("limits", graph, input.data());
    expect_close("limits", run_model("limits", std::move(model.value()), input.data()), want.data(),
                 want.size());
  }
}

}  // namespace dvnn::test::limits_tests
