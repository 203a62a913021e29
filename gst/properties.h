// SPDX-License-Identifier: Apache-2.0
// An element's properties as a table. A row binds a member of its settings to a name, a range and
// the times when it may change. Setting a property does what gst-inspect-1.0 says of it: the value
// is taken, or refused with a sentence, and never ignored. A value that comes at the wrong time, or
// that a row refuses, leaves the old one in place, with a warning on the bus. Before PAUSED there
// may be no bus yet, so the element then also refuses to start until the property is set again
// (settings_are_right()). Numbers beyond their range reach the row, too; GLib would print a line
// and go on. Defaults are the initialisers of the settings.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace dvnn::gst {

/// Upper bounds of numbers without a bound of their own: a day, and a million. Without a bound,
/// GLib would turn -1 into the largest unsigned number.
constexpr guint kMostMilliseconds = 24 * 3600 * 1000, kMostCount = 1000000;

/// The times when a property may change.
enum class When {
  kReady,         // in NULL and READY: it counts at the next start
  kPlaying,       // at any time, from the next frame on
  kControllable,  // at any time, also by a GstController
  kNever,         // read only
};

struct Property {
  Property();
  Property(Property&& other) noexcept;
  ~Property();

  When when = When::kPlaying;
  bool secret = false;  // the value may be a password, and never appears in messages
  GParamSpec* spec = nullptr;
  // Both are called under the object lock. A setter that fails has changed nothing.
  std::function<Status(gpointer settings, const GValue* value)> set;
  std::function<void(gconstpointer settings, GValue* value)> get;
};

class PropertyTable {
 public:
  /// Returns GLib's flags for `when`.
  static GParamFlags flags(When when);
  /// Appends a row; the table's ids count from 1. Returns its id.
  guint add(Property property);
  /// Keeps GstBaseTransform's property `qos`, which would drop frames that are late for the sink,
  /// at false, for elements that must see every frame.
  void see_every_frame();
  /// Keeps the values of row `id` out of messages.
  void hide_values(guint id) { rows_.at(id - 1).secret = true; }
  bool is_controllable(guint id) const { return rows_.at(id - 1).when == When::kControllable; }
  /// Installs the properties, and returns the last id.
  guint install(GObjectClass* klass) const;
  /// Sets a property of `settings` under `element`'s object lock. Returns false if the value was
  /// refused: the element has then posted a warning and, unless it plays, remembers the refusal.
  bool set(GstElement* element, gpointer settings, guint id, const GValue* value) const;
  void get(GstElement* element, gconstpointer settings, guint id, GValue* value) const;

 private:
  std::vector<Property> rows_;
};

/// Returns whether all properties that were set before the start were taken; if not, posts the
/// error. Called on the way to READY, and on the way to PAUSED for properties that were set in
/// READY.
bool settings_are_right(GstElement* element);

/// Returns "NAME (device=soft network=x.dvn)": the element and those of `settings` that are not
/// empty, for errors that may come from any of them. Names and passwords before the @ of an address
/// are removed.
std::string named_settings(GstElement* element,
                           const std::vector<std::pair<const char*, std::string>>& settings);

/// Returns the same specification, but one that lets every value through, so that the row can
/// refuse those beyond its range. Takes ownership of `spec`.
GParamSpec* open_spec(GParamSpec* spec);
/// Checks a value that an open specification has let through.
Status check_range(double value, double least, double most);
Status check_enum(GType type, gint value);
Status check_flags(GType type, guint value);

/// Makes a number a property: its specification, and its way into and out of a GValue.
template <typename T>
struct NumberKind;
#define DVNN_NUMBER_KIND(type, name)                  \
  template <>                                         \
  struct NumberKind<type> {                           \
    static constexpr auto spec = g_param_spec_##name; \
    static constexpr auto get = g_value_get_##name;   \
    static constexpr auto set = g_value_set_##name;   \
  };
DVNN_NUMBER_KIND(gint, int)
DVNN_NUMBER_KIND(guint, uint)
DVNN_NUMBER_KIND(gfloat, float)
DVNN_NUMBER_KIND(gdouble, double)
#undef DVNN_NUMBER_KIND

/// Rows for each kind of setting.
template <typename Settings>
class Properties : public PropertyTable {
 public:
  struct Names {
    const char *name, *nick, *blurb;
  };

