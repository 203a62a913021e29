// SPDX-License-Identifier: Apache-2.0
#include "meta/outputdecoder.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/numbers.h"
#include "base/result.h"
#include "meta/tensordesc.h"
#include "network/model.h"
#include "objects/object.h"
#include "refs.h"

namespace dvnn::gst {

void OutputDecoder::reset() {
  decoder_.reset();
  network_.reset();
  outputs_.clear();
  labels_.clear();
  class_thresholds_.reset();
}

std::string OutputDecoder::describe() const {
  if (!network_) return {};
  std::string text = std::string("network '") + gst_dv_network_info_get_name(network_.get()) +
                     "', decoder '" + gst_dv_network_info_get_decoder(network_.get()) +
                     "', outputs:";
  for (const Output& output : outputs_) {
    const gchar* name = g_quark_to_string(output.id);
    text += std::string(" ") + (name ? name : "?") + " " + output.desc.shape.to_string() + " " +
            to_string(output.desc.type) + " " + to_string(output.desc.layout) + ";";
  }
  return text;
}

void OutputDecoder::set_nms_threshold(float threshold) {
  if (threshold == nms_threshold_) return;
  nms_threshold_ = threshold;
  decoder_.reset();  // the next outputs create another one
}

void OutputDecoder::set_library(std::shared_ptr<const decode::CustomDecoders> library) {
  library_ = std::move(library);
  decoder_.reset();
}

// Checks the fields of each meta, because any element may have written it.
Status OutputDecoder::read(const GstDvTensorMeta& outputs) {
  read_.clear();
  if (outputs.num_tensors > 0 && !outputs.tensors) return malformed("a tensor meta has no tensors");
  const guint kind = enum_number(outputs.region_kind);
  if (kind > GST_DV_REGION_OBJECT) {
    return malformed(
        format("a tensor meta's region is of kind %u, not of 0 to %d", kind, GST_DV_REGION_OBJECT));
  }
  for (gsize i = 0; i < outputs.num_tensors; ++i) {
    DVNN_ASSIGN(const TensorDesc desc, tensor_desc(outputs.tensors[i]));
    read_.push_back({outputs.tensors[i].id, desc});
  }
  return {};
}

bool OutputDecoder::fits(const GstDvTensorMeta& outputs) const {
  return decoder_ && network_.get() == outputs.network &&
         std::equal(
             read_.begin(), read_.end(), outputs_.begin(), outputs_.end(),
             [](const Output& a, const Output& b) { return a.id == b.id && a.desc == b.desc; });
}

Status OutputDecoder::prepare(const GstDvTensorMeta& outputs, Topic* topic) {
  *topic = Topic::kData;
  return guarded("the outputs cannot be decoded", [&]() -> Status {
    DVNN_TRY(read(outputs));
    if (fits(outputs)) return {};
    *topic = Topic::kSettings;
    return create(outputs);
  });
}

Status OutputDecoder::create(const GstDvTensorMeta& outputs) {
  reset();
  network_.reset(gst_dv_network_info_ref(outputs.network));
  outputs_ = read_;
  const gchar* name = gst_dv_network_info_get_decoder(network_.get());
  if (!*name) {
    const gchar* network = gst_dv_network_info_get_name(network_.get());
    // The network of a library of generated sources is named after its file.
    const char* remedy = g_str_has_suffix(network, ".so")
                             ? "name one in DVNN_NETWORK()'s second argument"
                             : "convert it with --preset or --decoder";
    return unsupported(std::string("network '") + network + "' names no decoder: " + remedy);
  }
  std::vector<decode::NamedOutput> named;
  for (const Output& output : outputs_) {
    const gchar* id = g_quark_to_string(output.id);
    named.push_back({id ? id : "", output.desc});
  }
  DVNN_ASSIGN(auto params, parse_json(gst_dv_network_info_get_decoder_params(network_.get()),
                                      std::string("the decoder's parameters of network '") +
                                          gst_dv_network_info_get_name(network_.get()) + "'"));
  const JsonEnd end(&params);
  if (nms_threshold_ >= 0 && params.is_object()) params["nms_threshold"] = nms_threshold_;
  auto decoder = decode::create_decoder(name, params, named, library_.get());
  if (!decoder.ok()) {
    return decoder.error().within(std::string("network '") +
                                  gst_dv_network_info_get_name(network_.get()) + "'");
  }
  // Labels are cut to the number and length that a network file may have, because each object gets
  // a copy of its label.
  const gchar* const* labels = gst_dv_network_info_get_labels(network_.get());
  for (; labels && *labels && labels_.size() < network::kMaxListEntries; ++labels) {
    const std::string label(*labels, strnlen(*labels, network::kMaxNameBytes + 1));
    labels_.push_back(short_text(label, network::kMaxNameBytes));
  }
  DVNN_ASSIGN(auto thresholds, decode::read_class_thresholds(params));
  class_thresholds_ = std::make_shared<const decode::ClassThresholds>(std::move(thresholds));
  decoder_ = std::move(decoder.value());
  return {};
}

Status OutputDecoder::run(const GstDvTensorMeta& outputs, float threshold) {
  // Maps the outputs for this call, in lists that keep their memory.
  struct Unmapped {
    std::vector<BufferMap>* maps;
    std::vector<std::vector<uint8_t>>* aligned;
    ~Unmapped() { maps->clear(), aligned->clear(); }
  };
  const Unmapped at_the_end{&maps_, &aligned_};
  views_.clear();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const BufferMap& map = maps_.emplace_back(outputs.tensors[i].data, GST_MAP_READ);
    const size_t needed = outputs_[i].desc.bytes();
    if (!map.ok() || map.size() < needed) {
      return Error{ErrorCode::kDevice, "an output's memory cannot be mapped"};
    }
    const uint8_t* data = map.data();
    // Decoders need aligned numbers, and another element's memory may begin anywhere.
    if (reinterpret_cast<uintptr_t>(data) % element_size(outputs_[i].desc.type) != 0) {
      data = aligned_.emplace_back(data, data + needed).data();
    }
    views_.push_back({outputs_[i].desc, data});
  }
  found_.clear();
  return decoder_->decode(views_, threshold, &found_);
}

