// SPDX-License-Identifier: Apache-2.0
// Random graphs of everything that front ends build, planned with all passes together and run on
// the software device, against the imported graph in FP32. Passes that are right alone can be wrong
// together; the judge (tests/judge) compares with another engine, this sweep runs more often.
#include <cmath>
#include <numeric>

#include "base/format.h"
#include "check_suite.h"
#include "graph_maker.h"
#include "network/network.h"
#include "plan/plan.h"
#include "plan/reference/reference.h"
#include "tensor/half.h"

namespace dvnn::test::random_plans_tests {

DVNN_SUITE(plan_random_plans);

using namespace dvnn::plan;
using device::Activation;
using kernels::Curve;
using kernels::Operation;

namespace {

int below(int limit) {
  return static_cast<int>(source() % static_cast<unsigned>(limit));
}

template <typename T, size_t N>
T one_of(const T (&list)[N]) {
  return list[source() % N];
}

constexpr Activation kActivations[] = {Activation::kRelu, Activation::kTanh,    Activation::kPrelu,
                                       Activation::kElu,  Activation::kSigmoid, Activation::kRelu6};

// A graph that grows by steps of any kind. A step that does not fit what there is adds nothing.
class Wanderer : public Maker {
 public:
  Wanderer(int h, int w) : Maker(h, w), values_{graph.input} {}

  void step() {
    const int in = any();
    const int kind = below(20);
    if (picture(in)) {
      step_of_picture(kind, in);
    } else {
      step_of_array(kind, in);
    }
  }

  plan::Graph finished() {
    std::vector<int> outputs = {values_.back()};
    while (outputs.size() < 3 && below(2) == 0) {
      const int more = any();
      if (more != graph.input && std::count(outputs.begin(), outputs.end(), more) == 0) {
        outputs.push_back(more);
      }
    }
    return done(outputs);
  }

  bool is_empty() const { return values_.size() < 2; }

 private:
  bool picture(int v) const { return shape_of(v).rank == 4 && shape_of(v).n() == 1; }
  // Late values are read more often, so that graphs are deep.
  int any() const {
    const int n = static_cast<int>(values_.size());
    return nth(values_, n - 1 - std::min(below(n), below(n)));
  }
  void add(const Result<int>& made) {
    if (made.ok() && shape_of(made.value()).elements() <= 40000) values_.push_back(made.value());
  }
  // Returns another value of this shape, or a new one made of `like`.
  int partner(int like) {
    for (int i = 0; i < 4; ++i) {
      const int other = any();
      if (shape_of(other) == shape_of(like)) return other;
    }
    return picture(like) ? convolved(like, shape_of(like).c(), 1 + 2 * below(2)) : like;
  }
  int convolved(int in, int m, int kernel) { return conv(in, m, kernel); }

  void step_of_picture(int kind, int in) {
    const Shape s = shape_of(in);
    static constexpr int kChannels[] = {1, 3, 4, 8, 8, 12, 16, 16, 24, 40};
    switch (kind) {
      case 0:
      case 1:
      case 2:
        add(any_convolution(in, one_of(kChannels)));
        break;
      case 3:
        add(below(3) ? active(in, one_of(kActivations))
                     : activation(name(), in, Activation::kRelu, 0, {}));
        break;
      case 4:
        add(scaled(in));
        break;
      case 5:
        add(any_pooling(in));
        break;
      case 6:
        add(sum(name(), in, partner(in)));
        break;
      case 7:
      case 8:
        add(any_join(in));
        break;
      case 9:
        add(any_slice(in));
        break;
      case 10:
        add(upsample2(name(), in));
        break;
      case 11:  // a gate, SiLU, or a product
        add(binary(name(), Operation::kMul, in,
                   below(2) ? active(in, Activation::kSigmoid) : partner(in)));
        break;
      case 12:
        add(shuffled(in));
        break;
      case 13:
        add(gated(in));
        break;
      case 14:
        add(pad(name(), in, below(3), below(3), below(3), below(3)));
        break;
      case 15: {
        const int to = one_of(kChannels);
        const auto weights = static_cast<size_t>(s.elements()) * static_cast<size_t>(to);
        if (s.elements() < 4000) {
          add(inner_product(name(), in, to, numbers(weights), numbers(static_cast<size_t>(to))));
        }
        break;
      }
      case 16:
        add(focused(in));
        break;
      case 17:
        add(any_function(in));
        break;
      case 18:
        add(binary(name(), below(2) ? Operation::kMax : Operation::kAdd, in, constant_like(in)));
        break;
      default:
        step_of_array(kind, in);
    }
  }

