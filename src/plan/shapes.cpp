// SPDX-License-Identifier: Apache-2.0
#include "plan/shapes.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "decode/priors.h"
#include "tensor/tensor_json.h"

namespace dvnn::plan {
namespace {

using device::PoolKind;
using Dims = std::vector<int64_t>;

Error misfit(const std::string& message) {
  return {ErrorCode::kUnsupported, message};
}

class Inference {
 public:
  explicit Inference(Graph* graph) : graph_(*graph) {}

  Status run(int channels, int height, int width, const Cancellation* cancellation) {
    DVNN_TRY(set(graph_.input, {1, channels, height, width}));
    for (Node& node : graph_.nodes) {
      DVNN_TRY(check_cancelled(cancellation));
      auto dims = dims_after(&node);
      Status status;
      if (dims.ok()) {
        status = set(node.output, dims.value());
      } else {
        status = dims.error();
      }
      if (!status.ok()) return status.error().within("layer '" + node.name + "'");
    }
    return {};
  }

 private:
  const Shape& in(const Node& node, size_t i = 0) const { return graph_.shape_of(node.inputs[i]); }

  Status set(int value, const Dims& dims) {
    DVNN_ASSIGN(graph_.values[static_cast<size_t>(value)].shape, checked_shape(dims));
    return {};
  }

  Result<Dims> dims_after(Node* node) {
    const bool reads = !node->inputs.empty();
    if (!reads && node->op != Op::kCpu) return Error{ErrorCode::kMalformed, "has no input"};
    switch (node->op) {
      case Op::kConvolution:
      case Op::kPooling:
        return after_window(node);
      case Op::kInnerProduct:
        if (in(*node).elements() != node->fixed_shape.elements()) {
          return misfit(format("is fully connected: it takes %lld numbers, not %s",
                               static_cast<long long>(node->fixed_shape.elements()),
                               in(*node).to_string().c_str()));
        }
        return Dims{1, node->run.m};
      case Op::kAffine:
      case Op::kActivation:
        return dims_of(in(*node));
      case Op::kAdd:
        if (node->inputs.size() == 2 && in(*node) == in(*node, 1)) return dims_of(in(*node));
        return misfit("adds what differs in size");
      case Op::kConcat:
        return after_concat(*node);
      case Op::kReshape:
        return after_reshape(*node);
      case Op::kCpu:
        return after_cpu(node);
      default:
        return Error{ErrorCode::kInternal, "is no operation of a front end"};
    }
  }

  Result<Dims> after_window(Node* of) {
    Node& node = *of;
    const Shape& shape = in(node);
    if (shape.rank != 4 || shape.n() != 1) return misfit("needs a picture");
    device::ConvRun& run = node.run;
    if (node.op == Op::kConvolution) {
      const device::Dims out = device::conv_output(run, {shape.w(), shape.h(), shape.c()});
      return Dims{1, out.c, out.h, out.w};
    }
    if (run.pool == PoolKind::kUpsample) {
      return Dims{1, shape.c(), int64_t{2} * shape.h(), int64_t{2} * shape.w()};
    }
    if (node.params.value("global", false)) {
      run.pool_size = {shape.w(), shape.h()};  // over all there is
      return Dims{1, shape.c(), 1, 1};
    }
    const bool ceil = node.params.value("ceil", false);
    const device::Pad& p = run.pool_pad;
    return Dims{
        1, shape.c(),
        count_windows(shape.h(), p.top, p.bottom, run.pool_size.y, run.pool_stride.y, ceil),
        count_windows(shape.w(), p.left, p.right, run.pool_size.x, run.pool_stride.x, ceil)};
  }

  Result<Dims> after_concat(const Node& node) {
    const Shape& first = in(node);
    JsonReader reader(node.params, "Concat");
    const auto axis = static_cast<int>(reader.integer("axis", 0, first.rank - 1));
    DVNN_TRY(reader.status());
    Dims dims = dims_of(first);
    dims[static_cast<size_t>(axis)] = 0;
    for (int value : node.inputs) {
      Shape shape = graph_.shape_of(value);
      if (shape.rank != first.rank) return misfit("joins what differs in dimensions");
      dims[static_cast<size_t>(axis)] += shape[axis];
      shape[axis] = first[axis];
      if (shape != first) {
        return misfit("joins " + graph_.shape_of(value).to_string() + " and " + first.to_string());
      }
    }
    return dims;
  }

