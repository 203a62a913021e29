// SPDX-License-Identifier: Apache-2.0
// Properties that list labels.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "properties.h"

namespace dvnn::gst {

/// Returns `text` without spaces around it.
inline std::string trimmed(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  text.erase(text.find_last_not_of(" \t") + 1);
  return text;
}

/// Splits a property's text at commas and trims the parts; empty parts are left out. A backslash
/// before a comma, or before another backslash, makes it part of an entry.
inline std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> entries;
  std::string entry;
  const auto end_entry = [&] {
    entry = trimmed(std::move(entry));
    if (!entry.empty()) entries.push_back(std::move(entry));
    entry.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escapes =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\');
    if (!escapes && text[i] == ',') {
      end_entry();
    } else {
      entry += text[escapes ? ++i : i];
    }
  }
  end_entry();
  return entries;
}

/// Returns the text that split_list() splits into these entries. Spaces around them are lost.
inline std::string join_list(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) {
    if (!text.empty()) text += ',';
    for (const char c : entry) {
      if (c == ',' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

/// Adds two properties for one list of labels: NAME, a text with commas, for people to type, and
/// NAME-array, for programs to set. The strings must live for ever.
template <typename Settings, typename Owner>
void add_label_list(std::string Owner::*member, const char* name, const char* array_name,
                    const char* nick, const char* blurb, Properties<Settings>* table) {
  table->text(static_cast<std::string Settings::*>(member), When::kPlaying, {name, nick, blurb});
  const GParamFlags flags = PropertyTable::flags(When::kPlaying);
  Property row;
  row.spec = gst_param_spec_array(
      array_name, nick, "The same list as an array of strings, whose labels may have commas",
      g_param_spec_string("label", "Label", "A label", nullptr, flags), flags);
  row.set = [member](gpointer settings, const GValue* value) -> Status {
    std::vector<std::string> entries;
    for (guint i = 0; i < gst_value_array_get_size(value); ++i) {
      const GValue* item = gst_value_array_get_value(value, i);
      const gchar* text = G_VALUE_HOLDS_STRING(item) ? g_value_get_string(item) : nullptr;
      if (!text || !*text) return invalid_argument("it needs texts that are not empty");
      entries.emplace_back(text);
    }
    static_cast<Settings*>(settings)->*member = join_list(entries);
    return {};
  };
  row.get = [member](gconstpointer settings, GValue* value) {
    for (const std::string& entry : split_list(static_cast<const Settings*>(settings)->*member)) {
      GValue item = G_VALUE_INIT;
      g_value_init(&item, G_TYPE_STRING);
      g_value_set_string(&item, entry.c_str());
      gst_value_array_append_and_take_value(value, &item);
    }
  };
  table->add(std::move(row));
}

/// The labels in a property's text.
class LabelList {
 public:
  LabelList() = default;
  explicit LabelList(const std::string& text) : text_(text) {
    for (std::string& label : split_list(text)) labels_.insert(std::move(label));
  }
  /// Reads `text` if it has changed since the last call.
  void set(const std::string& text) {
    if (text != text_) *this = LabelList(text);
  }
  bool empty() const { return labels_.empty(); }
  bool has(const std::string& label) const { return labels_.count(label) > 0; }

 private:
  std::string text_;
  std::unordered_set<std::string> labels_;
};

}  // namespace dvnn::gst