  void step_of_array(int kind, int in) {
    const Shape s = shape_of(in);
    switch (kind % 8) {
      case 0: {
        std::vector<int64_t> order;
        for (int i = 0; i < s.rank; ++i) order.push_back(i);
        std::shuffle(order.begin() + (below(2) && s.rank > 1 ? 1 : 0), order.end(), source);
        add(permute(name(), in, order));
        break;
      }
      case 1:
        add(any_reshape(in));
        break;
      case 2:
        add(softmax(name(), in, below(s.rank)));
        break;
      case 3:
        add(any_slice(in));
        break;
      case 4:
        add(any_join(in));
        break;
      case 5:
        add(any_function(in));
        break;
      case 6: {
        layers::ReduceAttributes reduce;
        reduce.operation = below(2) ? layers::Reduction::kMean : layers::Reduction::kMax;
        reduce.axes = {below(s.rank)};
        reduce.keep = below(2) != 0;
        add(cpu(name(), reduce, {in}));
        break;
      }
      default:
        add(binary(name(), below(2) ? Operation::kMul : Operation::kMin, in, partner(in)));
    }
  }

  // Makes inputs of some dense kernels zeros, and some results numbers that are the same
  // everywhere.
  static void prune(size_t inputs, size_t taps, std::vector<float>* weights,
                    std::vector<float>* bias) {
    std::vector<bool> unread(inputs);
    const int every = 1 + below(4);
    for (size_t c = 0; c < inputs; ++c) unread[c] = below(every) != 0;
    for (size_t m = 0; m < bias->size(); ++m) {
      const bool constant = below(3) == 0;
      if (constant) (*bias)[m] = -std::fabs((*bias)[m]) * static_cast<float>(below(2));
      for (size_t c = 0; c < inputs; ++c) {
        if (!constant && !unread[c]) continue;
        const auto from = static_cast<std::ptrdiff_t>((m * inputs + c) * taps);
        std::fill_n(weights->begin() + from, taps, 0.0f);
      }
    }
  }

  Result<int> any_convolution(int in, int m) {
    const Shape s = shape_of(in);
    import::ConvSpec spec;
    static constexpr int kKernels[] = {1, 1, 1, 3, 3, 3, 2, 5, 7, 8};
    spec.kernel_x = one_of(kKernels);
    spec.kernel_y = below(5) ? spec.kernel_x : one_of(kKernels);
    spec.stride_x = spec.stride_y = below(4) ? 1 : 2;
    const bool dilated = below(8) == 0;
    if (dilated) spec.dilation_x = spec.dilation_y = 2;
    const auto pad_of = [&](int64_t kernel) {
      return below(3) ? (kernel - 1) * spec.dilation_x / 2 : below(3);
    };
    spec.left = pad_of(spec.kernel_x);
    spec.right = below(3) ? spec.left : below(3);
    spec.top = pad_of(spec.kernel_y);
    spec.bottom = below(3) ? spec.top : below(3);
    const int groups[] = {1, 1, 1, s.c(), s.c() % 2 == 0 ? 2 : 1, s.c() % 16 == 0 ? s.c() / 8 : 1};
    spec.groups = one_of(groups);
    spec.outputs = spec.groups == 1 ? m : spec.groups * (1 + below(2)) * (spec.groups < 5 ? 8 : 1);
    const bool fits = (spec.kernel_x - 1) * spec.dilation_x + 1 <= s.w() + spec.left + spec.right &&
                      (spec.kernel_y - 1) * spec.dilation_y + 1 <= s.h() + spec.top + spec.bottom;
    if (!fits) return Error{ErrorCode::kUnsupported, "a kernel beyond the picture"};
    const auto count =
        static_cast<size_t>(spec.outputs * (s.c() / spec.groups) * spec.kernel_x * spec.kernel_y);
    const auto bias = static_cast<size_t>(spec.outputs);
    const float most = 2 / std::sqrt(static_cast<float>(count / bias));
    if (below(8) == 0 && spec.left < spec.kernel_x && spec.right < spec.kernel_x &&
        spec.top < spec.kernel_y && spec.bottom < spec.kernel_y && !dilated) {
      return deconvolution(name(), in, spec, 0, 0, numbers(count, -most, most), numbers(bias));
    }
    std::vector<float> weights = numbers(count, -most, most), offsets = numbers(bias);
    if (spec.groups == 1 && below(3) == 0) {
      prune(static_cast<size_t>(s.c()), static_cast<size_t>(spec.kernel_x * spec.kernel_y),
            &weights, &offsets);
    }
    return convolution(name(), in, spec, weights, offsets);
  }

