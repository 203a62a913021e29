// SPDX-License-Identifier: Apache-2.0
// Measures on a folder of pictures how much accuracy a model loses on the device.
#pragma once

#include <string>
#include <vector>

#include "convert/convert.h"
#include "decode/custom_decoders.h"
#include "layers/custom_library.h"

namespace dvnn::tools {

/// Device outputs compared with those of the FP32 reference.
struct Accuracy {
  struct Output {
    std::string name;
    double worst = 0, largest = 0;  // the largest error, and the largest value in FP32
    double cosine = 1;
    // Compared only as boxes: equal ones may be in another order, so the numbers above mean
    // nothing.
    bool rows_of_boxes = false;
  };
  size_t pictures = 0;
  std::vector<Output> outputs;
  std::string compared;  // "top class" or "boxes"; empty without a decoder
  size_t agreeing = 0, out_of = 0;
  double least_iou = 1, worst_confidence = 0;  // of the boxes that agree
};

/// Runs `model` on the software device and `graph`, the imported model, in FP32 on every picture in
/// `folder`. Gives per output the largest error and the cosine, and with a decoder how often the
/// top class or the boxes agree. `picture` tells how pictures become the graph's input. `library`
/// has users' CPU layers, `decoders` a user's decoder; both may be null.
Result<Accuracy> measure_accuracy(const network::Model& model, const plan::Graph& graph,
                                  const InputSpec& picture, const std::string& folder,
                                  std::shared_ptr<const layers::CustomLibrary> library = nullptr,
                                  const decode::CustomDecoders* decoders = nullptr);

/// Returns the first pictures of a folder in the form of PlanOptions::samples.
Result<std::vector<std::vector<float>>> read_samples(const std::string& folder, const Shape& input,
                                                     const InputSpec& picture);

void print(const Accuracy& accuracy);

}  // namespace dvnn::tools