  template <typename Owner>
  guint boolean(bool Owner::*member, When when, const Names& n) {
    return value_row(member, when,
                     g_param_spec_boolean(n.name, n.nick, n.blurb, defaults_.*member, flags(when)),
                     g_value_get_boolean, g_value_set_boolean);
  }
  template <typename T, typename Owner>
  guint number(T Owner::*member, When when, std::common_type_t<T> least, std::common_type_t<T> most,
               const Names& n) {
    using Kind = NumberKind<T>;
    return value_row(
        member, when,
        open_spec(Kind::spec(n.name, n.nick, n.blurb, least, most, defaults_.*member, flags(when))),
        Kind::get, Kind::set, [least, most](T value) {
          return check_range(static_cast<double>(value), static_cast<double>(least),
                             static_cast<double>(most));
        });
  }
  /// `check`, if not null, may refuse a text, and stores what it reads from it in the settings.
  guint text(std::string Settings::*member, When when, const Names& n,
             Status (*check)(const std::string& text, Settings* settings) = nullptr) {
    Property row;
    row.when = when;
    row.spec =
        g_param_spec_string(n.name, n.nick, n.blurb, (defaults_.*member).c_str(), flags(when));
    row.set = [member, check](gpointer settings, const GValue* value) -> Status {
      const gchar* text = g_value_get_string(value);
      auto* all = static_cast<Settings*>(settings);
      if (check) DVNN_TRY(check(text ? text : "", all));
      all->*member = text ? text : "";
      return {};
    };
    row.get = [member](gconstpointer settings, GValue* value) {
      g_value_set_string(value, (static_cast<const Settings*>(settings)->*member).c_str());
    };
    return add(std::move(row));
  }
  template <typename Enum, typename Owner>
  guint choice(Enum Owner::*member, When when, GType type, const Names& n) {
    Property row;
    row.when = when;
    row.spec = open_spec(g_param_spec_enum(n.name, n.nick, n.blurb, type,
                                           static_cast<gint>(defaults_.*member), flags(when)));
    row.set = [member, type](gpointer settings, const GValue* value) -> Status {
      DVNN_TRY(check_enum(type, g_value_get_enum(value)));
      static_cast<Settings*>(settings)->*member = static_cast<Enum>(g_value_get_enum(value));
      return {};
    };
    row.get = [member](gconstpointer settings, GValue* value) {
      g_value_set_enum(value, static_cast<gint>(static_cast<const Settings*>(settings)->*member));
    };
    return add(std::move(row));
  }
  /// Any combination of the flags of `type`.
  template <typename Owner>
  guint flags_of(guint Owner::*member, When when, GType type, const Names& n) {
    return value_row(member, when,
                     open_spec(g_param_spec_flags(n.name, n.nick, n.blurb, type, defaults_.*member,
                                                  flags(when))),
                     g_value_get_flags, g_value_set_flags,
                     [type](guint value) { return check_flags(type, value); });
  }
  /// A choice whose value 0 means "as the network asks"; the values of `Enum` are stored plus one.
  template <typename Enum, typename Owner>
  guint choice(std::optional<Enum> Owner::*member, When when, GType type, const Names& n) {
    Property row;
    row.when = when;
    row.spec = open_spec(g_param_spec_enum(n.name, n.nick, n.blurb, type, 0, flags(when)));
    row.set = [member, type](gpointer settings, const GValue* value) -> Status {
      const gint chosen = g_value_get_enum(value);
      DVNN_TRY(check_enum(type, chosen));
      auto& setting = static_cast<Settings*>(settings)->*member;
      setting.reset();
      if (chosen > 0) setting = static_cast<Enum>(chosen - 1);
      return {};
    };
    row.get = [member](gconstpointer settings, GValue* value) {
      const auto& setting = static_cast<const Settings*>(settings)->*member;
      g_value_set_enum(value, setting ? 1 + static_cast<gint>(*setting) : 0);
    };
    return add(std::move(row));
  }

 private:
  template <typename T>
  static Status takes_any(T) {
    return {};
  }
  template <typename T, typename Owner, typename Getter, typename Setter,
            typename Check = Status (*)(T)>
  guint value_row(T Owner::*member, When when, GParamSpec* spec, Getter getter, Setter setter,
                  Check check = takes_any<T>) {
    Property row;
    row.when = when;
    row.spec = spec;
    row.set = [member, getter, check](gpointer settings, const GValue* value) -> Status {
      DVNN_TRY(check(static_cast<T>(getter(value))));
      static_cast<Settings*>(settings)->*member = static_cast<T>(getter(value));
      return {};
    };
    row.get = [member, setter](gconstpointer settings, GValue* value) {
      setter(value, static_cast<const Settings*>(settings)->*member);
    };
    return add(std::move(row));
  }

  const Settings defaults_{};
};

/// Registers an enumeration of the plugin once; `values` must live for ever.
GType register_enum(const char* name, const GEnumValue* values);
/// Registers flags of the plugin once; `values` must live for ever.
GType register_flags(const char* name, const GFlagsValue* values);

}  // namespace dvnn::gst
