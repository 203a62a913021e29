// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecall/framedocument.h"

#include <cstring>
#include <string>
#include <unordered_map>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "meta/objectvalue.h"
#include "objects/object.h"

namespace dvnn::gst {
namespace {

GstDvPassState state_of(const char* name) {
  if (std::strcmp(name, "inferred") == 0) return GST_DV_PASS_INFERRED;
  if (std::strcmp(name, "predicted") == 0) return GST_DV_PASS_PREDICTED;
  return GST_DV_PASS_SKIPPED;
}

// Names of regions become quarks, which are never freed, so a stream cannot bring any number.
GQuark region_of(const std::string& name) {
  constexpr int kMostNew = 1000;
  static gint left = kMostNew;
  if (name.empty()) return 0;
  const GQuark known = g_quark_try_string(name.c_str());
  if (known != 0 || g_atomic_int_add(&left, -1) <= 0) return known;
  return g_quark_from_string(name.c_str());
}

// Scales places from the document's frame; what map_to_frame() calls the input is one pixel there.
void scale(const image::Size& from, const image::Size& to, objects::Objects* objects) {
  if (!(from.width > 0 && from.height > 0 && to.width > 0 && to.height > 0)) return;
  image::Transform transform;
  transform.scale_x = from.width / to.width;
  transform.scale_y = from.height / to.height;
  objects::map_to_frame({transform, {1, 1}}, objects);
}

}  // namespace

void attach_facts(const publish::Document& document, const image::Size& size, GstBuffer* frame) {
  const auto* facts = std::get_if<publish::FrameFacts>(&document.facts);
  if (!facts) return;
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  if (!meta) meta = gst_buffer_add_dv_objects_meta(frame);
  std::unordered_map<std::string, guint> passes;  // by network
  for (const publish::PassFacts& pass : facts->passes) {
    passes[pass.network] =
        gst_dv_objects_meta_add_pass(meta, pass.network.c_str(), state_of(pass.state));
  }
  objects::Objects objects;
  for (const publish::FrameObject& told : facts->objects) objects.push_back(told.object);
  scale({static_cast<double>(document.width), static_cast<double>(document.height)}, size,
        &objects);
  std::unordered_map<guint64, guint64> ids;  // in the frame, by those in the document
  for (const objects::Object& object : objects) {
    GstDvObject* added = write_object(object, meta);
    ids[object.id] = added->id;
    added->region = region_of(object.region_name);
    if (object.network.empty()) continue;
    const auto [pass, is_new] = passes.emplace(object.network, 0u);
    if (is_new) {
      pass->second =
          gst_dv_objects_meta_add_pass(meta, object.network.c_str(), GST_DV_PASS_INFERRED);
    }
    added->network = static_cast<gint>(pass->second);
  }
  const guint first = gst_dv_objects_meta_get_n_objects(meta) - static_cast<guint>(objects.size());
  for (size_t i = 0; i < objects.size(); ++i) {
    const auto parent = ids.find(objects[i].parent);
    if (parent == ids.end()) continue;
    gst_dv_objects_meta_get_object(meta, first + static_cast<guint>(i))->parent = parent->second;
  }
}

}  // namespace dvnn::gst
