// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/json.h"
#include "kernels/boxes/suppression.h"
#include "layers/attributes.h"
#include "plan/reference/reference.h"
#include "tools/pictures.h"
#include "tools/progress.h"
#include "tools/session.h"

namespace dvnn::tools {
namespace {

// Least overlap of equal detections; least confidence of the reference's and of ours.
constexpr float kSameIou = 0.9f, kSureConfidence = 0.5f, kFoundConfidence = 0.47f;

struct OutputLoss {
  double largest = 0, worst = 0;  // largest value of the reference, largest error
  double dot = 0, ours = 0, reference = 0;

  void add(const std::vector<float>& have, const std::vector<float>& want) {
    for (size_t i = 0; i < want.size(); ++i) {
      const double a = double{have[i]}, b = double{want[i]};
      largest = std::max(largest, std::fabs(b));
      worst = std::max(worst, std::fabs(a - b));
      dot += a * b, ours += a * a, reference += b * b;
    }
  }
  double cosine() const {
    return ours > 0 && reference > 0 ? dot / std::sqrt(ours * reference) : ours == reference;
  }
};

// Number of equal objects, and the largest differences between them.
struct Agreement {
  size_t same = 0, of = 0;
  double least_iou = 1, worst_confidence = 0;
};

// Whether an output's rows are boxes, best first; equal boxes may then be in another order.
bool has_rows_of_boxes(const network::Model& model, size_t output) {
  for (const network::Step& step : model.steps) {
    const bool writes = !step.outputs.empty() && step.outputs[0] == model.outputs[output].tensor;
    if (writes && step.layer && layers::type_of(*step.layer) == std::string("DetectionOutput")) {
      return true;
    }
  }
  return false;
}

using objects::Object;
using objects::Objects;

kernels::Box box_of(const Object& object) {
  const image::Corners& c = object.box;
  return {static_cast<float>(c.x0), static_cast<float>(c.y0), static_cast<float>(c.x1),
          static_cast<float>(c.y1)};
}

void compare(objects::Kind kind, const Objects& have, const Objects& want, Agreement* agreement) {
  if (kind == objects::Kind::kClassification) {
    if (have.empty() || want.empty()) return;
    ++agreement->of;
    agreement->same += have[0].class_id == want[0].class_id;
    return;
  }
  for (const Object& w : want) {
    if (w.confidence < kSureConfidence) continue;
    ++agreement->of;
    const Object* best = nullptr;
    double best_iou = double{kSameIou};
    for (const Object& h : have) {
      if (h.class_id != w.class_id || h.confidence < kFoundConfidence) continue;
      const double iou = double{kernels::intersection_over_union(box_of(h), box_of(w))};
      if (iou < best_iou) continue;
      best = &h;
      best_iou = iou;
    }
    if (!best) continue;
    ++agreement->same;
    agreement->least_iou = std::min(agreement->least_iou, best_iou);
    agreement->worst_confidence =
        std::max(agreement->worst_confidence, std::fabs(double{best->confidence - w.confidence}));
  }
}

class Comparison {
 public:
  Comparison(const network::Model& model, const InputSpec& picture)
      : model_(model), picture_(picture), losses_(model.outputs.size()) {}

  Status open(const plan::Graph& graph, std::shared_ptr<const layers::CustomLibrary> library,
              const decode::CustomDecoders* decoders) {
    DVNN_ASSIGN(reference_, plan::Reference::create(graph, library.get()));
    DVNN_ASSIGN(auto device, device::Device::open("soft"));
    DVNN_ASSIGN(auto network,
                network::Network::create(model_, std::move(device), nullptr, std::move(library)));
    DVNN_ASSIGN(session_, Session::create(std::move(network), decoders));
    if (!session_->decoder()) return {};
    std::vector<decode::NamedOutput> outputs;
    for (size_t i = 0; i < model_.outputs.size(); ++i) {
      outputs.push_back({model_.outputs[i].name, desc_of(i)});
    }
    DVNN_ASSIGN(reference_decoder_,
                create_decoder(model_.decoder.name, model_.decoder.params, outputs, decoders));
    return {};
  }

  Status add(const std::string& path, const Bitmap& bgr) {
    DVNN_TRY(session_->load(bgr));
    DVNN_TRY(session_->run(path));
    const Shape& shape = reference_->graph().shape_of(reference_->graph().input);
    std::vector<float> values(shape.count());
    DVNN_ASSIGN(auto converter,
                create_converter(bgr, {ElementType::kFloat32, Layout::kNchw, shape}, picture_));
    converter->convert(view_of(bgr), reinterpret_cast<uint8_t*>(values.data()));
    DVNN_ASSIGN(const auto want, reference_->run(values.data()));
    for (size_t i = 0; i < losses_.size(); ++i) {
      std::vector<float> have(want[i].size());
      read_nchw(session_->slot().output(i), have.data());
      losses_[i].add(have, want[i]);
    }
    ++pictures_;
    return decode(want);
  }

