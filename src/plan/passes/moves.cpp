// SPDX-License-Identifier: Apache-2.0
// Chains of reshapes and permutations that together are one move, as of MobileViT's patches, which
// PyTorch exports as three permutations, or none.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/nth.h"
#include "plan/passes/move_view.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {

using layers::PermuteAttributes;

bool only_moves(const Node& node) {
  return node.inputs.size() == 1 &&
         (node.op == Op::kReshape || node.layer<PermuteAttributes>() != nullptr);
}

MoveView::MoveView(const Shape& shape) {
  int64_t stride = shape.elements();
  for (int i = 0; i < shape.rank; ++i) {
    stride /= shape[i];
    dims_.push_back({{shape[i], stride}});
  }
}

std::optional<MoveView> MoveView::of(const Graph& graph, const std::vector<int>& chain) {
  MoveView view(graph.shape_of(nth(graph.nodes, chain.back()).inputs[0]));
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    const Node& node = nth(graph.nodes, *at);
    if (!view.move(node, graph.shape_of(node.output))) return std::nullopt;
  }
  return view;
}

bool MoveView::move(const Node& node, const Shape& shape) {
  const auto* permute = node.layer<PermuteAttributes>();
  if (!permute) return reshape(shape);
  std::vector<Factors> now;
  for (int axis : permute->order) now.push_back(nth(dims_, axis));
  dims_ = std::move(now);
  return true;
}

bool MoveView::reshape(const Shape& shape) {
  Factors left = factors();
  std::reverse(left.begin(), left.end());  // the next one is the last
  std::vector<Factors> now;
  for (int i = 0; i < shape.rank; ++i) {
    now.emplace_back();
    for (int size = shape[i]; size > 1;) {
      if (left.empty()) return false;
      Factor next = left.back();
      left.pop_back();
      if (next.size > size) {
        if (next.size % size != 0) return false;
        const int rest = next.size / size;
        left.push_back({rest, next.stride});
        next = {size, next.stride * rest};
      }
      if (size % next.size != 0) return false;
      size /= next.size;
      now.back().push_back(next);
    }
  }
  dims_ = std::move(now);
  return true;
}

MoveView::Factors MoveView::factors() const {
  Factors all;
  for (const Factors& dim : dims_) {
    for (const Factor& factor : dim) {
      if (factor.size == 1) continue;
      if (!all.empty() && all.back().stride == factor.stride * factor.size) {
        all.back() = {all.back().size * factor.size, factor.stride};
      } else {
        all.push_back(factor);
      }
    }
  }
  return all;
}

std::vector<int> MoveView::places(Span<const Factor> factors) {
  std::vector<int> places = {0};
  for (const Factor& factor : factors) {
    std::vector<int> finer;
    for (int place : places) {
      for (int k = 0; k < factor.size; ++k) {
        finer.push_back(place + k * static_cast<int>(factor.stride));
      }
    }
    places = std::move(finer);
  }
  return places;
}

namespace {

layers::ReshapeAttributes exactly(const Shape& shape) {
  return {std::vector<int>(shape.dims, shape.dims + shape.rank)};
}

class MoveMerger {
 public:
  explicit MoveMerger(Graph* graph) : graph_(*graph), rewriter_(graph) {}

  void run() {
    for (size_t i = rewriter_.count(); i-- > 0;) {
      if (!rewriter_.node(i).dead && only_moves(rewriter_.node(i))) merge(i);
    }
    rewriter_.finish();
  }

 private:
  // Merges the longest chain that ends at the node and is one move.
  void merge(size_t index) {
    std::vector<int> chain = {static_cast<int>(index)};  // from the last node to the first
    while (chain.size() < kMostMoves) {
      const int before = rewriter_.sole_producer(rewriter_.node(chain.back()).inputs[0]);
      if (before < 0 || !only_moves(rewriter_.node(before))) break;
      chain.push_back(before);
    }
    for (; chain.size() > 1; chain.pop_back()) {
      const auto view = MoveView::of(graph_, chain);
      if (!view || !write(chain, view->factors())) continue;
      return;
    }
  }

