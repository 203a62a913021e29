// SPDX-License-Identifier: Apache-2.0
// What the classes of elements with pads or buffers of their own do alike: properties are rows of a
// table, and the private part goes with the object. Elements are final types, and have a member
// `priv`. Those that look at objects stand on objectelement.h.
#pragma once

#include <gst/gst.h>

#include "properties.h"

namespace dvnn::gst {

/// Returns what `Make` makes; it is made when it is first asked for. Nothing is freed, because
/// streams may still end while the process does.
template <auto Make>
const auto& made_once() {
  static const auto* const made = new auto(Make());
  return *made;
}

/// Deletes the private part with the object.
template <typename Element>
void own_private(GObjectClass* klass) {
  klass->finalize = [](GObject* object) {
    delete reinterpret_cast<Element*>(object)->priv;
    G_OBJECT_CLASS(g_type_class_peek_parent(G_OBJECT_GET_CLASS(object)))->finalize(object);
  };
}

/// Returns whether an element prepares on that way: up to READY, and to PAUSED for what was set in
/// READY.
inline bool prepares(GstStateChange change) {
  return change == GST_STATE_CHANGE_NULL_TO_READY || change == GST_STATE_CHANGE_READY_TO_PAUSED;
}

/// Goes up only if the settings are right.
inline GstStateChangeReturn change_state_if_right(GstElement* element, GstStateChange change) {
  if (prepares(change) && !settings_are_right(element)) return GST_STATE_CHANGE_FAILURE;
  auto* parent = GST_ELEMENT_CLASS(g_type_class_peek_parent(G_OBJECT_GET_CLASS(element)));
  return parent->change_state(element, change);
}

/// Installs the properties of the table that `Rows` returns; their values are `priv->settings`.
/// Returns the last one's id. What an element does besides, it does in functions of its own, which
/// it sets afterwards.
template <typename Element, auto Rows>
guint own_properties(GObjectClass* klass) {
  GST_ELEMENT_CLASS(klass)->change_state = change_state_if_right;
  klass->set_property = [](GObject* object, guint id, const GValue* value, GParamSpec*) {
    auto* element = reinterpret_cast<Element*>(object);
    Rows().set(GST_ELEMENT_CAST(object), &element->priv->settings, id, value);
  };
  klass->get_property = [](GObject* object, guint id, GValue* value, GParamSpec*) {
    auto* element = reinterpret_cast<Element*>(object);
    Rows().get(GST_ELEMENT_CAST(object), &element->priv->settings, id, value);
  };
  return Rows().install(klass);
}

}  // namespace dvnn::gst
