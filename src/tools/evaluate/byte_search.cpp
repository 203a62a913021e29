// SPDX-License-Identifier: Apache-2.0
// Losses of single layers are small and add up roughly, so their order per byte is a greedy answer
// to the knapsack problem (G. Dantzig, "Discrete-Variable Extremum Problems", 1957). What layers
// cost together is measured, and not added up.
#include "tools/evaluate/byte_search.h"

#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "base/json.h"
#include "plan/replan.h"

namespace dvnn::tools {
namespace {

constexpr size_t kMostPoints = 32;  // of the curve, beside its first
constexpr size_t kTogether = 4;     // networks that run beside each other on each picture

struct Candidate {
  size_t node = 0;
  ByteSearch::Layer layer;
};

class Search {
 public:
  Search(const network::Model& model, const ByteSearchOptions& options, const OpenModel& open,
         evaluate::DataSet* data)
      : model_(model), options_(options), open_(open), data_(data) {}

  Status run(const Metric& metric, ByteSearch* to) {
    DVNN_TRY(find_layers());
    if (layers_.empty()) {
      return unsupported(
          "none of its layers has weights of 16 bits that can have 8: convert its model again "
          "without --quantize");
    }
    to->metric = metric;
    to->most_loss = options_.most_loss;
    DVNN_TRY(measure_alone(metric.value));
    std::stable_sort(layers_.begin(), layers_.end(), [](const auto& a, const auto& b) {
      const double x = per_byte(a.layer), y = per_byte(b.layer);
      return x != y ? x < y : a.layer.saved > b.layer.saved;
    });
    for (const Candidate& one : layers_) to->layers.push_back(one.layer);
    to->points = {{0, model_.weights.size(), metric.value}};
    DVNN_TRY(measure_together(&to->points));
    for (size_t i = 0; i < to->points.size(); ++i) {
      const bool kept = to->points[i].value >= metric.value - options_.most_loss;
      if (kept && to->points[i].bytes <= to->points[to->chosen].bytes) to->chosen = i;
    }
    DVNN_ASSIGN(to->model, with_first(to->points[to->chosen].layers));
    return {};
  }

 private:
  // A layer that gains by 8 bits does so by chance.
  static double per_byte(const ByteSearch::Layer& layer) {
    return std::max(0.0, layer.loss) / static_cast<double>(layer.saved);
  }

  // Finds the layers that 8 bits make smaller.
  Status find_layers() {
    DVNN_ASSIGN(const auto all, plan::layers_of_halves(model_));
    for (const plan::WeighedLayer& one : all) {
      DVNN_ASSIGN(const network::Model alone, plan::with_bytes(model_, {one.node}));
      if (alone.weights.size() >= model_.weights.size()) continue;
      Candidate candidate;
      candidate.node = one.node;
      candidate.layer.name = one.name;
      candidate.layer.saved = model_.weights.size() - alone.weights.size();
      layers_.push_back(std::move(candidate));
    }
    return {};
  }

  // Returns the network with the first `count` layers in 8 bits.
  Result<network::Model> with_first(size_t count) const {
    std::vector<size_t> nodes;
    for (size_t i = 0; i < count; ++i) nodes.push_back(layers_[i].node);
    return plan::with_bytes(model_, nodes);
  }

  // Measures networks, several side by side. `make` returns the one of an index.
  template <typename Make>
  Result<std::vector<double>> measure_all(size_t count, const char* what, Make make) {
    std::vector<double> values;
    for (size_t begin = 0; begin < count; begin += kTogether) {
      std::vector<Subject> subjects;
      for (size_t i = begin; i < std::min(count, begin + kTogether); ++i) {
        DVNN_ASSIGN(network::Model model, make(i));
        DVNN_ASSIGN(Subject subject, open_(std::move(model)));
        subjects.push_back(std::move(subject));
      }
      const std::string doing = format("%s, %zu of %zu, picture", what, begin + 1, count);
      DVNN_TRY(run_subjects(static_cast<float>(options_.threshold), data_, &subjects, {},
                            doing.c_str()));
      for (const Subject& subject : subjects) {
        MeasureOptions options;
        options.precision = options_.precision;
        values.push_back(metric_of(measure(*data_, subject, options))->value);
      }
    }
    return values;
  }

