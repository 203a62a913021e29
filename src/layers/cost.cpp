// SPDX-License-Identifier: Apache-2.0
#include "layers/cost.h"

#include <algorithm>

#include "base/budget.h"
#include "base/saturate.h"
#include "decode/ssd.h"
#include "layers/attributes.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

uint64_t sum(uint64_t a, uint64_t b) {
  return saturating_sum(a, b);
}

uint64_t product(uint64_t a, uint64_t b) {
  return saturating_product(a, b);
}

uint64_t elements(const TensorDesc& desc) {
  return static_cast<uint64_t>(std::max<int64_t>(desc.shape.elements(), 0));
}

uint64_t floats(uint64_t count) {
  return product(count, sizeof(float));
}

uint64_t whole(int value) {
  return static_cast<uint64_t>(std::max(value, 1));
}

uint64_t last_dim(const Shape& shape) {
  return shape.rank > 0 ? whole(shape[shape.rank - 1]) : 1;
}

// Returns what each of a layer's results takes beside one look at each input: taps of windows,
// products. Layers without a line here take no more.
template <typename Attributes>
uint64_t taps_of(const Attributes&, Span<const TensorDesc>) {
  return 1;
}

uint64_t taps_of(const MatMulAttributes&, Span<const TensorDesc> inputs) {
  return inputs.size() == 0 ? 1 : last_dim(inputs[0].shape);
}

uint64_t taps_of(const RecurrentAttributes& layer, Span<const TensorDesc> inputs) {
  if (inputs.size() < 3) return 1;
  const uint64_t columns = sum(last_dim(inputs[1].shape), last_dim(inputs[2].shape));
  return product(whole(layer.gates()), columns);
}

uint64_t taps_of(const LrnAttributes& lrn, Span<const TensorDesc>) {
  return static_cast<uint64_t>(lrn.size);
}

uint64_t taps_of(const GridSampleAttributes&, Span<const TensorDesc>) {
  return 64;  // four along each of three axes
}

uint64_t taps_of(const WindowPoolAttributes& pool, Span<const TensorDesc>) {
  uint64_t taps = 1;
  for (int size : pool.kernel) taps = product(taps, static_cast<uint64_t>(size));
  return taps;
}

uint64_t taps_of(const ResizeAttributes& resize, Span<const TensorDesc>) {
  // Four along each axis that changes; with antialiasing, as many as fall together.
  double most = 1;
  for (float scale : resize.scales) most = std::max(most, 1 / static_cast<double>(scale));
  constexpr uint64_t kPerAxis = 4 * Shape::kMaxRank;
  return resize.antialias ? product(kPerAxis, static_cast<uint64_t>(std::min(most, 1e9)))
                          : kPerAxis;
}

template <typename Attributes, typename = void>
struct IsFloatLayer : std::false_type {};
template <typename Attributes>
struct IsFloatLayer<Attributes, std::void_t<decltype(Attributes::kIsFloatLayer)>> : std::true_type {
};

// The tensors of a layer, and the elements of its results.
struct Ends {
  Span<const TensorDesc> inputs, outputs;
  uint64_t made;
};

// Whether a function of whole tensors keeps lists of where each element of a group is, or state.
// The others keep no more than a table for each axis.
template <typename Attributes>
constexpr bool kKeepsLists = false;
template <>
constexpr bool kKeepsLists<ArgReduceAttributes> = true;
template <>
constexpr bool kKeepsLists<CumSumAttributes> = true;
template <>
constexpr bool kKeepsLists<RecurrentAttributes> = true;
template <>
constexpr bool kKeepsLists<ReduceAttributes> = true;
template <>
constexpr bool kKeepsLists<StandardizeAttributes> = true;
template <>
constexpr bool kKeepsLists<TopKAttributes> = true;

template <typename Attributes>
constexpr bool kMultiplies =
    std::is_same_v<Attributes, MatMulAttributes> || std::is_same_v<Attributes, RecurrentAttributes>;

// The lists of parts that are moved: as many as there are elements, and 1,024 at the most.
uint64_t parts_of(uint64_t made) {
  constexpr uint64_t kMost = 1024, kBytes = 256;
  return std::min(floats(made), kMost * kBytes);
}

