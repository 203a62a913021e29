// SPDX-License-Identifier: Apache-2.0
// Splits poolings into the device's small windows, in several steps if that computes the same.
#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "device/limits.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

using device::Extent;
using device::PoolKind;

// One pooling of several in a row.
struct Stage {
  Extent size, stride;
  device::Pad pad;
  float scale = 1;
};

bool has_pads(const device::Pad& pad) {
  return pad.left + pad.right + pad.top + pad.bottom > 0;
}

// Sets the pads after the input so that there are `out` windows.
void fit_pads(int in, int out, int window, int stride, int before, int* after) {
  *after = std::max(0, (out - 1) * stride + window - before - in);
}

void fit_pads(const Shape& in, const Shape& out, device::ConvRun* run) {
  fit_pads(in.w(), out.w(), run->pool_size.x, run->pool_stride.x, run->pool_pad.left,
           &run->pool_pad.right);
  fit_pads(in.h(), out.h(), run->pool_size.y, run->pool_stride.y, run->pool_pad.top,
           &run->pool_pad.bottom);
}

// Returns whether windows lie side by side and cover the input, so that maxima of maxima, or
// averages of averages, compute the same.
bool tiles_exactly(const device::ConvRun& run, const Shape& in, const Shape& out) {
  return !has_pads(run.pool_pad) && out.w() * run.pool_size.x == in.w() &&
         out.h() * run.pool_size.y == in.h() &&
         (out.w() == 1 || run.pool_stride.x == run.pool_size.x) &&
         (out.h() == 1 || run.pool_stride.y == run.pool_size.y);
}

// Returns the largest factor of `size` from 2 to `most`; 0 if there is none; 1 if `size` is 1.
int factor_of(int size, int most) {
  for (int f = most; f > 1; --f) {
    if (size % f == 0) return f;
  }
  return size == 1 ? 1 : 0;
}

std::vector<Stage> split_tiles(Extent size, int most) {
  std::vector<Stage> stages;
  while (size.x > 1 || size.y > 1) {
    Stage stage;
    stage.size = stage.stride = {factor_of(size.x, most), factor_of(size.y, most)};
    if (stage.size.x == 0 || stage.size.y == 0) return {};
    stage.scale = 1.0f / static_cast<float>(stage.size.x * stage.size.y);
    size = {size.x / stage.size.x, size.y / stage.size.y};
    stages.push_back(stage);
  }
  return stages;
}

// Splits windows that move by one element: 5 x 5 is 3 x 3 of 3 x 3, and so on.
std::vector<Stage> split_overlapping(const device::ConvRun& run) {
  const int k = run.pool_size.x, pad = (k - 1) / 2;
  const device::Pad& p = run.pool_pad;
  const bool centred = p.left == pad && p.right == pad && p.top == pad && p.bottom == pad;
  if (k % 2 == 0 || run.pool_size.y != k || !centred || run.pool_stride.x != 1 ||
      run.pool_stride.y != 1) {
    return {};
  }
  Stage stage;
  stage.size = {3, 3};
  stage.pad = {1, 1, 1, 1};
  return std::vector<Stage>(static_cast<size_t>(pad), stage);
}

// Splits an average over the whole image. A window beyond the device's `most` becomes two steps,
// with zeros after the input if its size has no factors. The scales divide the sum by the true
// number of pixels.
std::vector<Stage> split_global_average(const Shape& in, int most) {
  Stage first, second;
  auto split = [most](int size, int* inner, int* outer, int* pad) {
    for (*pad = 0; *pad < most; ++*pad) {
      for (*inner = most; *inner > 1; --*inner) {
        *outer = (size + *pad) / *inner;
        if ((size + *pad) % *inner == 0 && *outer <= most) return true;
      }
    }
    return false;
  };
  if (!split(in.w(), &first.size.x, &second.size.x, &first.pad.right) ||
      !split(in.h(), &first.size.y, &second.size.y, &first.pad.bottom)) {
    return {};
  }
  first.stride = first.size;
  second.stride = second.size;
  const float own = static_cast<float>(first.size.x * first.size.y);
  first.scale = 1 / own;
  second.scale = own / static_cast<float>(in.w() * in.h());
  return {first, second};
}

