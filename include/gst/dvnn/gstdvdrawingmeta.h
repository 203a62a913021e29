/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __GST_DV_DRAWING_META_H__
#define __GST_DV_DRAWING_META_H__

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_DV_DRAWING_META_API_TYPE (gst_dv_drawing_meta_api_get_type())
#define GST_DV_DRAWING_META_INFO (gst_dv_drawing_meta_get_info())
#define GST_TYPE_DV_SHAPE (gst_dv_shape_get_type())
#define GST_TYPE_DV_SHAPE_KIND (gst_dv_shape_kind_get_type())

/**
 * GST_DV_DRAWING_MAX_SHAPES:
 *
 * Most shapes of a frame.
 *
 * Since: 0.1.0
 */
#define GST_DV_DRAWING_MAX_SHAPES 1000
/**
 * GST_DV_SHAPE_MAX_POINTS:
 *
 * Most points of a line or polygon.
 *
 * Since: 0.1.0
 */
#define GST_DV_SHAPE_MAX_POINTS 4096
/**
 * GST_DV_SHAPE_MAX_TEXT:
 *
 * Most bytes of a text.
 *
 * Since: 0.1.0
 */
#define GST_DV_SHAPE_MAX_TEXT 1024
/**
 * GST_DV_SHAPE_MAX_SIDE:
 *
 * Most columns and rows of a picture.
 *
 * Since: 0.1.0
 */
#define GST_DV_SHAPE_MAX_SIDE 4096
/**
 * GST_DV_SHAPE_MAX_PLACE:
 *
 * How far from the frame's upper left corner a shape may reach, in pixels.
 *
 * Since: 0.1.0
 */
#define GST_DV_SHAPE_MAX_PLACE 1000000

/**
 * GstDvShapeKind:
 * @GST_DV_SHAPE_LINE: a line through two or more points
 * @GST_DV_SHAPE_POLYGON: a closed line, whose inside may be filled by the even-odd rule
 * @GST_DV_SHAPE_TEXT: a line of text
 * @GST_DV_SHAPE_PICTURE: a picture
 *
 * What a shape is.
 *
 * Since: 0.1.0
 */
typedef enum {
  GST_DV_SHAPE_LINE,
  GST_DV_SHAPE_POLYGON,
  GST_DV_SHAPE_TEXT,
  GST_DV_SHAPE_PICTURE
} GstDvShapeKind;

/**
 * GstDvShape:
 * @kind: what it is
 * @color: of the line or the letters, 0xAARRGGBB, not multiplied by alpha
 * @fill: of a polygon's inside or the ground of a text, as @color; alpha 0: none
 * @size: thickness of a line, or height of a text's capital letters, in pixels of the frame; 0 for
 *   dvoverlay's own (its properties line-width and text-height)
 * @width: of a picture, in its own pixels
 * @height: of a picture, in its own pixels
 *
 * Something that an application wants to be drawn. A shape does not change once it is made, so that
 * one shape, such as a logo, may be added to any number of frames, in any thread. Only the library
 * creates these.
 *
 * All places are in pixels of the buffer's frame, with the edges of pixels at integers: 0 is the
 * left or upper edge of the frame and its width or height the other. They are those of
 * #GstDvObject. A fraction of the frame times its width or height is such a place.
 *
 * Since: 0.1.0
 */
typedef struct {
  GstDvShapeKind kind;
  guint32 color, fill;
  gdouble size;
  guint width, height;

  /*< private >*/
  gint owners;
  guint64 id;
  GArray* points;
  gchar* text;
  GBytes* pixels;
  gpointer _gst_reserved[GST_PADDING];
} GstDvShape;

/**
 * GstDvDrawingMeta:
 * @meta: parent
 *
 * What an application wants dvoverlay to draw on a frame. A frame has at most one. Whole copies of
 * the frame keep it. If a frame is scaled, cropped or turned and GStreamer tells metas how, shapes
 * follow: their places move, thickness and letters grow or shrink with the frame, pictures turn
 * with it, and texts stay upright. If a frame has changed in an unknown way, its drawing is
 * dropped.
 *
 * Since: 0.1.0
 */
typedef struct {
  GstMeta meta;

  /*< private >*/
  GArray* entries;
  gpointer _gst_reserved[GST_PADDING];
} GstDvDrawingMeta;

GType gst_dv_shape_kind_get_type(void);
GType gst_dv_shape_get_type(void);
GstDvShape* gst_dv_shape_new_line(const gdouble* places, gsize length, guint32 color,
                                  gdouble thickness, GError** error);
GstDvShape* gst_dv_shape_new_polygon(const gdouble* places, gsize length, guint32 color,
                                     guint32 fill, gdouble thickness, GError** error);
GstDvShape* gst_dv_shape_new_text(const gchar* text, gdouble x, gdouble y, guint32 color,
                                  guint32 ground, gdouble height, GError** error);
GstDvShape* gst_dv_shape_new_picture(GBytes* bytes, guint width, guint height, guint channels,
                                     gsize stride, gdouble x0, gdouble y0, gdouble x1, gdouble y1,
                                     GError** error);
GstDvShape* gst_dv_shape_ref(GstDvShape* shape);
void gst_dv_shape_unref(GstDvShape* shape);
const gdouble* gst_dv_shape_get_places(const GstDvShape* shape, gsize* length);
const gchar* gst_dv_shape_get_text(const GstDvShape* shape);
GBytes* gst_dv_shape_get_pixels(const GstDvShape* shape);

GType gst_dv_drawing_meta_api_get_type(void);
const GstMetaInfo* gst_dv_drawing_meta_get_info(void);
GstDvDrawingMeta* gst_buffer_add_dv_drawing_meta(GstBuffer* buffer);
GstDvDrawingMeta* gst_buffer_get_dv_drawing_meta(GstBuffer* buffer);
GstDvDrawingMeta* gst_dv_drawing_meta_of_probe(GstPadProbeInfo* info);
gboolean gst_dv_drawing_meta_add_shape(GstDvDrawingMeta* meta, GstDvShape* shape, gint z,
                                       GError** error);
guint gst_dv_drawing_meta_get_n_shapes(const GstDvDrawingMeta* meta);
GstDvShape* gst_dv_drawing_meta_get_shape(const GstDvDrawingMeta* meta, guint index, gint* z);
void gst_dv_drawing_meta_clear(GstDvDrawingMeta* meta);

G_END_DECLS

#endif /* __GST_DV_DRAWING_META_H__ */