  Result<int> any_pooling(int in) {
    const Shape s = shape_of(in);
    import::PoolSpec spec;
    spec.average = below(2) != 0;
    if (below(4) == 0) return global_pooling(name(), in, spec.average);
    spec.kernel_x = spec.kernel_y = 1 + below(5);
    spec.stride_x = spec.stride_y = 1 + below(3);
    const int pad = below(2) ? static_cast<int>(spec.kernel_x) / 2 : 0;
    spec.left = spec.right = spec.top = spec.bottom = pad;
    spec.ceil = below(2) != 0;
    spec.counts_pads = below(2) != 0;
    if (std::min(s.h(), s.w()) < spec.kernel_x) {
      return Error{ErrorCode::kUnsupported, "a window beyond the picture"};
    }
    return pooling(name(), in, spec);
  }

  Result<int> any_join(int in) {
    const Shape s = shape_of(in);
    const int axis = below(3) ? std::min(1, s.rank - 1) : below(s.rank);
    std::vector<int> parts = {in};
    for (int i = 1 + below(3); i > 0; --i) {
      int other = any();
      bool fits = shape_of(other).rank == s.rank;
      for (int k = 0; fits && k < s.rank; ++k) fits = k == axis || shape_of(other)[k] == s[k];
      if (!fits) other = picture(in) ? convolved(in, s.c(), 3) : in;
      parts.push_back(other);
    }
    return concat(name(), parts, axis);
  }

  Result<int> any_slice(int in) {
    const Shape s = shape_of(in);
    std::vector<int64_t> begin, step, count;
    for (int i = 0; i < s.rank; ++i) {
      const bool cut = s[i] > 1 && below(3) == 0;
      const int by = !cut ? 1 : below(3) ? 1 : below(2) ? 2 : -1;
      int first = by < 0 ? s[i] - 1 : cut ? below(s[i]) : 0;
      if (i == 1 && cut && by > 0 && below(2)) first = first / 8 * 8;
      const int most = by > 0 ? (s[i] - 1 - first) / by + 1 : first + 1;
      begin.push_back(first);
      step.push_back(by);
      count.push_back(cut && below(2) ? 1 + below(most) : most);
    }
    return slice(name(), in, begin, step, count);
  }

  Result<int> any_reshape(int in) {
    const Shape s = shape_of(in);
    const int64_t all = s.elements();
    static constexpr int64_t kFactors[] = {1, 2, 3, 4, 8, 12, 16};
    const int64_t a = one_of(kFactors), b = one_of(kFactors);
    if (all % (a * b) != 0) return reshape(name(), in, {1, all});
    switch (below(4)) {
      case 0:
        return reshape(name(), in, {1, a, b, all / (a * b)});
      case 1:
        return reshape(name(), in, {1, all / (a * b), a, b});
      case 2:
        return reshape(name(), in, {a, b, all / (a * b)});
      default:
        return reshape(name(), in, {1, all / a, a});
    }
  }

  Result<int> any_function(int in) {
    static constexpr struct {
      Curve curve;
      float a, b;
    } kFunctions[] = {
        {Curve::kAbs, 0, 0},  {Curve::kLine, -1, 0},        {Curve::kSigmoid, 0, 0},
        {Curve::kTanh, 0, 0}, {Curve::kHardSwish, 0, 0},    {Curve::kSwish, 1, 0},
        {Curve::kGelu, 0, 0}, {Curve::kClip, -0.5f, 0.75f}, {Curve::kHardSigmoid, 0.2f, 0.5f}};
    const auto& function = one_of(kFunctions);
    return unary(name(), function.curve, in, function.a, function.b);
  }