uint64_t tables_of(const TensorDesc& desc) {
  constexpr uint64_t kBytesPerIndex = 64;  // of an axis: taps with their weights
  uint64_t indices = 0;
  for (int i = 0; i < desc.shape.rank; ++i) indices = sum(indices, whole(desc.shape[i]));
  return product(indices, kBytesPerIndex);
}

// Returns what a type of layer takes beyond a look at each of its tensors. Types without a line of
// their own take no more, or are functions of whole tensors (float_layer.h): these make a result in
// the workspace.
template <typename Attributes>
void add_own(const Attributes& layer, const Ends& ends, Cost* cost) {
  if (!IsFloatLayer<Attributes>::value) return;
  cost->shared_bytes = sum(cost->shared_bytes, product(3, floats(ends.made)));
  for (const TensorDesc& desc : ends.inputs) {
    cost->shared_bytes = sum(cost->shared_bytes, floats(elements(desc)));
  }
  cost->kept_bytes = sum(cost->kept_bytes, parts_of(ends.made));
  for (Span<const TensorDesc> tensors : {ends.inputs, ends.outputs}) {
    for (const TensorDesc& desc : tensors) {
      cost->kept_bytes = sum(cost->kept_bytes, tables_of(desc));
      if (kKeepsLists<Attributes>) {
        cost->kept_bytes = sum(cost->kept_bytes, floats(elements(desc)));
      }
    }
  }
  const uint64_t taps = product(ends.made, taps_of(layer, ends.inputs));
  cost->work = sum(cost->work, taps);
  if (kMultiplies<Attributes>) cost->macs = sum(cost->macs, taps);
}

void keep_result(const Ends& ends, Cost* cost) {
  cost->kept_bytes = sum(cost->kept_bytes, floats(ends.made));
}

void share_result(const Ends& ends, Cost* cost) {
  cost->shared_bytes = sum(cost->shared_bytes, floats(ends.made));
}

void add_own(const ConstantAttributes&, const Ends& ends, Cost* cost) {
  keep_result(ends, cost);
}

void add_own(const NormalizeAttributes&, const Ends& ends, Cost* cost) {
  keep_result(ends, cost);
}

void add_own(const PadAttributes&, const Ends& ends, Cost* cost) {
  cost->kept_bytes = sum(cost->kept_bytes, parts_of(ends.made));
}

void add_own(const PriorBoxAttributes&, const Ends& ends, Cost* cost) {
  keep_result(ends, cost);
}

void add_own(const SliceAttributes&, const Ends& ends, Cost* cost) {
  cost->kept_bytes = sum(cost->kept_bytes, parts_of(ends.made));
  share_result(ends, cost);
}

void add_own(const SoftmaxAttributes&, const Ends& ends, Cost* cost) {
  share_result(ends, cost);
}

void add_own(const EltwiseAttributes&, const Ends& ends, Cost* cost) {
  share_result(ends, cost);
}

void add_own(const ElementwiseAttributes& layer, const Ends& ends, Cost* cost) {
  cost->work = sum(cost->work, product(ends.made, layer.steps.size()));
}

void add_own(const BinaryAttributes&, const Ends& ends, Cost* cost) {
  share_result(ends, cost);
}

// Returns whether one picture becomes another.
bool is_of_pictures(const Ends& ends) {
  return ends.inputs.size() == 1 && ends.outputs.size() == 1 && ends.inputs[0].shape.rank == 4 &&
         ends.outputs[0].shape.rank == 4;
}

void add_own(const PoolingAttributes& pooling, const Ends& ends, Cost* cost) {
  if (!is_of_pictures(ends)) return;
  const Shape& in = ends.inputs[0].shape;
  const uint64_t w = whole(in.w()), h = whole(in.h());
  const uint64_t x = pooling.global ? w : std::min(whole(pooling.x.kernel), w);
  const uint64_t y = pooling.global ? h : std::min(whole(pooling.y.kernel), h);
  cost->work = sum(cost->work, product(ends.made, product(x, y)));
}

