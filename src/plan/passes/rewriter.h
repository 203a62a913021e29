// SPDX-License-Identifier: Apache-2.0
// Rewrites a graph in time proportional to its size: producers and readers of values are tables
// beside the graph, and nodes that a pass adds are put in their places at its end.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "base/nth.h"
#include "plan/graph/graph.h"

namespace dvnn::plan {

/// Returns the slice of some channels, for pictures of any size.
inline layers::SliceAttributes channels_from(int begin, int count) {
  return {{0, begin, 0, 0}, {1, 1, 1, 1}, {-1, count, -1, -1}};
}

/// One pass over a graph. Nodes keep their indices until finish(); whatever changes a node's inputs
/// or output goes through change() or insert_before().
class Rewriter {
 public:
  explicit Rewriter(Graph* graph);

  /// Returns the number of nodes at the beginning; nodes added since come after them.
  size_t count() const { return count_; }
  Node& node(size_t index) { return graph_.nodes[index]; }
  Node& node(int producer) { return nth(graph_.nodes, producer); }
  Graph& graph() { return graph_; }

  /// Returns the index of the live node that makes `value`, or -1.
  int producer(int value) const { return nth(producers_, value); }
  /// Returns how many live nodes read `value`.
  size_t readers(int value) const { return nth(readers_, value); }
  bool is_output(int value) const { return nth(outputs_, value); }
  /// Returns the producer of `value` if exactly one node reads the value and it is no output; else
  /// -1.
  int sole_producer(int value) const {
    return is_output(value) || readers(value) != 1 ? -1 : producer(value);
  }

  int add_value(const std::string& name, const Shape& shape);

  /// Calls `edit(node)`, which may change any part of the node at `index`.
  template <typename Edit>
  void change(size_t index, Edit edit) {
    drop(index);
    edit(&graph_.nodes[index]);
    put(index);
  }
  /// Replaces the node at `index` by `node`.
  void replace(size_t index, Node node);
  /// Marks the node at `index` dead, and returns its former contents.
  Node take(size_t index);
  Node take(int producer) { return take(static_cast<size_t>(producer)); }
  /// Adds a node that will stand before the one at `index` (one of the first count()), after others
  /// that were put there earlier. Returns its index. References to nodes become invalid.
  size_t insert_before(size_t index, Node node);

  /// Lets nodes that read only the shape of `gone` read that of `with`, which is the same.
  void replace_shape_input(int gone, int with) { shapes_[gone] = with; }

  /// Returns an error if the graph has more nodes than its budget: some nodes become a hundred.
  Status check_size() const;

  /// Drops dead nodes and puts new ones in their places. Nothing may be called after it.
  void finish();

 private:
  void put(size_t index);
  void drop(size_t index);
  template <typename Visit>
  void for_each_input(const Node& node, Visit visit);

  Graph& graph_;
  uint64_t most_;  // nodes
  size_t count_;
  std::vector<int> producers_;   // by value
  std::vector<size_t> readers_;  // by value
  std::vector<bool> outputs_;    // by value
  std::vector<size_t> anchors_;  // index before which each node from count_ on stands
  std::vector<size_t> seen_;     // by value: the last node that for_each_input() met it in
  size_t visit_ = 0;
  std::unordered_map<int, int> shapes_;
};

}  // namespace dvnn::plan