  // Channels of groups taken in turns.
  Result<int> shuffled(int in) {
    const Shape s = shape_of(in);
    const int groups = s.c() % 4 == 0 ? 4 : s.c() % 3 == 0 ? 3 : 1;
    const int wide = sure(reshape(name(), in, {1, groups, s.c() / groups, s.h(), s.w()}));
    const int turned = sure(permute(name(), wide, {0, 2, 1, 3, 4}));
    return reshape(name(), turned, {1, s.c(), s.h(), s.w()});
  }

  // Squeeze and excite.
  Result<int> gated(int in) {
    const int mean = sure(global_pooling(name(), in, true));
    const int gate = active(conv(mean, shape_of(in).c(), 1, 0), Activation::kSigmoid);
    return binary(name(), Operation::kMul, in, gate);
  }

  // Four phases of a picture beside one another.
  Result<int> focused(int in) {
    const Shape s = shape_of(in);
    if (s.h() % 2 != 0 || s.w() % 2 != 0) return Error{ErrorCode::kUnsupported, "odd"};
    std::vector<int> phases;
    for (int i = 0; i < 4; ++i) {
      phases.push_back(sure(
          slice(name(), in, {0, 0, i % 2, i / 2}, {1, 1, 2, 2}, {1, s.c(), s.h() / 2, s.w() / 2})));
    }
    std::shuffle(phases.begin(), phases.end(), source);
    return concat(name(), phases, 1);
  }

  int constant_like(int in) {
    const Shape s = shape_of(in);
    const bool single = below(2) != 0;
    const auto count = static_cast<size_t>(single ? 1 : s.c());
    return sure(constant(name(), {1, static_cast<int64_t>(count), 1, 1}, numbers(count)));
  }

  std::vector<int> values_;
};

Result<std::vector<std::vector<float>>> run_on_device(network::Model model, const float* input) {
  const TensorDesc desc = model.tensor(model.input.tensor).desc;
  DVNN_ASSIGN(auto network,
              network::Network::create(std::move(model), device::Device::open("soft").value()));
  DVNN_ASSIGN(auto slot, network->create_slot());
  write_nchw(input, {desc, slot->input().data()});
  DVNN_TRY(slot->run());
  std::vector<std::vector<float>> outputs;
  for (size_t i = 0; i < network->model().outputs.size(); ++i) {
    const ConstTensorView out = slot->output(i);
    outputs.emplace_back(out.desc.shape.count());
    read_nchw(out, outputs.back().data());
  }
  return outputs;
}

float rounded(float value) {
  return half_to_float(float_to_half(value));
}

// The graph with every value and every weight rounded to binary16: its results show how far
// rounding may change a result.
Graph in_half(const Graph& graph) {
  Graph half = graph;
  half.nodes.clear();
  std::vector<int> now(graph.values.size());
  std::iota(now.begin(), now.end(), 0);
  for (Node node : graph.nodes) {
    for (int& value : node.inputs) value = nth(now, value);
    for (auto* list : {&node.weights, &node.bias}) {
      std::transform(list->begin(), list->end(), list->begin(), rounded);
    }
    Node round;
    round.op = Op::kCpu;
    round.name = node.name + "_half";
    round.inputs = {node.output};
    round.output = half.add_value(round.name, Shape(half.shape_of(node.output)));
    round.set_layer(layers::ElementwiseAttributes::of(Curve::kHalf));
    nth(now, node.output) = round.output;
    half.nodes.push_back(std::move(node));
    half.nodes.push_back(std::move(round));
  }
  for (int& value : half.outputs) value = nth(now, value);
  return half;
}

// Rounding each value once is one sample of rounding's effect, so a result may be off by some times
// as much, or by a hundredth of the largest result if that sample is small by chance.
constexpr float kTimes = 8, kChance = 0.01f;

float largest_of(const std::vector<float>& values) {
  float largest = 0;
  for (float v : values) largest = std::max(largest, std::fabs(v));
  return largest;
}

float farthest(const std::vector<float>& a, const std::vector<float>& b) {
  float worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float off = std::fabs(a[i] - b[i]);
    worst = std::isnan(off) ? INFINITY : std::max(worst, off);
  }
  return worst;
}

std::string run_text(const device::ConvRun& r) {
  return format(
      ", convolution %d groups of %d x %d / %d x %d dilated %d x %d pads %d %d %d %d, pooling %d "
      "of "
      "%d x %d / %d x %d pads %d %d",
      static_cast<int>(r.conv), r.kernel.x, r.kernel.y, r.stride.x, r.stride.y, r.dilation.x,
      r.dilation.y, r.conv_pad.left, r.conv_pad.right, r.conv_pad.top, r.conv_pad.bottom,
      static_cast<int>(r.pool), r.pool_size.x, r.pool_size.y, r.pool_stride.x, r.pool_stride.y,
      r.pool_pad.left, r.pool_pad.top);
}

std::string written(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += "\n  " + node.name + ": " + std::to_string(static_cast<int>(node.op)) + " " +
            node.layer_type() + " of";
    for (int v : node.inputs) {
      text += " " + nth(graph.values, v).name + " " + graph.shape_of(v).to_string();
    }
    text += " is " + graph.shape_of(node.output).to_string();
    if (node.op == Op::kConvolution || node.op == Op::kPooling) text += run_text(node.run);
    if (graph.is_output(node.output)) text += ", an output";
  }
  return text;
}