  Status measure_alone(double with_halves) {
    DVNN_ASSIGN(const auto values,
                measure_all(layers_.size(), "8 bits in one layer",
                            [&](size_t i) { return plan::with_bytes(model_, {layers_[i].node}); }));
    for (size_t i = 0; i < values.size(); ++i) layers_[i].layer.loss = with_halves - values[i];
    return {};
  }

  Status measure_together(std::vector<BytePoint>* points) {
    const size_t step = (layers_.size() + kMostPoints - 1) / kMostPoints;
    std::vector<size_t> counts;
    for (size_t count = step; count < layers_.size(); count += step) counts.push_back(count);
    counts.push_back(layers_.size());
    std::vector<uint64_t> bytes;
    DVNN_ASSIGN(const auto values, measure_all(counts.size(), "8 bits in layers together",
                                               [&](size_t i) -> Result<network::Model> {
                                                 DVNN_ASSIGN(network::Model model,
                                                             with_first(counts[i]));
                                                 bytes.push_back(model.weights.size());
                                                 return model;
                                               }));
    for (size_t i = 0; i < counts.size(); ++i) points->push_back({counts[i], bytes[i], values[i]});
    return {};
  }

  const network::Model& model_;
  const ByteSearchOptions& options_;
  const OpenModel& open_;
  evaluate::DataSet* const data_;
  std::vector<Candidate> layers_;
};

}  // namespace

Result<ByteSearch> search_bytes(const network::Model& model, const Metric& metric,
                                const ByteSearchOptions& options, const OpenModel& open,
                                evaluate::DataSet* data) {
  ByteSearch result;
  DVNN_TRY(Search(model, options, open, data).run(metric, &result));
  return result;
}

void print_byte_search(const ByteSearch& search, const std::string& path) {
  std::printf("\n%8s %10s %8s   %s\n", "layers", "bytes", search.metric.name.c_str(),
              "the last one of them, and what it costs alone");
  for (size_t i = 0; i < search.points.size(); ++i) {
    const BytePoint& point = search.points[i];
    std::string last;
    if (point.layers > 0) {
      const ByteSearch::Layer& layer = search.layers[point.layers - 1];
      last = format("%s, %.4f", short_text(layer.name, 40).c_str(), layer.loss);
    }
    std::printf("%8zu %10llu %8.4f %s %s\n", point.layers,
                static_cast<unsigned long long>(point.bytes), point.value,
                i == search.chosen ? "<" : " ", last.c_str());
  }
  const BytePoint& chosen = search.points[search.chosen];
  std::printf("%s: %zu of %zu layers have 8 bits, %llu of %llu bytes, %s %.4f of %.4f\n",
              printable(path).c_str(), chosen.layers, search.layers.size(),
              static_cast<unsigned long long>(chosen.bytes),
              static_cast<unsigned long long>(search.points[0].bytes), search.metric.name.c_str(),
              chosen.value, search.metric.value);
}

OrderedJson byte_search_json(const ByteSearch& search, const std::string& path) {
  OrderedJson json = {{"network", path},
                      {"metric", search.metric.name},
                      {"most_loss", search.most_loss},
                      {"chosen", search.chosen},
                      {"points", OrderedJson::array()},
                      {"layers", OrderedJson::array()}};
  for (const BytePoint& point : search.points) {
    json["points"].push_back(
        {{"layers", point.layers}, {"bytes", point.bytes}, {"value", point.value}});
  }
  for (const ByteSearch::Layer& layer : search.layers) {
    json["layers"].push_back({{"layer", layer.name}, {"saved", layer.saved}, {"loss", layer.loss}});
  }
  return json;
}

}  // namespace dvnn::tools
