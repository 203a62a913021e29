// SPDX-License-Identifier: Apache-2.0
// Chains of functions of single elements: a span of each operand is converted, goes through all
// steps while it is in the first-level cache, and is rounded once. Threads share the spans.
#include <algorithm>
#include <array>

#include "base/format.h"
#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "base/saturate.h"
#include "base/share.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

using kernels::Curve;
using kernels::Operation;
using Step = ElementwiseAttributes::Step;

// In the enums' order.
constexpr const char* kCurveNames[] = {
    "abs",         "clip",      "elu",  "erf",   "exp",  "gelu", "gelutanh",
    "hardsigmoid", "hardswish", "line", "log",   "mish", "relu", "reciprocal",
    "sigmoid",     "softplus",  "sqrt", "swish", "tanh"};
constexpr const char* kOperationNames[] = {"add", "div", "max", "min", "mul", "prelu", "sub"};
static_assert(std::size(kCurveNames) == static_cast<size_t>(Curve::kTanh) + 1);
static_assert(std::size(kOperationNames) == static_cast<size_t>(Operation::kSub) + 1);

constexpr int kMostInputs = 8;
constexpr size_t kMostSteps = 16, kMostConstants = 16, kMostChannels = 1 << 20;
// Operands and results that exist at the same time; their spans fit the first-level cache or miss
// it by little.
constexpr size_t kMostValues = ElementwiseAttributes::kMostValues;
// Elements of a span. It holds whole pixels of any chunk, which has 1 to 8 channels.
constexpr size_t kSpanElements = 840;
constexpr size_t kChunk = 8;                          // channels
constexpr size_t kTaskElements = 16 * kSpanElements;  // what is worth a thread's while

// A part of the tensor in the order of its memory. In the device's layouts its pixels have
// `channels` channels side by side, from `first_channel` on; row-major tensors are one part.
struct Task {
  size_t begin, count, first_channel, channels;
};

// The source of an operand's elements.
struct Source {
  enum Kind { kTensor, kChannels, kSingle } kind;
  size_t input;         // of kTensor, and of the others unless they are constants
  const float* values;  // of constants; else null until the run
};