Status OutputDecoder::decode(const GstDvTensorMeta& outputs, float threshold,
                             const image::Size& frame, objects::Objects* objects, Topic* topic) {
  DVNN_TRY(prepare(outputs, topic));
  *topic = Topic::kData;
  return guarded("the outputs cannot be decoded", [&]() -> Status {
    DVNN_TRY(run(outputs, threshold));
    objects::FrameMap map;
    map.transform = from_public(outputs.transform);
    map.input = {static_cast<double>(outputs.input_width),
                 static_cast<double>(outputs.input_height)};
    // Sound has no size, and what is heard has no place.
    const bool has_places = frame.width > 0 && frame.height > 0;
    if (has_places) map.clip = {0, 0, frame.width, frame.height};
    // Boxes are cut at the region's edges, because the network has not seen beyond them.
    const bool beyond = refining_ && outputs.region_kind == GST_DV_REGION_OBJECT;
    if (has_places && outputs.region_kind != GST_DV_REGION_FRAME && !beyond) {
      map.clip = {outputs.x0, outputs.y0, outputs.x1, outputs.y1};
      if (!objects::clip_box({0, 0, frame.width, frame.height}, &*map.clip)) return {};
    }
    objects::map_to_frame(map, &found_);
    objects::set_labels(labels_, &found_);
    for (objects::Object& object : found_) {
      object.region = outputs.region;
      if (has_places) continue;
      object.box = {};
      object.points.clear();
      object.outline.clear();
      object.mask = {};
    }
    objects->take(&found_);
    return {};
  });
}

}  // namespace dvnn::gst
