// SPDX-License-Identifier: Apache-2.0
#include "tools/session.h"

#include <cstdio>

#include "base/format.h"
#include "network/model_decoder.h"
#include "objects/object.h"
#include "plan/replan.h"

namespace dvnn::tools {

Result<std::unique_ptr<Session>> Session::open(const network::NetworkSource& source,
                                               const std::string& device,
                                               const decode::CustomDecoders* decoders) {
  DVNN_ASSIGN(auto network, network::Network::load(source, device));
  for (const device::PassedOver& passed : network->device().passed_over()) {
    std::fprintf(stderr, "dvnet: runs on device '%s', as %s does not work: %s\n",
                 network->device().name().c_str(), printable(passed.library).c_str(),
                 printable(passed.why).c_str());
  }
  auto session = create(std::move(network), decoders);
  if (!session.ok()) return session.error().within("network file '" + source.path + "'");
  return session;
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<network::Network> network,
                                                 const decode::CustomDecoders* decoders) {
  auto session = std::make_unique<Session>();
  session->network_ = std::move(network);
  DVNN_ASSIGN(session->slot_, session->network_->create_slot());
  session->memory_ = std::make_unique<network::StreamMemory>(session->network_);
  session->live_ = std::make_unique<network::LiveInputs>(session->model());
  DVNN_ASSIGN(session->decoder_, network::create_decoder(session->model(), decoders));
  return session;
}

Result<std::unique_ptr<image::Converter>> create_converter(const Bitmap& bgr,
                                                           const TensorDesc& tensor,
                                                           const InputSpec& picture,
                                                           const image::View& view) {
  image::FrameFormat frame;
  frame.format = image::PixelFormat::kBgr;
  frame.width = bgr.width;
  frame.height = bgr.height;
  return image::Converter::create(frame, tensor, picture, view);
}

image::FrameView view_of(const Bitmap& bgr) {
  image::FrameView view;
  view.planes[0] = bgr.bytes.data();
  view.strides[0] = static_cast<int>(bgr.stride());
  return view;
}

Status Session::load(const Bitmap& bgr, const image::View& part) {
  width_ = height_ = 0;  // the converter is of this part alone
  DVNN_ASSIGN(converter_,
              create_converter(bgr, network_->input_desc(), model().input.picture, part));
  converter_->convert(view_of(bgr), slot_->input().data());
  return {};
}

Status Session::load(const Bitmap& bgr) {
  if (!converter_ || bgr.width != width_ || bgr.height != height_) {
    DVNN_ASSIGN(converter_, create_converter(bgr, network_->input_desc(), model().input.picture));
    width_ = bgr.width;
    height_ = bgr.height;
  }
  converter_->convert(view_of(bgr), slot_->input().data());
  return {};
}

// Whether an array is (H, W, C), with or without a batch dimension, while the network has C x H x
// W. If both fit, the array is taken as the network's.
static bool has_channels_last(std::vector<int64_t> dims, const Shape& shape) {
  if (shape.rank != 4 || shape.n() != 1) return false;
  if (dims.size() == 3) dims.insert(dims.begin(), 1);
  const std::vector<int64_t> own = {1, shape.c(), shape.h(), shape.w()};
  return dims != own && dims == std::vector<int64_t>{1, shape.h(), shape.w(), shape.c()};
}

static void put_channels_first(const Shape& shape, std::vector<float>* values) {
  const size_t channels = shape.channels();
  const size_t plane = values->size() / channels;
  std::vector<float> moved(values->size());
  for (size_t i = 0; i < moved.size(); ++i) {
    moved[i % channels * plane + i / channels] = (*values)[i];
  }
  *values = std::move(moved);
}

static Status check_count(const std::string& path, const NpyArray& array, const std::string& input,
                          const Shape& shape) {
  if (static_cast<int64_t>(array.values.size()) == shape.elements()) return {};
  return invalid_argument("'" + path + "' is " + joined(array.dims, "x") +
                          ", the network's input " + input + shape.to_string());
}

Status Session::load(const std::string& path, const std::string& input, NpyArray* array) {
  if (input == model().tensor(model().input.tensor).name) return load(path, array);
  const auto& extra = model().extra_inputs;
  for (size_t i = 0; i < extra.size(); ++i) {
    if (extra[i].name != input) continue;
    const Shape& shape = model().tensor(extra[i].tensor).desc.shape;
    DVNN_TRY(check_count(path, *array, "'" + input + "' ", shape));
    live_->set(i, array->values.data());
    return {};
  }
  return invalid_argument("'" + path + "': the network has no input '" + input + "': it has '" +
                          model().tensor(model().input.tensor).name + "'" +
                          (extra.empty() ? "" : " and others, see dvnet inspect"));
}

Status Session::load(const std::string& path, NpyArray* array) {
  const TensorDesc& desc = network_->input_desc();
  const Shape& shape = desc.shape;
  DVNN_TRY(check_count(path, *array, "", shape));
  if (has_channels_last(array->dims, shape)) put_channels_first(shape, &array->values);
  fold(model().input, shape, &array->values);
  write_nchw(array->values.data(), {desc, slot_->input().data()});
  return {};
}

Status Session::check_live_inputs() const {
  for (size_t i = 0; i < model().extra_inputs.size(); ++i) {
    const network::ExtraInput& input = model().extra_inputs[i];
    if (input.is_state() || live_->has(i)) continue;
    return unsupported("the network's live input '" + input.name +
                       "' has no value: only dvnet run gives it one, an array");
  }
  return {};
}

Status Session::run(const std::string& path) {
  DVNN_TRY(check_live_inputs());
  std::string warning;
  if (!follows_) memory_->begin_anew();
  DVNN_TRY(watch_.run(slot_.get(), memory_.get(), nullptr, &warning, live_.get()));
  if (!warning.empty()) {
    std::fprintf(stderr, "dvnet: '%s': the result is %s\n", printable(path).c_str(),
                 warning.c_str());
  }
  return {};
}

Status Session::run_next(network::RunTimes* times) {
  const uint64_t turn = memory_->begin_run(slot_.get());
  live_->fill(slot_.get());
  DVNN_TRY(slot_->run(times));
  memory_->end_run(*slot_, turn);
  return {};
}

// Calls change(value, scale, bias) with the scale and bias that were folded for the value's
// channel.
template <typename Change>
static void for_each_folded(const network::InputInfo& input, const Shape& shape,
                            std::vector<float>* values, Change change) {
  const size_t channels = shape.rank == 4 ? shape.channels() : 0;
  if (input.folded_scale.size() < channels || input.folded_bias.size() < channels) return;
  const size_t plane = channels ? values->size() / channels : 0;
  for (size_t i = 0; i < plane * channels; ++i) {
    change((*values)[i], input.folded_scale[i / plane], input.folded_bias[i / plane]);
  }
}

void unfold(const network::InputInfo& input, const Shape& shape, std::vector<float>* values) {
  for_each_folded(input, shape, values,
                  [](float& value, float scale, float bias) { value = (value - bias) / scale; });
}

void fold(const network::InputInfo& input, const Shape& shape, std::vector<float>* values) {
  for_each_folded(input, shape, values,
                  [](float& value, float scale, float bias) { value = value * scale + bias; });
}

Result<objects::Objects> Session::decode(float threshold) {
  std::vector<ConstTensorView> outputs;
  for (size_t i = 0; i < model().outputs.size(); ++i) outputs.push_back(slot_->output(i));
  objects::Objects found;
  DVNN_TRY(decoder_->decode(outputs, threshold, &found));
  place_in_picture(model(), *converter_, &found);
  return found;
}

void place_in_picture(const network::Model& model, const image::Converter& converter,
                      objects::Objects* found) {
  objects::set_labels(model.labels, found);
  const Shape& in = model.tensor(model.input.tensor).desc.shape;
  objects::FrameMap map;
  map.transform = converter.transform();
  map.input = {double(in.w()), double(in.h())};
  objects::map_to_frame(map, found);
}

Result<std::unique_ptr<Session>> open_session(const std::string& path, const Arguments& arguments) {
  return open_session(path, arguments.text("device"), arguments);
}

Result<std::unique_ptr<Session>> open_session(const std::string& path, const std::string& device,
                                              const Arguments& arguments) {
  network::NetworkSource source;
  source.custom_layers = arguments.text("custom-layers");
  source.path = path;
  source.weights = arguments.text("weights");
  if (arguments.given("size")) {
    auto parsed = plan::parse_size(arguments.text("size"));
    if (!parsed.ok()) return parsed.error().within("--size");
    source.width = parsed.value().width;
    source.height = parsed.value().height;
    source.replan = plan::replan;
  }
  std::shared_ptr<const decode::CustomDecoders> decoders;
  if (arguments.given("decoder-library")) {
    DVNN_ASSIGN(decoders, decode::CustomDecoders::open(arguments.text("decoder-library")));
  }
  return Session::open(source, device, decoders.get());
}

}  // namespace dvnn::tools