void add_own(const ConvolutionAttributes& convolution, const Ends& ends, Cost* cost) {
  if (!is_of_pictures(ends)) return;
  const ConvolutionParams& params = convolution.params;
  const Shape &in = ends.inputs[0].shape, &out = ends.outputs[0].shape;
  const uint64_t channels = std::max<uint64_t>(whole(in.c()) / whole(params.groups), 1);
  const uint64_t taps = product(channels, product(whole(params.kernel_x), whole(params.kernel_y)));
  cost->macs = product(ends.made, taps);
  cost->work = sum(cost->work, cost->macs);
  // Weights and biases, of each group for eight channels more at most.
  const uint64_t kept = sum(whole(out.c()), product(8, whole(params.groups)));
  cost->kept_bytes = sum(cost->kept_bytes, floats(product(kept, sum(taps, 1))));
  // The input with its pads and with the zeros between its pixels.
  const auto reach = [](int results, int stride, int kernel, int dilation) {
    return sum(product(whole(results), whole(stride)), product(whole(kernel), whole(dilation)));
  };
  constexpr uint64_t kSlack = 64;  // floats of a row that are read but not used
  const int step_x = params.transposed ? 1 : params.stride_x;
  const int step_y = params.transposed ? 1 : params.stride_y;
  const uint64_t rows = reach(out.h(), step_y, params.kernel_y, params.dilation_y);
  const uint64_t columns = sum(reach(out.w(), step_x, params.kernel_x, params.dilation_x),
                               product(whole(step_x), kSlack));
  const uint64_t wide = product(whole(in.c()), product(rows, columns));
  cost->shared_bytes = sum(cost->shared_bytes, floats(wide));
  cost->shared_bytes = sum(cost->shared_bytes, product(taps, sizeof(int64_t)));
  cost->work = sum(cost->work, wide);
}

void add_own(const DetectionOutputAttributes& layer, const Ends& ends, Cost* cost) {
  if (ends.inputs.size() != 3) return;
  constexpr uint64_t kBytesPerPrior = 128;  // priors twice, boxes, candidates and results
  const uint64_t count = elements(ends.inputs[2]) / 8;
  cost->kept_bytes = sum(cost->kept_bytes, product(count, kBytesPerPrior));
  cost->candidates = decode::count_candidates(layer.ssd, count);
}

template <typename Attributes>
void add_own_of(const LayerAttributes& layer, const Ends& ends, Cost* cost) {
  add_own(*layer.as<Attributes>(), ends, cost);
}

template <typename... Types>
void add_own_of_any(const LayerAttributes& layer, const Ends& ends, Cost* cost,
                    TypeList<Types...>) {
  using AddOwn = void (*)(const LayerAttributes&, const Ends&, Cost*);
  static constexpr AddOwn kAddOwn[] = {add_own_of<Types>...};
  kAddOwn[layer.place()](layer, ends, cost);
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  kept_bytes = sum(kept_bytes, other.kept_bytes);
  shared_bytes = std::max(shared_bytes, other.shared_bytes);
  work = sum(work, other.work);
  macs = sum(macs, other.macs);
  candidates = sum(candidates, other.candidates);
  return *this;
}

Cost cost_of(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
             Span<const TensorDesc> outputs) {
  // Most layers keep their inputs and results as row-major floats, unless those are row-major
  // already.
  Cost cost;
  for (const TensorDesc& desc : inputs) {
    cost.work = sum(cost.work, elements(desc));
    if (!is_plain_float(desc)) cost.shared_bytes = sum(cost.shared_bytes, floats(elements(desc)));
  }
  Ends ends{inputs, outputs, 0};
  for (const TensorDesc& desc : outputs) {
    ends.made = sum(ends.made, elements(desc));
    if (!is_plain_float(desc)) cost.shared_bytes = sum(cost.shared_bytes, floats(elements(desc)));
  }
  cost.work = sum(cost.work, ends.made);
  add_own_of_any(attributes, ends, &cost, LayerTypes());
  return cost;
}

void add_cost(const Cost& cost, BudgetSheet* sheet) {
  sheet->add(Budget::kScratchBytes, sum(cost.kept_bytes, cost.shared_bytes),
             "memory of CPU layers beside their tensors");
  sheet->add(Budget::kCpuWork, cost.work, "elements that CPU layers read, write and multiply");
  sheet->add(Budget::kCandidates, cost.candidates, "boxes that CPU layers look at for overlaps");
}

Status check_cost(const Cost& cost, const std::string& whose) {
  BudgetSheet sheet;
  add_cost(cost, &sheet);
  const Status status = sheet.result("");
  if (!status.ok()) return status.error().within(whose);
  return status;
}

}  // namespace dvnn::layers
