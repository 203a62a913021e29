// SPDX-License-Identifier: Apache-2.0
// Properties of elements that g_object_set() alone does not reach.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "fuzzed_data.h"

namespace dvnn::fuzz {

inline void set_numbers(GObject* element, const char* name, const std::vector<double>& numbers) {
  GValue list = G_VALUE_INIT;
  g_value_init(&list, GST_TYPE_ARRAY);
  for (double number : numbers) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_DOUBLE);
    g_value_set_double(&item, number);
    gst_value_array_append_and_take_value(&list, &item);
  }
  g_object_set_property(element, name, &list);
  g_value_unset(&list);
}

/// One of the values of an enumeration.
inline void set_choice(FuzzedData* in, GObject* object, const char* name) {
  const GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name);
  const GEnumClass* values = G_PARAM_SPEC_ENUM(spec)->enum_class;
  g_object_set(object, name, static_cast<gint>(in->byte() % values->n_values), nullptr);
}

}  // namespace dvnn::fuzz