  // Writes a chain as one move of these factors. Returns false if it would not become shorter.
  bool write(const std::vector<int>& chain, const MoveView::Factors& factors) {
    const size_t index = static_cast<size_t>(chain.front());
    size_t permutes = 0;
    for (int i : chain) permutes += rewriter_.node(i).layer<PermuteAttributes>() != nullptr;
    const bool stays = factors.size() < 2;
    if (permutes < (stays ? 1 : 2) || factors.size() > Shape::kMaxRank) return false;
    const int source = rewriter_.node(chain.back()).inputs[0];
    int moved = source;
    if (!stays) moved = move(index, source, factors);
    std::vector<std::string> layers;
    for (size_t i = chain.size(); i-- > 1;) {
      const Node node = rewriter_.take(chain[i]);
      layers.insert(layers.end(), node.layers.begin(), node.layers.end());
    }
    Node last;
    last.op = Op::kReshape;
    last.inputs = {moved};
    last.set_layer(exactly(graph_.shape_of(rewriter_.node(index).output)));
    // Where the move has made that shape already, it is the last node itself.
    if (!stays && graph_.shape_of(moved) == graph_.shape_of(rewriter_.node(index).output)) {
      last = rewriter_.take(rewriter_.producer(moved));
    }
    rewriter_.change(index, [&](Node* node) {
      node->op = last.op;
      node->inputs = std::move(last.inputs);
      node->attributes = std::move(last.attributes);
      node->layers.insert(node->layers.begin(), layers.begin(), layers.end());
    });
    return true;
  }

  // Adds the move itself, with the reshape before it. Returns its value.
  int move(size_t index, int source, const MoveView::Factors& factors) {
    const Shape from = graph_.shape_of(source), to = graph_.shape_of(rewriter_.node(index).output);
    const bool pictures = from.rank == 4 && to.rank == 4 && from.n() == 1 && to.n() == 1;
    const int64_t plane = int64_t{from[from.rank - 1]} * from[from.rank - 2];
    if (pictures && from.c() == to.c() && from.c() == factors[0].size &&
        factors[0].stride == plane) {
      return gather(index, source, from, factors);
    }
    // The factors in the order in which they lie.
    MoveView::Factors lie = factors;
    std::sort(lie.begin(), lie.end(), [](const MoveView::Factor& a, const MoveView::Factor& b) {
      return a.stride > b.stride;
    });
    Shape before, after;
    before.rank = after.rank = static_cast<int>(lie.size());
    PermuteAttributes permute;
    for (size_t i = 0; i < lie.size(); ++i) {
      before.dims[i] = lie[i].size;
      after.dims[i] = factors[i].size;
      const auto at = std::find_if(lie.begin(), lie.end(), [&](const MoveView::Factor& factor) {
        return factor.stride == factors[i].stride;
      });
      permute.order.push_back(static_cast<int>(at - lie.begin()));
    }
    return add(index, std::move(permute), reshaped(index, source, before), "_moved", after);
  }

  // All channels of a pixel move together: a step of the device's own layout.
  int gather(size_t index, int source, const Shape& from, const MoveView::Factors& factors) {
    const int pixels = from.h() * from.w();
    layers::PixelGatherAttributes gather;
    gather.pixels = pixels;
    gather.places = MoveView::places({factors.data() + 1, factors.size() - 1});
    const Shape row = {1, from.c(), 1, pixels};
    return add(index, std::move(gather), reshaped(index, source, row), "_moved", row);
  }

  int reshaped(size_t index, int value, const Shape& shape) {
    if (graph_.shape_of(value) == shape) return value;
    return add(index, exactly(shape), value, "_apart", shape);
  }

  int add(size_t index, layers::LayerAttributes layer, int input, const char* suffix,
          const Shape& shape) {
    Node node;
    node.op = layer.as<layers::ReshapeAttributes>() ? Op::kReshape : Op::kCpu;
    node.name = rewriter_.node(index).name + suffix;
    node.layers = rewriter_.node(index).layers;
    node.inputs = {input};
    node.set_layer(std::move(layer));
    node.output = rewriter_.add_value(node.name, shape);
    const int value = node.output;
    rewriter_.insert_before(index, std::move(node));
    return value;
  }

  Graph& graph_;
  Rewriter rewriter_;
};

}  // namespace

void merge_moves(Graph* graph) {
  MoveMerger(graph).run();
}

}  // namespace dvnn::plan