  Accuracy result() const {
    Accuracy accuracy;
    accuracy.pictures = pictures_;
    for (size_t i = 0; i < losses_.size(); ++i) {
      const OutputLoss& loss = losses_[i];
      accuracy.outputs.push_back({model_.outputs[i].name, loss.worst, loss.largest, loss.cosine(),
                                  session_->decoder() && has_rows_of_boxes(model_, i)});
    }
    if (session_->decoder()) {
      const bool classes = session_->decoder()->kind() == objects::Kind::kClassification;
      accuracy.compared = classes ? "top class" : "boxes";
      accuracy.agreeing = agreement_.same;
      accuracy.out_of = agreement_.of;
      accuracy.least_iou = agreement_.least_iou;
      accuracy.worst_confidence = agreement_.worst_confidence;
    }
    return accuracy;
  }

 private:
  TensorDesc desc_of(size_t output) const {
    const plan::Graph& graph = reference_->graph();
    return {ElementType::kFloat32, Layout::kNchw, graph.shape_of(graph.outputs[output])};
  }

  Status decode(const std::vector<std::vector<float>>& want) {
    if (!session_->decoder()) return {};
    std::vector<ConstTensorView> ours, theirs;
    for (size_t i = 0; i < want.size(); ++i) {
      ours.push_back(session_->slot().output(i));
      theirs.push_back({desc_of(i), reinterpret_cast<const uint8_t*>(want[i].data())});
    }
    Objects have, wanted;
    DVNN_TRY(session_->decoder()->decode(ours, 0.0f, &have));
    DVNN_TRY(reference_decoder_->decode(theirs, 0.0f, &wanted));
    compare(session_->decoder()->kind(), have, wanted, &agreement_);
    return {};
  }

  const network::Model& model_;
  InputSpec picture_;
  std::unique_ptr<plan::Reference> reference_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<decode::Decoder> reference_decoder_;
  std::vector<OutputLoss> losses_;
  Agreement agreement_;
  size_t pictures_ = 0;
};

Result<std::vector<std::string>> pictures_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error)) paths.push_back(entry.path());
  }
  if (error || paths.empty()) {
    return Error{ErrorCode::kNotFound, "--check '" + folder + "' is no folder of pictures"};
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Result<std::vector<std::vector<float>>> read_samples(const std::string& folder, const Shape& input,
                                                     const InputSpec& picture) {
  constexpr size_t kMost = 8;  // pictures, enough to measure the range of values
  DVNN_ASSIGN(const auto paths, pictures_in(folder));
  InputSpec as_it_is = picture;  // pixels without normalisation, in the input's order
  as_it_is.mean = {};
  as_it_is.scale = {1, 1, 1};
  std::vector<std::vector<float>> samples;
  for (size_t i = 0; i < std::min(paths.size(), kMost); ++i) {
    DVNN_ASSIGN(const Bitmap bgr, read_picture(paths[i]));
    DVNN_ASSIGN(auto converter,
                create_converter(bgr, {ElementType::kFloat32, Layout::kNchw, input}, as_it_is));
    std::vector<float> pixels(input.count());
    converter->convert(view_of(bgr), reinterpret_cast<uint8_t*>(pixels.data()));
    samples.push_back(std::move(pixels));
  }
  return samples;
}

Result<Accuracy> measure_accuracy(const network::Model& model, const plan::Graph& graph,
                                  const InputSpec& picture, const std::string& folder,
                                  std::shared_ptr<const layers::CustomLibrary> library,
                                  const decode::CustomDecoders* decoders) {
  DVNN_ASSIGN(const auto paths, pictures_in(folder));
  Comparison comparison(model, picture);
  DVNN_TRY(comparison.open(graph, std::move(library), decoders));
  Progress progress("checking picture", paths.size());
  for (const std::string& path : paths) {
    DVNN_ASSIGN(const Bitmap bgr, read_picture(path));
    DVNN_TRY(comparison.add(path, bgr));
    progress.advance();
  }
  return comparison.result();
}

void print(const Accuracy& accuracy) {
  // We imported both, so a misread model agrees with itself.
  std::printf(
      "accuracy over %zu pictures, the device against our own FP32 run of what was imported:\n",
      accuracy.pictures);
  for (const Accuracy::Output& output : accuracy.outputs) {
    if (output.rows_of_boxes) {
      std::printf("  output %s: rows of boxes, compared as boxes\n", output.name.c_str());
      continue;
    }
    std::printf("  output %s: off by at most %.3g of %.3g, cosine %.6f\n", output.name.c_str(),
                output.worst, output.largest, output.cosine);
  }
  if (accuracy.compared.empty()) return;
  std::printf("  %s: %zu of %zu agree", accuracy.compared.c_str(), accuracy.agreeing,
              accuracy.out_of);
  if (accuracy.compared == "boxes" && accuracy.agreeing > 0) {
    std::printf("; these overlap by %.3f or more, confidences differ by %.3f or less",
                accuracy.least_iou, accuracy.worst_confidence);
  }
  std::printf("\n");
}

}  // namespace dvnn::tools
