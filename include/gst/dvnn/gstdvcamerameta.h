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
 * @epoch: number of the period to which @since_xx and the others refer; 0 if they are unknown
 * @since_xx: how the camera has moved since the epoch's first frame, like @xx and the others
 * @since_xy: see @since_xx
 * @since_x0: see @since_xx
 * @since_yx: see @since_xx
 * @since_yy: see @since_xx
 * @since_y0: see @since_xx
 *
 * How the camera has moved since the stream's previous frame: where still objects are now. It is
 * attached by the element that knows best: a camera on a gimbal, an encoder, or else dvtrack, which
 * estimates it. The meta follows frames that are scaled, cropped or turned.
 *
 * Frames may get lost, in leaky queues or where rates fall, so adding up the motions of frames
 * misses some. dvtrack therefore also gives the motion since the first frame of an epoch, which
 * lasts until another stream begins or nothing of that frame is visible any more. The motion
 * between any two frames of an epoch follows from these.
 *
 * Since: 0.1.0
 */
typedef struct {
  GstMeta meta;
  gdouble xx, xy, x0;
  gdouble yx, yy, y0;
  guint64 epoch;
  gdouble since_xx, since_xy, since_x0;
  gdouble since_yx, since_yy, since_y0;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
} GstDvCameraMeta;

GType gst_dv_camera_meta_api_get_type(void);
const GstMetaInfo* gst_dv_camera_meta_get_info(void);
GstDvCameraMeta* gst_buffer_add_dv_camera_meta(GstBuffer* buffer, gdouble xx, gdouble xy,
                                               gdouble x0, gdouble yx, gdouble yy, gdouble y0);
GstDvCameraMeta* gst_buffer_get_dv_camera_meta(GstBuffer* buffer);
void gst_dv_camera_meta_set_since(GstDvCameraMeta* meta, guint64 epoch, gdouble xx, gdouble xy,
                                  gdouble x0, gdouble yx, gdouble yy, gdouble y0);
guint64 gst_dv_camera_meta_new_epoch(void);

G_END_DECLS

#endif /* __GST_DV_CAMERA_META_H__ */
