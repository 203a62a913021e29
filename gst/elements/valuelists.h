// SPDX-License-Identifier: Apache-2.0
// Lists within structures and properties.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

/// Appends to a value of GST_TYPE_ARRAY.
inline void append_number(gdouble number, GValue* array) {
  GValue item = G_VALUE_INIT;
  g_value_init(&item, G_TYPE_DOUBLE);
  g_value_set_double(&item, number);
  gst_value_array_append_and_take_value(array, &item);
}
inline void append_time(guint64 time, GValue* array) {
  GValue item = G_VALUE_INIT;
  g_value_init(&item, G_TYPE_UINT64);
  g_value_set_uint64(&item, time);
  gst_value_array_append_and_take_value(array, &item);
}

/// Appends to a value of GST_TYPE_LIST. Takes ownership of `fields`.
inline void append_structure(GstStructure* fields, GValue* list) {
  GValue item = G_VALUE_INIT;
  g_value_init(&item, GST_TYPE_STRUCTURE);
  g_value_take_boxed(&item, fields);
  gst_value_list_append_and_take_value(list, &item);
}

}  // namespace dvnn::gst