Result<std::vector<std::vector<float>>> computed(const Graph& graph,
                                                 const std::vector<float>& input) {
  DVNN_ASSIGN(auto reference, Reference::create(graph));
  return reference->run(input.data());
}

// Makes, plans and runs a graph of some steps.
Status check(unsigned seed, int steps, Graph* graph) {
  source.seed(seed);
  Wanderer w(4 + below(12), 4 + below(12));
  PlanOptions options;
  options.hwc = below(2) != 0;
  if (below(4) == 0) {
    options.limits.width = 5 + below(10);
    options.limits.height = 5 + below(10);
  }
  for (int i = 0; i < steps; ++i) w.step();
  if (w.is_empty()) return {};
  *graph = w.finished();
  if (std::getenv("DVNN_SHOW"))
    std::fprintf(stderr, "hwc %d limits %d x %d\n", options.hwc, options.limits.width,
                 options.limits.height);
  // Ranges are measured with pixels of this picture, and the input below is in the same range.
  InputSpec picture;
  picture.mean = {127.5f, 127.5f, 127.5f};
  picture.scale = {1 / 127.5f, 1 / 127.5f, 1 / 127.5f};
  DVNN_ASSIGN(network::Model model, dvnn::plan::plan(*graph, options, picture, nullptr));
  const auto input = numbers(graph->shape_of(graph->input).count(), -1, 1);
  DVNN_ASSIGN(const auto want, computed(*graph, input));
  DVNN_ASSIGN(const auto noisy, computed(in_half(*graph), input));
  // The picture's mean and scale have taken some of the graph's steps, which this applies here.
  std::vector<float> folded = input;
  const network::InputInfo& info = model.input;
  for (size_t i = 0; !info.folded_scale.empty() && i < folded.size(); ++i) {
    const size_t c = i / graph->shape_of(graph->input).pixels();
    folded[i] = folded[i] * info.folded_scale[c] + info.folded_bias[c];
  }
  DVNN_ASSIGN(const auto have, run_on_device(std::move(model), folded.data()));
  for (size_t o = 0; o < have.size(); ++o) {
    const float off = farthest(want[o], have[o]);
    const float noise = farthest(want[o], noisy[o]), largest = largest_of(want[o]);
    if (off <= kTimes * noise + kChance * largest) continue;
    return Error{
        ErrorCode::kInternal,
        format("output %zu is off by %g of %g, where rounding does %g", o, off, largest, noise)};
  }
  return {};
}

}  // namespace

DVNN_TEST(random_graphs_compute_what_they_say) {
  const unsigned first = dvnn_seed(4400);
  for (int round = 0; round < dvnn_rounds(1500); ++round) {
    const unsigned seed = first + static_cast<unsigned>(round);
    const int most = 3 + static_cast<int>(seed % 14);
    Graph graph;
    if (check(seed, most, &graph).ok()) continue;
    // The fewest of the same steps that show the fault.
    for (int steps = 1; steps <= most; ++steps) {
      const Status status = check(seed, steps, &graph);
      if (!status.ok()) std::fputs(written(graph).c_str(), stderr);
      ck_assert_msg(status.ok(), "seed %u, %d steps: %s", seed, steps,
                    status.ok() ? "" : status.error().message.c_str());
    }
  }
}

}  // namespace dvnn::test::random_plans_tests