// Splits averages whose windows begin a multiple of tiles apart into averages of tiles: 10 elements
// with a stride of 2 are 2 with a stride of 2, then 5 with a stride of 1.
std::vector<Stage> split_into_tiles(const device::ConvRun& run, int most) {
  Stage first, second;
  auto split = [most](int size, int stride, int* tile, int* step, int* rest, int* rest_step) {
    *tile = size, *step = stride, *rest = *rest_step = 1;
    if (size <= most) return true;
    *tile = *step = factor_of(std::gcd(size, stride), most);
    if (*tile < 2 || size / *tile > most) return false;
    *rest = size / *tile, *rest_step = stride / *tile;
    return true;
  };
  if (!split(run.pool_size.x, run.pool_stride.x, &first.size.x, &first.stride.x, &second.size.x,
             &second.stride.x) ||
      !split(run.pool_size.y, run.pool_stride.y, &first.size.y, &first.stride.y, &second.size.y,
             &second.stride.y)) {
    return {};
  }
  first.scale = 1 / static_cast<float>(first.size.x * first.size.y);
  second.scale = 1 / static_cast<float>(second.size.x * second.size.y);
  return {first, second};
}

bool is_global(const device::ConvRun& run, const Shape& in, const Shape& out) {
  return out.w() == 1 && out.h() == 1 && !has_pads(run.pool_pad) && run.pool_size.x >= in.w() &&
         run.pool_size.y >= in.h();
}

bool fits_maximum(const device::ConvRun& run, const Shape& in, int most) {
  return run.pool_size.x >= 2 && std::max(run.pool_size.x, run.pool_size.y) <= most && in.w() >= 2;
}

// Returns whether windows are clipped at the padded end, as in Caffe and ONNX. The device divides
// averages by the whole window.
bool is_clipped(const device::ConvRun& run, const Shape& in, const Shape& out) {
  return (out.w() - 1) * run.pool_stride.x + run.pool_size.x >
             in.w() + run.pool_pad.left + run.pool_pad.right ||
         (out.h() - 1) * run.pool_stride.y + run.pool_size.y >
             in.h() + run.pool_pad.top + run.pool_pad.bottom;
}

// Replaces the pooling at `index` by `stages`; the last takes its place.
void put_stages(Rewriter* rewriter, size_t index, const std::vector<Stage>& stages) {
  const Node last = rewriter->take(index);
  const Shape shape = rewriter->graph().shape_of(last.inputs[0]);
  device::Dims dims = last.input_dims(shape);
  int value = last.inputs[0];
  for (size_t i = 0; i < stages.size(); ++i) {
    Node node = last;
    node.inputs[0] = value;
    if (i > 0) node.fold = {0, 0};
    node.run.pool_size = stages[i].size;
    node.run.pool_stride = stages[i].stride;
    node.run.pool_pad = stages[i].pad;
    if (node.run.pool == PoolKind::kAverage) node.run.pool_scale = stages[i].scale;
    dims = device::run_output(node.run, dims);
    if (i + 1 < stages.size()) {
      node.name += "_part" + std::to_string(i);
      node.output = rewriter->add_value(node.name, {1, dims.c, dims.h, dims.w});
    }
    value = node.output;
    if (i + 1 < stages.size()) {
      rewriter->insert_before(index, std::move(node));
    } else {
      rewriter->replace(index, std::move(node));
    }
  }
}

// Returns the poolings that compute a maximum, possibly only the pooling itself; empty if the
// device cannot compute it.
std::vector<Stage> stages_of_maximum(const device::ConvRun& run, const Shape& in, const Shape& out,
                                     int most) {
  if (fits_maximum(run, in, most)) return {{run.pool_size, run.pool_stride, run.pool_pad}};
  std::vector<Stage> stages = tiles_exactly(run, in, out)
                                  ? split_tiles({in.w() / out.w(), in.h() / out.h()}, most)
                                  : split_overlapping(run);
  const bool fit = std::all_of(stages.begin(), stages.end(), [most](const Stage& s) {
    return s.size.x >= 2 && std::max(s.size.x, s.size.y) <= most;
  });
  return fit ? stages : std::vector<Stage>();
}

std::vector<Stage> stages_of_average(const Node& node, const Shape& in, const Shape& out,
                                     int most) {
  const device::ConvRun& run = node.run;
  if (!node.pooling().counts_pads) return {};
  const bool small = std::max(run.pool_size.x, run.pool_size.y) <= most;
  if (small && !is_clipped(run, in, out)) {
    const float pixels = static_cast<float>(run.pool_size.x * run.pool_size.y);
    return {{run.pool_size, run.pool_stride, run.pool_pad, 1 / pixels}};
  }
  std::vector<Stage> stages;
  if (tiles_exactly(run, in, out)) {
    stages = split_tiles({in.w() / out.w(), in.h() / out.h()}, most);
  }
  if (stages.empty() && is_global(run, in, out)) stages = split_global_average(in, most);
  if (stages.empty() && !has_pads(run.pool_pad) && !is_clipped(run, in, out)) {
    stages = split_into_tiles(run, most);
  }
  return stages;
}

int largest_window(const Node& node, const device::Limits& limits) {
  return node.run.pool == PoolKind::kMax ? limits.maximum_window : limits.average_window;
}

