// SPDX-License-Identifier: Apache-2.0
#include "properties.h"

#include <cstring>
#include <functional>
#include <map>
#include <string_view>

#include "base/format.h"
#include "base/result.h"
#include "errors.h"
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
    return invalid_argument(
        "this element sees every frame; dvinfer's skip-late passes late frames without inference");
  };
  row.get = [](gconstpointer, GValue* value) { g_value_set_boolean(value, FALSE); };
  add(std::move(row));
}

guint PropertyTable::install(GObjectClass* klass) const {
  guint id = 0;
  for (const Property& row : rows_) g_object_class_install_property(klass, ++id, row.spec);
  return id;
}

// --- what was refused --------------------------------------------------------------------------

namespace {

// Refused values by the property's name. Under the element's object lock.
using Refusals = std::map<std::string, Error, std::less<>>;

// The key of an element's refusals.
GQuark refusals_quark() {
  static const GQuark quark = g_quark_from_static_string("dvnn-refused-settings");
  return quark;
}

Refusals* refusals_of(GstElement* element) {
  return static_cast<Refusals*>(g_object_get_qdata(G_OBJECT(element), refusals_quark()));
}

// Removes name and password from "mqtt://name:password@host".
std::string without_user(std::string text) {
  const size_t scheme = text.find("://"), at = text.rfind('@');
  if (scheme != std::string::npos && at != std::string::npos && at > scheme) {
    text.replace(scheme + 3, at - scheme - 3, "...");
  }
  return text;
}

std::string value_text(const GValue* value) {
  constexpr size_t kMost = 80;
  if (G_VALUE_HOLDS_STRING(value)) {
    const gchar* text = g_value_get_string(value);
    return short_text(without_user(text ? text : ""), kMost);
  }
  if (G_VALUE_HOLDS_ENUM(value)) return std::to_string(g_value_get_enum(value));
  if (G_VALUE_HOLDS_FLAGS(value)) return std::to_string(g_value_get_flags(value));
  const CharsPtr text(gst_value_serialize(value));
  return short_text(text ? text.get() : "", kMost);
}

void remember(GstElement* element, const Property& row, const GValue* value, const Error& why) {
  (void)guarded("a property is wrong", [&]() -> Status {
    const Error error =
        why.within(std::string(GST_OBJECT_NAME(element)) + ": property '" + row.spec->name +
                   "' is '" + (row.secret ? "..." : value_text(value)) + "'");
    Refusals* known = refusals_of(element);
    if (!known) {
      known = new Refusals();
      g_object_set_qdata_full(G_OBJECT(element), refusals_quark(), known,
                              [](gpointer p) { delete static_cast<Refusals*>(p); });
    }
    known->insert_or_assign(row.spec->name, error);
    return {};
  }).ok();
}

// Allocates nothing.
void forget(GstElement* element, const Property& row) {
  Refusals* known = refusals_of(element);
  if (!known) return;
  const auto refused = known->find(std::string_view(row.spec->name));
  if (refused != known->end()) known->erase(refused);
}

}  // namespace

bool settings_are_right(GstElement* element) {
  const Status status = guarded("the settings cannot be looked at", [&]() -> Status {
    const ObjectLock lock(element);
    const Refusals* refused = refusals_of(element);
    return refused && !refused->empty() ? Status(refused->begin()->second) : Status();
  });
  if (!status.ok()) post_error(element, Topic::kSettings, status.error());
  return status.ok();
}

std::string named_settings(GstElement* element,
                           const std::vector<std::pair<const char*, std::string>>& settings) {
  constexpr size_t kMost = 120;
  const CharsPtr own(gst_object_get_name(GST_OBJECT(element)));
  std::string text;
  for (const auto& [name, value] : settings) {
    if (value.empty()) continue;
    text += (text.empty() ? " (" : " ") + std::string(name) + "=" +
            short_text(without_user(value), kMost);
  }
  return own.get() + (text.empty() ? text : text + ")");
}

