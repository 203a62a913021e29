// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/float_run.h"

#include "layers/custom_library.h"
#include "plan/reference/reference.h"
#include "plan/replan.h"
#include "tools/session.h"

namespace dvnn::tools {
namespace {

TensorDesc desc_of(const Shape& shape) {
  return {ElementType::kFloat32, Layout::kNchw, shape};
}

class ReferenceRun final : public FloatRun {
 public:
  ReferenceRun(network::Model model, std::shared_ptr<const layers::CustomLibrary> library)
      : model_(std::move(model)), library_(std::move(library)) {}

  Status open(const decode::CustomDecoders* decoders) {
    DVNN_ASSIGN(plan::Graph graph, plan::restored_graph(model_));
    DVNN_ASSIGN(reference_, plan::Reference::create(std::move(graph), library_.get()));
    const plan::Graph& in = reference_->graph();
    if (in.outputs.size() != model_.outputs.size()) {
      return unsupported("the network's graph has other outputs than the network");
    }
    std::vector<decode::NamedOutput> outputs;
    for (size_t i = 0; i < in.outputs.size(); ++i) {
      outputs.push_back({model_.outputs[i].name, desc_of(in.shape_of(in.outputs[i]))});
    }
    DVNN_ASSIGN(decoder_, decode::create_decoder(model_.decoder.name, model_.decoder.params,
                                                 outputs, decoders));
    return {};
  }

  Result<objects::Objects> run(const Bitmap& bgr, float threshold) override {
    const plan::Graph& graph = reference_->graph();
    const Shape& shape = graph.shape_of(graph.input);
    DVNN_ASSIGN(const auto converter, create_converter(bgr, desc_of(shape), model_.input.picture));
    std::vector<float> input(shape.count());
    converter->convert(view_of(bgr), reinterpret_cast<uint8_t*>(input.data()));
    DVNN_ASSIGN(const auto values, reference_->run(input.data()));
    std::vector<ConstTensorView> outputs;
    for (size_t i = 0; i < values.size(); ++i) {
      outputs.push_back({desc_of(graph.shape_of(graph.outputs[i])),
                         reinterpret_cast<const uint8_t*>(values[i].data())});
    }
    objects::Objects found;
    DVNN_TRY(decoder_->decode(outputs, threshold, &found));
    place_in_picture(model_, *converter, &found);
    return found;
  }

 private:
  const network::Model model_;
  std::shared_ptr<const layers::CustomLibrary> library_;
  std::unique_ptr<plan::Reference> reference_;
  std::unique_ptr<decode::Decoder> decoder_;
};

}  // namespace

Result<std::unique_ptr<FloatRun>> create_float_run(network::Model model,
                                                   const std::string& custom_layers,
                                                   const decode::CustomDecoders* decoders) {
  std::shared_ptr<const layers::CustomLibrary> library;
  if (!custom_layers.empty()) {
    DVNN_ASSIGN(library, layers::CustomLibrary::open(custom_layers));
  }
  auto run = std::make_unique<ReferenceRun>(std::move(model), std::move(library));
  DVNN_TRY(run->open(decoders));
  return std::unique_ptr<FloatRun>(std::move(run));
}

}  // namespace dvnn::tools
