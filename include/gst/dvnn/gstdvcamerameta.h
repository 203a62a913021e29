/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __GST_DV_CAMERA_META_H__
#define __GST_DV_CAMERA_META_H__

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_DV_CAMERA_META_API_TYPE (gst_dv_camera_meta_api_get_type())
#define GST_DV_CAMERA_META_INFO (gst_dv_camera_meta_get_info())

/**
 * GstDvCameraMeta:
 * @meta: parent
 * @xx: x = xx * before_x + xy * before_y + x0, in pixels, pixel edges at integers
 * @xy: see @xx
 * @x0: see @xx
 * @yx: y = yx * before_x + yy * before_y + y0
 * @yy: see @yx
 * @y0: see @yx
 *
 * How the camera has moved since the stream's frame before: where what stands still went. Whoever
 * knows it best attaches it: a camera on a gimbal, an encoder, or dvtrack, which otherwise
 * estimates it. The meta follows frames that are scaled, cropped or turned.
 */
typedef struct {
  GstMeta meta;
  gdouble xx, xy, x0;
  gdouble yx, yy, y0;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
} GstDvCameraMeta;

GType gst_dv_camera_meta_api_get_type(void);
const GstMetaInfo* gst_dv_camera_meta_get_info(void);
GstDvCameraMeta* gst_buffer_add_dv_camera_meta(GstBuffer* buffer, gdouble xx, gdouble xy,
                                               gdouble x0, gdouble yx, gdouble yy, gdouble y0);
GstDvCameraMeta* gst_buffer_get_dv_camera_meta(GstBuffer* buffer);

G_END_DECLS

#endif /* __GST_DV_CAMERA_META_H__ */
