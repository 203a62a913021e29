// SPDX-License-Identifier: Apache-2.0
// Details that only some objects have: points, an outline, a mask, text, an embedding, numbers.
// Copies of an object share its details until one of them changes, because frames are copied more
// often than objects are changed. These functions are called from C, so their memory is GLib's,
// which does not throw.
#pragma once

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "image/view.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Adds an owner of an object's details (may be null), and returns them.
gpointer share_details(gpointer details);
void release_details(gpointer details);

/// Moves points, outline and mask with the frame's pixels; a mask's cells are turned.
void move_details(const image::Transform& change, GstDvObject* object);

/// Removes points, outline and mask from an object.
void forget_detail_places(GstDvObject* object);

struct DetailPoint {
  gdouble x, y;
  gfloat confidence;
};

struct DetailNumber {
  gchar* name;
  gdouble value;
};

/// The record behind an object's details, for the files that read and write it.
struct Details {
  gatomicrefcount owners;
  GArray *points, *outline;  // of DetailPoint, or null
  gchar *skeleton, *text, *text_format;
  image::Corners place;  // of the mask, in frame pixels
  guint width, height;
  GBytes* cells;      // of the mask, or null
  GArray* embedding;  // of gfloat, or null
  GArray* numbers;    // of DetailNumber, or null
  gboolean has_ground;
  objects::Movement ground;
  guint looks;       // 0: looks are not compared
  gfloat agreement;  // probability that what they read is right
  gboolean agreed;
  gchar* name;  // who it is, or null
  guint64 stranger;
  gfloat likeness;
  gboolean name_agreed;
};

inline const Details* details_of(const GstDvObject* object) {
  return static_cast<const Details*>(object->details);
}

inline guint length_of(const GArray* array) {
  return array ? array->len : 0;
}

/// Returns the object's own details for writing: new ones if it has none, a copy if others share
/// them.
Details* own_details(GstDvObject* object);

/// An empty array of DetailNumber.
GArray* new_numbers();

}  // namespace dvnn::gst