  // By params["dims"]: 0: as in the input, -1: what is left.
  Result<Dims> after_reshape(const Node& node) {
    const Shape& shape = in(node);
    JsonReader reader(node.params, "Reshape");
    const std::vector<int> rule = reader.integers("dims", -1, 1 << 28, Shape::kMaxRank);
    DVNN_TRY(reader.status());
    Dims dims(rule.begin(), rule.end());
    int64_t known = 1, left = -1;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 0) dims[i] = static_cast<int>(i) < shape.rank ? shape[static_cast<int>(i)] : 1;
      if (dims[i] < 0) left = static_cast<int64_t>(i);
      if (dims[i] > 0 && (known *= dims[i]) > kMaxTensorElements) break;
    }
    if (left >= 0 && known <= shape.elements() && shape.elements() % known == 0) {
      dims[static_cast<size_t>(left)] = shape.elements() / known;
      known = shape.elements();
    }
    if (known == shape.elements()) return dims;
    return misfit("does not hold the elements of " + shape.to_string());
  }

  Result<Dims> after_slice(const Node& node) {
    const Shape& shape = in(node);
    JsonReader reader(node.params, "Slice");
    const auto begin = reader.integers("begin", 0, 1 << 28, Shape::kMaxRank);
    const auto step = reader.integers("step", 1, 1 << 28, Shape::kMaxRank);
    const auto count = reader.integers("count", -1, 1 << 28, Shape::kMaxRank);  // -1: to the end
    DVNN_TRY(reader.status());
    const auto rank = static_cast<size_t>(shape.rank);
    if (begin.size() != rank || step.size() != rank || count.size() != rank) {
      return misfit("slices " + std::to_string(begin.size()) + " dimensions of " +
                    shape.to_string());
    }
    Dims dims;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t size = shape[static_cast<int>(i)];
      const int64_t most = (size - begin[i] + step[i] - 1) / step[i];
      dims.push_back(count[i] < 0 ? most : count[i]);
      if (dims.back() > most) return misfit("takes more than there is of " + shape.to_string());
    }
    return dims;
  }

  Result<Dims> after_permute(const Node& node) {
    const Shape& shape = in(node);
    JsonReader reader(node.params, "Permute");
    const auto order = reader.integers("order", 0, shape.rank - 1, Shape::kMaxRank);
    DVNN_TRY(reader.status());
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != static_cast<int>(i)) return misfit("its order names an axis twice");
    }
    if (static_cast<int>(order.size()) != shape.rank) {
      return misfit("its order does not name every axis of " + shape.to_string());
    }
    Dims dims;
    for (int axis : order) dims.push_back(shape[axis]);
    return dims;
  }

  // NumPy's broadcasting.
  Result<Dims> after_binary(const Node& node) {
    if (node.inputs.size() != 2) return misfit("needs two inputs");
    const Shape &x = in(node), &y = in(node, 1);
    const int rank = std::max(x.rank, y.rank);
    Dims dims;
    for (int i = 0; i < rank; ++i) {
      const int p = i - (rank - x.rank), q = i - (rank - y.rank);
      const int m = p < 0 ? 1 : x[p], n = q < 0 ? 1 : y[q];
      if (m != n && m != 1 && n != 1) {
        return misfit(x.to_string() + " and " + y.to_string() +
                      " do not go together: the model holds numbers for one size");
      }
      dims.push_back(std::max(m, n));
    }
    return dims;
  }

  Result<Dims> after_pad(const Node& node) {
    constexpr int kMost = 127;
    const Shape& shape = in(node);
    if (shape.rank != 4) return misfit("needs a picture");
    JsonReader reader(node.params, "Pad");
    const int64_t left = reader.integer("left", 0, kMost),
                  right = reader.integer("right", 0, kMost);
    const int64_t top = reader.integer("top", 0, kMost),
                  bottom = reader.integer("bottom", 0, kMost);
    DVNN_TRY(reader.status());
    return Dims{1, shape.c(), shape.h() + top + bottom, shape.w() + left + right};
  }

  // Boxes on the grid of one value's pixels over the picture of another's.
  Result<Dims> after_prior_box(Node* node) {
    for (size_t i = 0; i < node->shape_inputs.size(); ++i) {
      const Shape& shape = graph_.shape_of(node->shape_inputs[i]);
      if (shape.rank != 4) return misfit("needs pictures");
      node->params[i == 0 ? "layer_w" : "img_w"] = shape.w();
      node->params[i == 0 ? "layer_h" : "img_h"] = shape.h();
    }
    DVNN_ASSIGN(const auto prior, decode::parse_prior_box(node->params));
    const int64_t count = int64_t{prior.layer_w} * prior.layer_h * decode::priors_per_cell(prior);
    if (prior.listed) return Dims{1, count, 8};
    return Dims{1, 2, 4 * count};
  }

  Result<Dims> after_detection_output(const Node& node) {
    constexpr int64_t kDefaultRows = 200, kMost = 1 << 20;
    JsonReader reader(node.params, "DetectionOutput");
    const int64_t rows = reader.integer("keep_top_k", -1, kMost, -1);
    DVNN_TRY(reader.status());
    return Dims{1, 1, rows > 0 ? rows : kDefaultRows, 7};
  }

  Result<Dims> after_cpu(Node* node) {
    static const char* const kSame[] = {"ELU",   "Eltwise", "Normalize", "PReLU", "ReLU",
                                        "Scale", "Sigmoid", "Softmax",   "TanH",  "Unary"};
    const std::string& type = node->type;
    if (type == "PriorBox") return after_prior_box(node);
    if (type == "Constant") return dims_of(node->fixed_shape);
    if (node->inputs.empty()) return misfit("has no input");
    if (type == "DetectionOutput") return after_detection_output(*node);
    if (type == "Binary") return after_binary(*node);
    if (type == "Permute") return after_permute(*node);
    if (type == "Slice") return after_slice(*node);
    if (type == "Pad") return after_pad(*node);
    if (std::find(std::begin(kSame), std::end(kSame), type) != std::end(kSame)) {
      return dims_of(in(*node));
    }
    return misfit("layers of type " + type + " do not say how their size follows the input's");
  }

  Graph& graph_;
};

}  // namespace

