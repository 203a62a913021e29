// SPDX-License-Identifier: Apache-2.0
#include "properties.h"

#include "base/guard.h"
#include "refs.h"

namespace dvnn::gst {

Property::Property() = default;
Property::Property(Property&& other) noexcept = default;
Property::~Property() = default;

GParamFlags PropertyTable::flags(When when) {
  guint flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
  if (when != When::kNever) flags |= G_PARAM_WRITABLE;
  if (when == When::kReady) flags |= GST_PARAM_MUTABLE_READY;
  if (when == When::kPlaying) flags |= GST_PARAM_MUTABLE_PLAYING;
  if (when == When::kControllable) flags |= GST_PARAM_MUTABLE_PLAYING | GST_PARAM_CONTROLLABLE;
  return static_cast<GParamFlags>(flags);
}

guint PropertyTable::add(Property property) {
  rows_.push_back(std::move(property));
  return static_cast<guint>(rows_.size());
}

void PropertyTable::see_every_frame() {
  Property row;
  row.spec = g_param_spec_boolean(
      "qos", "QoS", "Whether frames that are late are dropped: none is, as each one counts", FALSE,
      flags(row.when));
  row.set = [](gpointer, const GValue* value) -> Status {
    if (!g_value_get_boolean(value)) return {};
    return Error{ErrorCode::kInvalidArgument,
                 "this element sees every frame; dvinfer's skip-late passes late frames without "
                 "inference"};
  };
  row.get = [](gconstpointer, GValue* value) { g_value_set_boolean(value, FALSE); };
  add(std::move(row));
}

guint PropertyTable::install(GObjectClass* klass) const {
  guint id = 0;
  for (const Property& row : rows_) g_object_class_install_property(klass, ++id, row.spec);
  return id;
}

bool PropertyTable::set(GstElement* element, gpointer settings, guint id, const GValue* value,
                        Error* why) const {
  const Property& row = rows_.at(id - 1);
  Status status;
  {
    const ObjectLock lock(element);
    const GstState state = GST_STATE(element);
    if (row.when == When::kReady && state > GST_STATE_READY) {
      status = Error{ErrorCode::kInvalidArgument,
                     std::string("it may change in NULL and READY only, and the element is ") +
                         gst_element_state_get_name(state)};
    } else {
      status = guarded("it cannot be set", [&] { return row.set(settings, value); });
    }
  }
  if (status.ok()) return true;
  GST_ELEMENT_WARNING(
      element, LIBRARY, SETTINGS,
      ("property '%s' keeps its value: %s", row.spec->name, status.error().message.c_str()),
      (nullptr));
  if (why) {
    *why = guarded("a property cannot be set", [&] {
             return Status(status.error().within(std::string("property '") + row.spec->name + "'"));
           }).error();
  }
  return false;
}

void PropertyTable::get(GstElement* element, gconstpointer settings, guint id,
                        GValue* value) const {
  const ObjectLock lock(element);
  // If memory runs out, the value stays as the caller made it: empty.
  (void)guarded("a property cannot be read", [&]() -> Status {
    rows_.at(id - 1).get(settings, value);
    return {};
  }).ok();
}

template <typename Value>
static GType register_once(const char* name, const Value* values,
                           GType (*make)(const gchar* name, const Value* values)) {
  GType type = g_type_from_name(name);
  if (type == 0) {
    type = make(name, values);
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  }
  return type;
}

GType register_enum(const char* name, const GEnumValue* values) {
  return register_once(name, values, g_enum_register_static);
}

GType register_flags(const char* name, const GFlagsValue* values) {
  return register_once(name, values, g_flags_register_static);
}

}  // namespace dvnn::gst
