// SPDX-License-Identifier: Apache-2.0
// Common code of elements that have pads or buffers of their own: properties as rows of a table,
// and a private part that lives as long as the object. Elements are final types with a member
// `priv`. Elements that work on objects use objectelement.h instead.
#pragma once

#include <gst/gst.h>

#include "properties.h"

namespace dvnn::gst {

/// Returns the result of `Make`, which is called once. It is never freed, because streams may still
/// end while the process does.
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

/// Returns whether this change prepares the element: to READY, and to PAUSED for properties that
/// were set in READY.
inline bool prepares(GstStateChange change) {
  return change == GST_STATE_CHANGE_NULL_TO_READY || change == GST_STATE_CHANGE_READY_TO_PAUSED;
}

/// Fails a change of state that prepares the element if settings were refused.
inline GstStateChangeReturn change_state_if_right(GstElement* element, GstStateChange change) {
  if (prepares(change) && !settings_are_right(element)) return GST_STATE_CHANGE_FAILURE;
  auto* parent = GST_ELEMENT_CLASS(g_type_class_peek_parent(G_OBJECT_GET_CLASS(element)));
  return parent->change_state(element, change);
}

/// Installs the properties of the table that `Rows` returns, whose values are `priv->settings`, and
/// returns the last id. Vmethods that an element overrides are set afterwards.
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