std::vector<int64_t> dims_of(const Shape& shape) {
  return std::vector<int64_t>(shape.dims, shape.dims + shape.rank);
}

Result<Shape> checked_shape(const std::vector<int64_t>& dims) {
  if (dims.empty() || dims.size() > Shape::kMaxRank) {
    return Error{ErrorCode::kLimit,
                 format("%zu dimensions, not 1..%d", dims.size(), Shape::kMaxRank)};
  }
  Shape shape;
  shape.rank = static_cast<int>(dims.size());
  int64_t elements = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 1 || dims[i] > kMaxTensorElements || (elements *= dims[i]) > kMaxTensorElements) {
      return Error{
          ErrorCode::kLimit,
          format("dimension %zu is %lld; a tensor has 1 to %lld elements", i,
                 static_cast<long long>(dims[i]), static_cast<long long>(kMaxTensorElements))};
    }
    shape.dims[i] = static_cast<int>(dims[i]);
  }
  return shape;
}

int64_t count_windows(int64_t size, int64_t before, int64_t after, int64_t kernel, int64_t stride,
                      bool ceil) {
  const int64_t room = size + before + after - kernel;
  if (room < 0) return 0;
  int64_t n = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
  if (ceil && (n - 1) * stride >= size + before) --n;
  return n;
}

Status infer_shapes(Graph* graph, int channels, int height, int width,
                    const Cancellation* cancellation) {
  return Inference(graph).run(channels, height, width, cancellation);
}

}  // namespace dvnn::plan
