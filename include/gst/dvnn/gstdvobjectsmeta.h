/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __GST_DV_OBJECTS_META_H__
#define __GST_DV_OBJECTS_META_H__

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_DV_OBJECTS_META_API_TYPE (gst_dv_objects_meta_api_get_type())
#define GST_DV_OBJECTS_META_INFO (gst_dv_objects_meta_get_info())
#define GST_TYPE_DV_OBJECT (gst_dv_object_get_type())
#define GST_TYPE_DV_OBJECT_KIND (gst_dv_object_kind_get_type())
#define GST_TYPE_DV_PASS (gst_dv_pass_get_type())
#define GST_TYPE_DV_PASS_STATE (gst_dv_pass_state_get_type())

/**
 * GstDvObjectKind:
 * @GST_DV_OBJECT_DETECTION: an object with a place
 * @GST_DV_OBJECT_CLASSIFICATION: a class of the whole input
 * @GST_DV_OBJECT_SEGMENTATION: the class of each part of the input: a mask whose cells are indices
 *   of classes
 * @GST_DV_OBJECT_ATTRIBUTES: details of the whole input: points, text, numbers, an embedding
 *
 * Kind of an object. The input is the part of the frame that the network was shown.
 *
 * Since: 0.1.0
 */
typedef enum {
  GST_DV_OBJECT_DETECTION,
  GST_DV_OBJECT_CLASSIFICATION,
  GST_DV_OBJECT_SEGMENTATION,
  GST_DV_OBJECT_ATTRIBUTES
} GstDvObjectKind;

/**
 * GstDvPassState:
 * @GST_DV_PASS_INFERRED: the network ran on this frame
 * @GST_DV_PASS_SKIPPED: the frame was passed without inference
 * @GST_DV_PASS_PREDICTED: the frame was passed without inference, and its objects were predicted
 *   from earlier frames
 *
 * What a network did with a frame.
 *
 * Since: 0.1.0
 */
typedef enum { GST_DV_PASS_INFERRED, GST_DV_PASS_SKIPPED, GST_DV_PASS_PREDICTED } GstDvPassState;

/**
 * GstDvPass:
 * @network: name of the network
 * @state: what the network did with the frame
 * @regions: number of regions of the frame that the network was shown; 0 if the frame was skipped
 *   or had none
 *
 * A network that has seen the frame. Only the library creates these.
 *
 * Since: 0.1.0
 */
typedef struct {
  gchar* network;
  GstDvPassState state;
  guint regions;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
} GstDvPass;

/**
 * GstDvObject:
 * @id: unique in the process. Copies of a frame hold the same objects
 * @parent: id of the object that this one is a part of, or 0
 * @track_id: the same for an object in successive frames, or 0 if it is not tracked
 * @kind: kind of the object
 * @class_id: index into the network's labels
 * @network: index of the pass that found the object, or -1
 * @label: name of the class; never %NULL. Set it by gst_dv_object_set_label()
 * @confidence: 0..1
 * @x0: left edge in pixels of the buffer's frame, pixel edges at integers. A #GstVideoCropMeta is
 *   not subtracted. All four edges are 0 if the object's place is no longer known
 * @y0: upper edge, see @x0
 * @x1: right edge, see @x0
 * @y1: lower edge, see @x0
 * @analytics_id: 1 + the id of the object's entry (GstAnalyticsMtd, GStreamer >= 1.24) in the
 *   frame's GstAnalyticsRelationMeta, or 0
 * @predicted: whether no network has seen the object in this frame; then it is where its track
 *   expects it
 * @region: name of the region of a list in which the network saw it, or 0
 *
 * An object that was found in a frame. Only the library creates objects, as more fields may follow.
 * Points, outlines, masks, texts, embeddings, numbers and looks have functions.
 *
 * Since: 0.1.0
 */
typedef struct {
  guint64 id, parent, track_id;
  GstDvObjectKind kind;
  gint class_id;
  gint network;
  gchar* label;
  gfloat confidence;
  gdouble x0, y0, x1, y1;
  guint analytics_id;
  gboolean predicted;
  GQuark region;

  /*< private >*/
  gpointer details;
  gpointer _gst_reserved[GST_PADDING_LARGE - 1];
} GstDvObject;

/**
 * GstDvObjectsMeta:
 * @meta: parent
 *
 * All objects of a frame, and the networks that have seen it. A frame has at most one. Whole copies
 * of the frame keep it. If a frame is scaled, cropped or turned and GStreamer tells metas how,
 * boxes, points, outlines and masks follow, and objects whose box is cropped away are dropped. If a
 * frame has changed in an unknown way, objects lose their place (see gst_dv_object_has_box()), and
 * with it points, outline and mask.
 *
 * Since: 0.1.0
 */
typedef struct {
  GstMeta meta;

  /*< private >*/
  GPtrArray* objects;
  GPtrArray* passes;
  gpointer _gst_reserved[GST_PADDING_LARGE];
} GstDvObjectsMeta;

GType gst_dv_object_kind_get_type(void);
GType gst_dv_pass_state_get_type(void);

GType gst_dv_pass_get_type(void);
GstDvPass* gst_dv_pass_copy(const GstDvPass* pass);
void gst_dv_pass_free(GstDvPass* pass);

GType gst_dv_object_get_type(void);
guint64 gst_dv_object_new_id(void);
GstDvObject* gst_dv_object_new(GstDvObjectKind kind, gint class_id, const gchar* label,
                               gfloat confidence);
