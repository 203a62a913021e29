// SPDX-License-Identifier: Apache-2.0
// Spends the bytes of a network's weights where they keep what it finds: layers get weights of 8
// bits in place of 16 in the order of what that costs the metric, measured on annotated pictures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "network/model.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

/// The network with its first layers in 8 bits.
struct BytePoint {
  size_t layers = 0;   // number of layers in 8 bits
  uint64_t bytes = 0;  // of all weights
  double value = 0;    // the metric
};

struct ByteSearch {
  /// A layer, in the order in which layers get 8 bits.
  struct Layer {
    std::string name;
    uint64_t saved = 0;  // bytes that 8 bits save
    double loss = 0;     // what the metric loses if this layer alone has 8 bits
  };

  Metric metric;  // with 16 bits
  double most_loss = 0;
  std::vector<Layer> layers;
  std::vector<BytePoint> points;  // from 16 bits everywhere to 8 bits everywhere
  size_t chosen = 0;              // the point with the fewest bytes that loses no more
  network::Model model;           // that of the chosen point
};

struct ByteSearchOptions {
  double threshold = 0;  // least confidence that counts
  double most_loss = 0;  // of the metric
  std::optional<double> precision;
};

/// Opens a network in memory as a subject.
using OpenModel = std::function<Result<Subject>(network::Model)>;

/// Measures each layer alone, and then layers together in the order of their loss per byte. Error:
/// kUnsupported if no layer's weights have 16 bits, or if the network does not hold its graph.
Result<ByteSearch> search_bytes(const network::Model& model, const Metric& metric,
                                const ByteSearchOptions& options, const OpenModel& open,
                                evaluate::DataSet* data);

void print_byte_search(const ByteSearch& search, const std::string& path);
OrderedJson byte_search_json(const ByteSearch& search, const std::string& path);

}  // namespace dvnn::tools