class Elementwise final : public CpuLayer {
 public:
  Elementwise(const ElementwiseAttributes& attributes, Span<const TensorDesc> inputs,
              const TensorDesc& output)
      : constants_(attributes.constants),
        steps_(attributes.steps),
        split_(split_at(output.shape, std::min(1, output.shape.rank - 1))),
        count_(static_cast<size_t>(output.shape.elements())) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto elements = static_cast<size_t>(inputs[i].shape.elements());
      sources_.push_back({kind_of(elements), i, nullptr});
      if (elements == count_) in_step_ = in_step_ && lie_in_step(inputs[i], output);
    }
    for (const auto& values : constants_) {
      sources_.push_back(
          {values.size() == 1 ? Source::kSingle : Source::kChannels, 0, values.data()});
    }
    const Layout layout = plain_layout(output);
    const bool in_chunks = layout != Layout::kNchw && has_channels();
    // Other layouts have the same chunks where there is but one.
    const bool known = lies_in_chunks(layout) || split_.count <= kChunk;
    if (!is_float(output.type) || (in_chunks && !known)) in_step_ = false;
    chunked_ = in_step_ && in_chunks;
    make_tasks(output.shape);
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    std::array<const float*, kMostValues> values{};
    std::array<ConstTensorView, kMostInputs> views;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Source& source = sources_[i];
      if (source.values) {
        values[i] = source.values;
      } else if (source.kind != Source::kTensor || !in_step_) {
        values[i] = as_floats(inputs[source.input]);
      }
      if (i < inputs.size()) views[i] = inputs[i];
    }
    TensorView to = outputs[0];
    if (!in_step_) {
      to.desc.type = ElementType::kFloat32;
      to.data = reinterpret_cast<uint8_t*>(Workspace::current().floats(count_));
    }
    share(static_cast<int>(tasks_.size()),
          [&](int i) { compute(nth(tasks_, i), values.data(), views.data(), to); });
    if (!in_step_) write_nchw(reinterpret_cast<const float*>(to.data), outputs[0]);
    return {};
  }

 private:
  Source::Kind kind_of(size_t elements) const {
    return elements == count_ ? Source::kTensor
           : elements == 1    ? Source::kSingle
                              : Source::kChannels;
  }

  bool has_channels() const {
    return std::any_of(sources_.begin(), sources_.end(),
                       [](const Source& s) { return s.kind == Source::kChannels; });
  }

  // Copied even if they are row-major floats: the output may have the memory of an input.
  static const float* as_floats(const ConstTensorView& view) {
    float* const floats =
        Workspace::current().floats(static_cast<size_t>(view.desc.shape.elements()));
    read_nchw(view, floats);
    return floats;
  }

  void make_tasks(const Shape& shape) {
    if (!chunked_) return add_tasks(0, count_, 0, 1);
    const auto pixels = static_cast<size_t>(shape.h()) * static_cast<size_t>(shape.w());
    size_t at = 0;
    for (int n = 0; n < shape.n(); ++n) {
      for (size_t c = 0; c < split_.count; c += kChunk) {
        const size_t channels = std::min(kChunk, split_.count - c);
        add_tasks(at, pixels * channels, c, channels);
        at += pixels * channels;
      }
    }
  }

  void add_tasks(size_t begin, size_t count, size_t first_channel, size_t channels) {
    for (size_t done = 0; done < count; done += kTaskElements) {
      tasks_.push_back(
          {begin + done, std::min(kTaskElements, count - done), first_channel, channels});
    }
  }

  void compute(const Task& task, const float* const* values, const ConstTensorView* inputs,
               const TensorView& to) const {
    alignas(64) float spans[kMostValues][kSpanElements];
    const float* at[kMostValues];
    for (size_t done = 0; done < task.count; done += kSpanElements) {
      const size_t begin = task.begin + done, count = std::min(kSpanElements, task.count - done);
      for (size_t i = 0; i < sources_.size(); ++i) {
        at[i] = operand(i, task, begin, count, done == 0, values[i], inputs, spans[i]);
      }
      size_t made = sources_.size();
      for (const Step& step : steps_) {
        float* const result = spans[made];
        const float* const x = at[step.x];
        if (step.combines) {
          kernels::operate(step.operation, x, at[step.y], result, count);
        } else {
          kernels::apply(step.curve, step.a, step.b, x, result, count);
        }
        at[made++] = result;
      }
      put_span(at[made - 1], to, begin, count);
    }
  }

  // A span of the i-th operand, in `span` unless it lies in memory as it is needed.
  const float* operand(size_t i, const Task& task, size_t begin, size_t count, bool first,
                       const float* values, const ConstTensorView* inputs, float* span) const {
    const Source& source = sources_[i];
    switch (source.kind) {
      case Source::kTensor:
        if (values) return values + begin;
        return span_of(inputs[source.input], begin, count, span);
      case Source::kSingle:
        if (first) std::fill(span, span + std::min(kSpanElements, task.count), values[0]);
        return span;
      case Source::kChannels:
        if (!chunked_) {
          spread_rows(values, begin, count, span);
        } else if (first) {
          const float* const pixel = values + task.first_channel;
          for (size_t k = 0; k < std::min(kSpanElements, task.count); k += task.channels) {
            std::copy(pixel, pixel + task.channels, span + k);
          }
        }
        return span;
    }
    return span;
  }

  // The values of channels for elements begin..begin+count-1 of a row-major tensor.
  void spread_rows(const float* values, size_t begin, size_t count, float* span) const {
    size_t channel = begin / split_.inner % split_.count;
    size_t left = split_.inner - begin % split_.inner;  // elements of that channel
    for (size_t k = 0; k < count;) {
      const size_t run = std::min(left, count - k);
      std::fill(span + k, span + k + run, values[channel]);
      k += run;
      channel = channel + 1 == split_.count ? 0 : channel + 1;
      left = split_.inner;
    }
  }

  std::vector<std::vector<float>> constants_;
  std::vector<Step> steps_;
  AxisSplit split_;
  size_t count_;
  std::vector<Source> sources_;
  std::vector<Task> tasks_;
  bool in_step_ = true;   // the tensors are walked in the order of their memory
  bool chunked_ = false;  // and operands per channel repeat from pixel to pixel
};

Result<Step> parse_step(const Json& json, size_t before) {
  JsonReader in(json, "steps");
  Step step;
  const std::string name = in.text("function");
  const auto operation = parse_name<Operation>(name, kOperationNames, "function");
  step.combines = operation.ok();
  if (step.combines) {
    step.operation = operation.value();
  } else {
    const auto curve = parse_name<Curve>(name, kCurveNames, "function");
    if (!curve.ok()) in.fail("function", curve.error().message);
    if (curve.ok()) step.curve = curve.value();
    step.a = static_cast<float>(in.number("a", 0));
    step.b = static_cast<float>(in.number("b", 0));
  }
  // Only earlier values: `before` of them are there.
  const std::vector<int> of = in.integers("of", 0, static_cast<int64_t>(before) - 1, 2);
  if (of.size() != (step.combines ? 2u : 1u)) in.fail("of", "needs one number per operand");
  DVNN_TRY(in.status());
  step.x = of[0];
  step.y = of.back();
  return step;
}

