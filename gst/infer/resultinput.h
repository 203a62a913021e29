// SPDX-License-Identifier: Apache-2.0
// The input of a network that runs on the results of another: an output that a dvinfer upstream has
// left on the frame, or as many of the newest as the input has room for.
#pragma once

#include <gst/gst.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "infer/queue/inferitem.h"
#include "meta/tensordesc.h"
#include "network/stream_memory.h"

namespace dvnn::gst {

/// The windows of one stream: one for the frame, or for each place that the network upstream looks
/// at. For the sink pad's streaming thread.
class ResultInput {
 public:
  /// Takes the output of this name, "OUTPUT" or "NETWORK/OUTPUT", of the newest results that have
  /// one which fits.
  explicit ResultInput(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  /// Forgets all results so far.
  void begin_anew() { windows_.clear(); }
  /// Adds the frame's results to the windows, and returns regions with the inputs that are
  /// complete: none if nothing has come, or not enough; numbers that are not finite let a window
  /// begin anew. kInvalidArgument if the networks upstream have run and have no such output, or one
  /// that does not fit the input of `model`.
  Result<std::vector<Region>> take(GstBuffer* frame, const network::Model& model);

  /// Writes values that a network before has left as the input of `model`, as its mean and scale
  /// say.
  static void write(const std::vector<float>& values, const network::Model& model, uint8_t* input);

 private:
  // Kind of the region, and the track of its object, or its index.
  using Place = std::tuple<int, guint64>;
  struct Window {
    network::RowWindow rows;
    guint64 used = 0;  // the turn in which a result came last
  };

  Result<const GstDvTensorMeta*> find(GstBuffer* frame, const Shape& input) const;
  const GstDvTensor* output_of(const GstDvTensorMeta& results) const;
  Window* window_of(const Place& place, const network::RowLayout& layout);

  std::string name_;
  std::map<Place, Window> windows_;
  guint64 turn_ = 0;
};

}  // namespace dvnn::gst