GstDvObject* gst_dv_object_copy(const GstDvObject* object);
void gst_dv_object_free(GstDvObject* object);
void gst_dv_object_set_label(GstDvObject* object, const gchar* label);
void gst_dv_object_set_box(GstDvObject* object, gdouble x0, gdouble y0, gdouble x1, gdouble y1);
gboolean gst_dv_object_has_box(const GstDvObject* object);

guint gst_dv_object_get_n_points(const GstDvObject* object);
gboolean gst_dv_object_get_point(const GstDvObject* object, guint index, gdouble* x, gdouble* y,
                                 gfloat* confidence);
void gst_dv_object_add_point(GstDvObject* object, gdouble x, gdouble y, gfloat confidence);
const gchar* gst_dv_object_get_skeleton(const GstDvObject* object);
void gst_dv_object_set_skeleton(GstDvObject* object, const gchar* skeleton);
guint gst_dv_object_get_n_corners(const GstDvObject* object);
gboolean gst_dv_object_get_corner(const GstDvObject* object, guint index, gdouble* x, gdouble* y);
void gst_dv_object_add_corner(GstDvObject* object, gdouble x, gdouble y);
gboolean gst_dv_object_get_mask(const GstDvObject* object, gdouble* x0, gdouble* y0, gdouble* x1,
                                gdouble* y1, guint* width, guint* height);
GBytes* gst_dv_object_get_mask_cells(const GstDvObject* object);
gboolean gst_dv_object_set_mask(GstDvObject* object, gdouble x0, gdouble y0, gdouble x1, gdouble y1,
                                guint width, guint height, GBytes* cells);
const gchar* gst_dv_object_get_text(const GstDvObject* object);
void gst_dv_object_set_text(GstDvObject* object, const gchar* text);
const gchar* gst_dv_object_get_text_format(const GstDvObject* object);
void gst_dv_object_set_text_format(GstDvObject* object, const gchar* format);
const gfloat* gst_dv_object_get_embedding(const GstDvObject* object, gsize* length);
void gst_dv_object_set_embedding(GstDvObject* object, const gfloat* values, gsize length);
guint gst_dv_object_get_n_numbers(const GstDvObject* object);
const gchar* gst_dv_object_get_number(const GstDvObject* object, guint index, gdouble* value);
gboolean gst_dv_object_find_number(const GstDvObject* object, const gchar* name, gdouble* value);
void gst_dv_object_add_number(GstDvObject* object, const gchar* name, gdouble value);
gboolean gst_dv_object_get_ground(const GstDvObject* object, gdouble* x, gdouble* y,
                                  gdouble* deviation, gdouble* speed, gdouble* speed_deviation,
                                  gdouble* heading);
void gst_dv_object_set_ground(GstDvObject* object, gdouble x, gdouble y, gdouble deviation,
                              gdouble speed, gdouble speed_deviation, gdouble heading);
guint gst_dv_object_get_looks(const GstDvObject* object);
gfloat gst_dv_object_get_agreement(const GstDvObject* object, gboolean* agreed);
void gst_dv_object_set_agreement(GstDvObject* object, guint looks, gfloat agreement,
                                 gboolean agreed);
const gchar* gst_dv_object_get_name(const GstDvObject* object);
guint64 gst_dv_object_get_stranger(const GstDvObject* object);
gboolean gst_dv_object_get_likeness(const GstDvObject* object, gfloat* likeness, gboolean* agreed);
void gst_dv_object_set_identity(GstDvObject* object, const gchar* name, guint64 stranger,
                                gfloat likeness, gboolean agreed);
void gst_dv_object_forget_places(GstDvObject* object);

GType gst_dv_objects_meta_api_get_type(void);
const GstMetaInfo* gst_dv_objects_meta_get_info(void);
GstDvObjectsMeta* gst_buffer_add_dv_objects_meta(GstBuffer* buffer);
GstDvObjectsMeta* gst_buffer_get_dv_objects_meta(GstBuffer* buffer);
gboolean gst_dv_buffer_is_writable(GstBuffer* buffer);
GstDvObjectsMeta* gst_dv_objects_meta_of_probe(GstPadProbeInfo* info);

guint gst_dv_objects_meta_add_pass(GstDvObjectsMeta* meta, const gchar* network,
                                   GstDvPassState state);
guint gst_dv_objects_meta_get_n_passes(const GstDvObjectsMeta* meta);
GstDvPass* gst_dv_objects_meta_get_pass(const GstDvObjectsMeta* meta, guint index);
gint gst_dv_objects_meta_find_pass(const GstDvObjectsMeta* meta, const gchar* network);

GstDvObject* gst_dv_objects_meta_add_object(GstDvObjectsMeta* meta, GstDvObjectKind kind,
                                            gint class_id, const gchar* label, gfloat confidence);
guint64 gst_dv_objects_meta_put_object(GstDvObjectsMeta* meta, const GstDvObject* object);
guint gst_dv_objects_meta_get_n_objects(const GstDvObjectsMeta* meta);
GstDvObject* gst_dv_objects_meta_get_object(const GstDvObjectsMeta* meta, guint index);
GstDvObject* gst_dv_objects_meta_find_object(const GstDvObjectsMeta* meta, guint64 id);
gboolean gst_dv_objects_meta_remove_object(GstDvObjectsMeta* meta, guint64 id);

G_END_DECLS

#endif /* __GST_DV_OBJECTS_META_H__ */