Json to_json(const Step& step) {
  if (step.combines) {
    return {{"function", nth(kOperationNames, step.operation)}, {"of", {step.x, step.y}}};
  }
  Json out = {{"function", nth(kCurveNames, step.curve)}, {"of", {step.x}}};
  if (step.a != 0) out["a"] = step.a;
  if (step.b != 0) out["b"] = step.b;
  return out;
}

// The elements of a list; at most `most`.
Result<std::vector<const Json*>> list_of(JsonReader* in, const char* name, size_t most) {
  std::vector<const Json*> items;
  const Json* list = in->member(name);
  if (!list) return items;
  if (!list->is_array() || list->size() > most) {
    in->fail(name, format("must be a list of at most %zu", most));
  } else {
    for (const auto& item : *list) items.push_back(&item);
  }
  DVNN_TRY(in->status());
  return items;
}

}  // namespace

Result<ElementwiseAttributes> ElementwiseAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  ElementwiseAttributes a;
  a.inputs = static_cast<int>(in.integer("inputs", 1, kMostInputs));
  DVNN_ASSIGN(const auto lists, list_of(&in, "constants", ElementwiseAttributes::kMostConstants));
  for (const Json* list : lists) {
    const Json holder = {{"values", *list}};
    JsonReader values(holder, "constants");
    a.constants.push_back(values.numbers("values", kMostChannels));
    DVNN_TRY(values.status());
  }
  DVNN_ASSIGN(const auto steps, list_of(&in, "steps", ElementwiseAttributes::kMostSteps));
  size_t values = static_cast<size_t>(a.inputs) + lists.size();
  if (steps.empty()) in.fail("steps", "is empty");
  if (values + steps.size() > kMostValues) {
    in.fail("steps", format("makes more than %zu values with inputs and constants", kMostValues));
  }
  DVNN_TRY(in.status());
  for (const Json* step : steps) {
    DVNN_ASSIGN(Step parsed, parse_step(*step, values++));
    a.steps.push_back(parsed);
  }
  return a;
}

Json ElementwiseAttributes::to_json() const {
  Json out = {{"inputs", inputs}, {"steps", Json::array()}};
  if (!constants.empty()) out["constants"] = constants;
  for (const Step& step : steps) out["steps"].push_back(layers::to_json(step));
  return out;
}

DimsResult ElementwiseAttributes::dims_after(Span<const Shape> shapes) const {
  return same_dims(shapes);
}

Cost ElementwiseAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  Cost cost = one_look(in, out);
  // Floats of all tensors, also of those that are, where they do not lie in one order.
  const uint64_t elements = saturating_sum(elements_of(in), elements_of(out));
  cost.shared_bytes = saturating_product(elements, sizeof(float));
  return cost.add_work(saturating_product(elements_of(out), steps.size()));
}

LayerResult ElementwiseAttributes::create(Span<const TensorDesc> in,
                                          Span<const TensorDesc> out) const {
  const auto wanted = static_cast<size_t>(inputs);
  DVNN_TRY(expect_arity(in, wanted, wanted, out));
  DVNN_TRY(expect_same_elements(in[0], out[0]));
  const AxisSplit split = split_at(out[0].shape, std::min(1, out[0].shape.rank - 1));
  for (const TensorDesc& desc : in) {
    const int64_t elements = desc.shape.elements();
    if (elements != out[0].shape.elements() && elements != 1 &&
        elements != static_cast<int64_t>(split.count)) {
      return Error{ErrorCode::kMalformed, "the input " + desc.shape.to_string() +
                                              " does not repeat to " + out[0].shape.to_string() +
                                              " by channels"};
    }
  }
  for (const auto& values : constants) {
    if (values.size() == 1 || values.size() == split.count) continue;
    return Error{ErrorCode::kMalformed,
                 format("a constant has %zu values for %zu channels", values.size(), split.count)};
  }
  return std::unique_ptr<CpuLayer>(new Elementwise(*this, in, out[0]));
}

}  // namespace dvnn::layers
