// SPDX-License-Identifier: Apache-2.0
#include "infer/resultinput.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/format.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "meta/metas.h"

namespace dvnn::gst {
namespace {

// Tracks come and go: of more places than these, those without news for longest are forgotten.
constexpr size_t kMostWindows = 256;

const char* name_of(const GstDvTensor& tensor) {
  const char* name = g_quark_to_string(tensor.id);
  return name ? name : "";
}

std::string network_of(const GstDvTensorMeta& results) {
  return results.network ? gst_dv_network_info_get_name(results.network) : "";
}

// Returns whether every network upstream has run on the frame, so that a result which is not there
// will never come.
bool have_all_run(GstBuffer* frame) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_passes(meta); ++i) {
    if (!has_run(*gst_dv_objects_meta_get_pass(meta, i))) return false;
  }
  return true;
}

std::string outputs_text(GstBuffer* frame) {
  std::string text;
  for (const GstDvTensorMeta* results : tensor_metas(frame)) {
    for (gsize i = 0; i < results->num_tensors && results->region == 0; ++i) {
      text += format("%s'%s/%s'", text.empty() ? "" : ", ", network_of(*results).c_str(),
                     name_of(results->tensors[i]));
    }
  }
  return text;
}

Error nothing_comes(GstBuffer* frame, const std::string& name) {
  const std::string there = outputs_text(frame);
  return invalid_argument(
      "no network upstream has an output '" + name + "'" +
      (there.empty() ? ", or any that is left here: put this dvinfer behind that of the network, "
                       "and before the dvdecode that takes its outputs"
                     : ": there are " + there));
}

Result<std::vector<float>> read_values(const GstDvTensor& tensor) {
  DVNN_ASSIGN(const TensorDesc desc, tensor_desc(tensor));
  DVNN_ASSIGN(const std::vector<uint8_t> bytes, read_bytes(tensor, desc));
  std::vector<float> values(desc.shape.count());
  read_nchw({desc, bytes.data()}, values.data());
  return values;
}

// Returns the track of the object that the region shows; 0: none.
guint64 track_of(GstBuffer* frame, const RegionTag& tag) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const GstDvObject* object = meta ? gst_dv_objects_meta_find_object(meta, tag.object) : nullptr;
  return object ? object->track_id : 0;
}

// Returns what the results are about. Places in a picture that is an input count in its pixels,
// those in other numbers in the pixels of the network upstream.
Region region_of(const GstDvTensorMeta& results, const Shape& input) {
  Region region;
  region.tag = {results.region_kind, results.region_name, results.object};
  region.predicted = results.predicted;
  region.shown.part = {results.x0, results.y0, results.x1, results.y1};
  region.shown.transform = from_public(results.transform);
  region.input = {double(results.input_width), double(results.input_height)};
  const bool is_picture = input.rank == 4 && (input.c() == 1 || input.c() == 3);
  if (!is_picture || results.input_width == 0 || results.input_height == 0) return region;
  const double x = input.w() / region.input.width, y = input.h() / region.input.height;
  image::Transform& to = region.shown.transform;
  to.scale_x *= x, to.offset_x *= x, to.shear_x *= x;
  to.scale_y *= y, to.offset_y *= y, to.shear_y *= y;
  region.input = {double(input.w()), double(input.h())};
  return region;
}

}  // namespace

const GstDvTensor* ResultInput::output_of(const GstDvTensorMeta& results) const {
  for (gsize i = 0; i < results.num_tensors; ++i) {
    const std::string output = name_of(results.tensors[i]);
    if (output == name_ || network_of(results) + "/" + output == name_) return &results.tensors[i];
  }
  return nullptr;
}

// Returns one of the newest results with an output that fits, or null.
Result<const GstDvTensorMeta*> ResultInput::find(GstBuffer* frame, const Shape& input) const {
  const GstDvTensorMeta* found = nullptr;
  std::optional<Error> unfit;
  for (const GstDvTensorMeta* results : tensor_metas(frame)) {
    const GstDvTensor* output = output_of(*results);
    if (!output) continue;
    DVNN_ASSIGN(const TensorDesc desc, tensor_desc(*output));
    const auto layout = network::row_layout(input, desc.shape);
    if (layout.ok()) {
      found = results;
    } else {
      unfit =
          layout.error().within("output '" + network_of(*results) + "/" + name_of(*output) + "'");
    }
  }
  // Another network's output may have the name while that of the one which is meant is missing.
  if (found || !have_all_run(frame)) return found;
  return unfit ? *unfit : nothing_comes(frame, name_);
}

ResultInput::Window* ResultInput::window_of(const Place& place, const network::RowLayout& layout) {
  auto window = windows_.find(place);
  const bool same = window != windows_.end() &&
                    window->second.rows.layout().result_elements() == layout.result_elements() &&
                    window->second.rows.layout().input_elements() == layout.input_elements();
  if (window != windows_.end() && !same) windows_.erase(window);
  if (!same) window = windows_.emplace(place, Window{network::RowWindow(layout), 0}).first;
  window->second.used = ++turn_;
  if (windows_.size() > kMostWindows) {
    windows_.erase(std::min_element(
        windows_.begin(), windows_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  return &window->second;
}

Result<std::vector<Region>> ResultInput::take(GstBuffer* frame, const network::Model& model) {
  const Shape& input = model.tensor(model.input.tensor).desc.shape;
  std::vector<Region> complete;
  DVNN_ASSIGN(const GstDvTensorMeta* newest, find(frame, input));
  if (!newest) return complete;
  for (const GstDvTensorMeta* results : outputs_of(newest->network, frame)) {
    const GstDvTensor* output = output_of(*results);
    if (!output) continue;
    DVNN_ASSIGN(const TensorDesc desc, tensor_desc(*output));
    DVNN_ASSIGN(const network::RowLayout layout, network::row_layout(input, desc.shape));
    DVNN_ASSIGN(std::vector<float> values, read_values(*output));
    Region one = region_of(*results, input);
    if (layout.rows > 1) {
      const bool is_object = one.tag.kind == GST_DV_REGION_OBJECT;
      const guint64 track = is_object ? track_of(frame, one.tag) : 0;
      // Without a track, nothing says which of the earlier results were of the same object.
      if (is_object && track == 0) continue;
      const Place place = {one.tag.kind, is_object ? track : guint64{results->region}};
      if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
        windows_.erase(place);
        continue;
      }
      Window* window = window_of(place, layout);
      window->rows.add(values.data());
      if (!window->rows.is_full()) continue;
      values = window->rows.input();
    }
    one.values = std::move(values);
    complete.push_back(std::move(one));
  }
  return complete;
}

void ResultInput::write(const std::vector<float>& values, const network::Model& model,
                        uint8_t* input) {
  const InputSpec& spec = model.input.picture;
  const TensorDesc& desc = model.tensor(model.input.tensor).desc;
  const Shape& shape = desc.shape;
  const size_t channels = shape.rank == 4 && shape.n() == 1 ? shape.channels() : 1;
  const bool is_integer = !is_float(desc.type);
  const size_t plane = values.size() / channels;
  std::vector<float> tensor(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    // Numbers of more channels than a picture has have no mean or scale.
    const size_t c = channels == 1 || channels == spec.mean.size() ? i / plane : spec.mean.size();
    float value = values[i];
    if (c < spec.mean.size()) value = (value - spec.mean[c]) * spec.scale[c];
    tensor[i] = is_integer ? value / spec.quant_scale + static_cast<float>(spec.zero_point) : value;
  }
  write_nchw(tensor.data(), {desc, input});
}

}  // namespace dvnn::gst