bool PropertyTable::set(GstElement* element, gpointer settings, guint id,
                        const GValue* value) const {
  const Property& row = rows_.at(id - 1);
  Status status;
  {
    const ObjectLock lock(element);
    const GstState state = GST_STATE(element);
    if (row.when == When::kReady && state > GST_STATE_READY) {
      status = invalid_argument(
          std::string("it may change in NULL and READY only, and the element is ") +
          gst_element_state_get_name(state));
    } else {
      status = guarded("it cannot be set", [&] { return row.set(settings, value); });
      if (status.ok()) {
        forget(element, row);
      } else if (state <= GST_STATE_READY) {
        remember(element, row, value, status.error());
      }
    }
  }
  if (status.ok()) return true;
  GST_ELEMENT_WARNING(
      element, LIBRARY, SETTINGS,
      ("property '%s' keeps its value: %s", row.spec->name, status.error().message.c_str()),
      (nullptr));
  return false;
}

void PropertyTable::get(GstElement* element, gconstpointer settings, guint id,
                        GValue* value) const {
  const ObjectLock lock(element);
  // If memory runs out, the value stays empty, as the caller made it.
  (void)guarded("a property cannot be read", [&]() -> Status {
    rows_.at(id - 1).get(settings, value);
    return {};
  }).ok();
}

// --- values beyond their range -----------------------------------------------------------------

// Returns a type of specification that accepts any value of its type.
static GType open_type(GType usual) {
  const std::string name = std::string("GstDvOpen") + g_type_name(usual);
  if (const GType known = g_type_from_name(name.c_str())) return known;
  GTypeQuery sizes;
  g_type_query(usual, &sizes);
  GTypeInfo info = {};
  info.class_size = static_cast<guint16>(sizes.class_size);
  info.instance_size = static_cast<guint16>(sizes.instance_size);
  info.class_init = [](gpointer klass, gpointer) {
    G_PARAM_SPEC_CLASS(klass)->value_validate = [](GParamSpec*, GValue*) -> gboolean {
      return FALSE;  // nothing has to change
    };
  };
  return g_type_register_static(usual, name.c_str(), &info, static_cast<GTypeFlags>(0));
}

GParamSpec* open_spec(GParamSpec* spec) {
  const GType usual = G_PARAM_SPEC_TYPE(spec);
  GTypeQuery sizes;
  g_type_query(usual, &sizes);
  auto* open = static_cast<GParamSpec*>(
      g_param_spec_internal(open_type(usual), spec->name, g_param_spec_get_nick(spec),
                            g_param_spec_get_blurb(spec), spec->flags));
  open->value_type = spec->value_type;
  // Copies the members of the specification's own type: range and default, or the enumeration's
  // class.
  std::memcpy(reinterpret_cast<char*>(open) + sizeof(GParamSpec),
              reinterpret_cast<const char*>(spec) + sizeof(GParamSpec),
              sizes.instance_size - sizeof(GParamSpec));
  if (G_TYPE_IS_ENUM(spec->value_type) || G_TYPE_IS_FLAGS(spec->value_type)) {
    g_type_class_ref(spec->value_type);
  }
  g_param_spec_sink(spec);
  return open;
}

Status check_range(double value, double least, double most) {
  if (value >= least && value <= most) return {};  // NaN is not
  return invalid_argument(format("it must be in %.10g..%.10g", least, most));
}

static Error none_of(const char* what, const std::string& known) {
  return {ErrorCode::kInvalidArgument, what + (" of " + known)};
}

Status check_enum(GType type, gint value) {
  const auto* klass = static_cast<GEnumClass*>(g_type_class_peek(type));
  if (!klass || g_enum_get_value(const_cast<GEnumClass*>(klass), value)) return {};
  std::string known;
  for (guint i = 0; i < klass->n_values; ++i) {
    known += (i > 0 ? ", " : "") + std::string(klass->values[i].value_nick);
  }
  return none_of("it must be one", known);
}

Status check_flags(GType type, guint value) {
  const auto* klass = static_cast<GFlagsClass*>(g_type_class_peek(type));
  if (!klass || (value & ~klass->mask) == 0) return {};
  std::string known;
  for (guint i = 0; i < klass->n_values; ++i) {
    known += (i > 0 ? ", " : "") + std::string(klass->values[i].value_nick);
  }
  return none_of("it must be any", known);
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