std::vector<Stage> stages_of(const Node& node, const Shape& in, const Shape& out,
                             const device::Limits& limits) {
  const int most = largest_window(node, limits);
  return node.run.pool == PoolKind::kMax ? stages_of_maximum(node.run, in, out, most)
                                         : stages_of_average(node, in, out, most);
}

// Returns why the device cannot do a pooling.
std::string why_no_pooling(const Node& node, const Shape& in, int most) {
  const device::ConvRun& run = node.run;
  if (!node.pooling().counts_pads) return "the device counts zeros around a picture";
  if (run.pool_size.x > most || run.pool_size.y > most) {
    return format("the window of %d x %d exceeds the device's %d x %d", run.pool_size.x,
                  run.pool_size.y, most, most);
  }
  if (in.w() < 2) return "the picture is one column wide";
  return "its last windows are clipped, which the device does not do";
}

// Splits a window over the whole picture, whose pixels may be counted in another width and height:
// sets those with which the device has the stages.
std::vector<Stage> fold_global(Node* node, const Shape& in, const Shape& out,
                               const device::Limits& limits) {
  const int64_t pixels = int64_t{in.w()} * in.h();
  for (int w = limits.width; w > 0; --w) {
    if (pixels % w != 0 || pixels / w > limits.height) continue;
    const Shape folded = {1, in.c(), static_cast<int>(pixels / w), w};
    Node probe = *node;
    probe.run.pool_size = {folded.w(), folded.h()};
    const std::vector<Stage> stages = stages_of(probe, folded, out, limits);
    if (stages.empty()) continue;
    node->run.pool_size = probe.run.pool_size;
    node->fold = {folded.w(), folded.h()};
    return stages;
  }
  return {};
}

}  // namespace

void to_cpu_pooling(Node* node, const Shape& out) {
  const device::ConvRun& run = node->run;
  node->op = Op::kCpu;
  if (run.pool == PoolKind::kUpsample) {
    layers::ResizeAttributes resize;
    resize.coordinates = layers::ResizeAttributes::Coordinates::kAsymmetric;
    resize.rounding = layers::ResizeAttributes::Rounding::kFloor;
    resize.sizes = {1, out.c(), out.h(), out.w()};
    node->set_layer(resize);
    return;
  }
  const device::Pad& pad = run.pool_pad;
  const bool even = pad.left == pad.right && pad.top == pad.bottom;
  if (run.pool == PoolKind::kAverage && node->pooling().counts_pads && !even) {
    // Caffe's layer has only pads before the input, and assumes as many behind it.
    layers::WindowPoolAttributes windows;
    windows.operation = layers::WindowPoolAttributes::Operation::kAverage;
    windows.kernel = {run.pool_size.y, run.pool_size.x};
    windows.stride = {run.pool_stride.y, run.pool_stride.x};
    windows.dilation = {1, 1};
    windows.before = {pad.top, pad.left};
    windows.after = {pad.bottom, pad.right};
    windows.ceil = node->pooling().ceil;
    windows.counts_pads = true;
    node->set_layer(windows);
    return;
  }
  layers::PoolingAttributes pooling;
  pooling.average = run.pool != PoolKind::kMax;
  pooling.x = {run.pool_size.x, run.pool_stride.x, run.pool_pad.left};
  pooling.y = {run.pool_size.y, run.pool_stride.y, run.pool_pad.top};
  pooling.counts_pads = node->pooling().counts_pads;
  node->set_layer(pooling);
}

Status lower_poolings(Graph* graph, const device::Limits& limits) {
  Rewriter rewriter(graph);
  for (size_t i = 0; i < rewriter.count(); ++i) {
    DVNN_TRY(rewriter.check_size());
    Node& node = rewriter.node(i);
    if (node.op != Op::kPooling || node.run.pool == PoolKind::kUpsample) continue;
    const Shape in = graph->shape_of(node.inputs[0]), out = graph->shape_of(node.output);
    const bool beyond = in.w() > limits.width || in.h() > limits.height;
    const std::vector<Stage> stages =
        beyond ? fold_global(&node, in, out, limits) : stages_of(node, in, out, limits);
    if (stages.empty()) {
      node.why = beyond ? "the picture is larger than the device takes"
                        : why_no_pooling(node, in, largest_window(node, limits));
      to_cpu_pooling(&node, out);
    } else if (stages.size() == 1) {
      node.run.pool_scale = stages[0].scale;
      if (node.fold.x == 0) fit_pads(in, out, &node.run);
    } else {
      put_stages(&rewriter, i, stages);
    }
  }
  rewriter.finish();
  return {};
}

}  // namespace dvnn::plan
