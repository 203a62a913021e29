// SPDX-License-Identifier: Apache-2.0
// Decides where every value of a graph lives: its layout, whether it shares another value's memory,
// and whether it is constant; and in which order nodes run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/nth.h"
#include "plan/graph/graph.h"
#include "tensor/tensor.h"

namespace dvnn::plan {

// The law of places: a value shares another one's memory only if the addresses of its elements
// allow it. The placer and every pass that relies on places ask here.

/// Elements begin[i], begin[i] + step[i], ... along each axis i of a tensor; a step may be
/// negative. The number of elements is the shape of the part.
struct Section {
  std::vector<int> begin, step;
};

/// Returns the offset in bytes of `part` within `whole`, if each element of `part`, which consists
/// of the elements of `section`, has the same address in both. Null if an address differs, the
/// types differ, the section exceeds the whole, or the device could not address the part (binary16
/// at a byte that is no multiple of 16).
std::optional<uint64_t> lies_within(const TensorDesc& whole, const Section& section,
                                    const TensorDesc& part);

/// Returns whether element i of `a` and of `b`, both counted row-major in their own shape, have the
/// same address for every i: then one is a reshape of the other that moves nothing.
bool same_addresses(const TensorDesc& a, const TensorDesc& b);

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
///   - joins, slices and reshapes share memory if the law of places allows it.
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

/// Returns the indices of all nodes, inputs before their readers. Consecutive commands go to the
/// device in one list, and between lists device and CPU wait for each other: so all nodes that can
/// run on the device do, before the CPU's turn comes, and the other way round. Among nodes that can
/// run, the graph's order stays.
std::vector<size_t> schedule(const Graph& graph, const Placer& placer);

}  // namespace dvnn::plan
