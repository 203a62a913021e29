// SPDX-License-Identifier: Apache-2.0
// Decides where every value of a graph lives: its layout, whether it shares another value's memory,
// and whether it is constant.
#pragma once

#include <optional>
#include <vector>

#include "base/nth.h"
#include "plan/graph/graph.h"

namespace dvnn::plan {

struct Placement {
  TensorDesc desc;
  bool constant = false;
  int parent = -1;      // the value that contains this one, or -1
  uint64_t offset = 0;  // bytes into the parent
};

/// How a node is executed.
enum class Destination {
  kDevice,   // a device command
  kCpu,      // a CPU layer
  kInPlace,  // its result is already in its place
};

/// Decides layouts and sharing:
///   - values that the device makes or reads are binary16 in its chunked layout, and so are results
///     of layers of single elements or whole channels between its commands; all others are
///     row-major float;
///   - joins, slices and reshapes share memory if the law of places allows it (places.h).
class Placer {
 public:
  Placer(const Graph& graph, bool hwc);
  const Placement& at(int value) const { return nth(values_, value); }
  Destination destination(size_t node) const { return destinations_[node]; }
  /// Returns the value that contains `value`, directly or not, and the offset there.
  int root(int value, uint64_t* offset) const;

 private:
  bool device_will_read(int value) const;
  bool runs_on_device(const Node& node) const;
  bool is_device_concat(const Node& node) const;
  std::optional<uint64_t> place_of_slice(const Node& node) const;
  bool works_in_chunks(const Node& node) const;
  bool keeps_layout(const Node& node) const;
  void find_readers();
  bool device_reads(int value) const { return nth(device_read_, value); }
  void place(size_t index);
  bool place_reshape(const Node& node);
  bool place_concat(const Node& node);
  TensorDesc device_desc(const Shape& shape) const;

  const Graph& graph_;
  Layout layout_;
  mutable std::vector<Placement> values_;  // root() compresses paths
  std::vector<Destination> destinations_;
  // Facts by value: in the device's layout; read by a command; read by one after nothing but joins,
  // slices and layers that work in chunks.
  std::vector<bool> device_made_, device_read_, device_bound_;
};

}  // namespace dvnn::plan
