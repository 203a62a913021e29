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
  int parent = -1;      // the value that this one lies in, or -1
  uint64_t offset = 0;  // bytes into the parent
};

/// The way in which a node is done.
enum class Destination {
  kDevice,   // a device command
  kCpu,      // a CPU layer
  kInPlace,  // its result already lies where it belongs
};

/// Decides layouts and sharing:
///   - what the device makes or reads is binary16 in its chunked layout, and so is what layers of
///     single elements or whole channels make on the way from device to device; all else is
///     row-major float;
///   - joins, slices and reshapes share memory where the law of places allows it (places.h).
class Placer {
 public:
  Placer(const Graph& graph, bool hwc);
  const Placement& at(int value) const { return nth(values_, value); }
  Destination destination(size_t node) const { return destinations_[node]; }
  /// The value that `value` lies in, directly or not, and the offset there.
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
  mutable std::vector<Placement> values_;  // root() shortens the ways that it went
  std::vector<Destination> destinations_;
  // Facts by value: in the device's layout; read by a command; read by one in the end, with nothing
  // between but joins, slices and layers that work in chunks.
  std::vector<bool> device_made_, device_read_, device_bound_;
};

}  // namespace dvnn::plan
