// SPDX-License-Identifier: Apache-2.0
#include "gst/dvnn/gstdvcamerameta.h"

#include "meta/metatransform.h"
#include "motion/affine.h"

#include <atomic>

using dvnn::motion::Affine;

namespace {

Affine affine_of(const dvnn::image::Transform& map) {
  if (map.swap_xy) return {0, map.scale_x, map.offset_x, map.scale_y, 0, map.offset_y};
  return {map.scale_x, map.shear_x, map.offset_x, map.shear_y, map.scale_y, map.offset_y};
}

}  // namespace

GType gst_dv_camera_meta_api_get_type(void) {
  static const GType type =
      gst_meta_api_type_register("GstDvCameraMetaAPI", dvnn::gst::frame_meta_tags());
  return type;
}

static gboolean gst_dv_camera_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  auto* self = reinterpret_cast<GstDvCameraMeta*>(meta);
  const GstMeta parent = self->meta;
  *self = {};
  self->meta = parent;
  self->xx = self->yy = self->since_xx = self->since_yy = 1;
  return TRUE;
}

// Scales or turns the motions with the frame.
static gboolean gst_dv_camera_meta_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type,
                                             gpointer data) {
  const auto* from = reinterpret_cast<GstDvCameraMeta*>(meta);
  Affine motion{from->xx, from->xy, from->x0, from->yx, from->yy, from->y0};
  Affine since{from->since_xx, from->since_xy, from->since_x0,
               from->since_yx, from->since_yy, from->since_y0};
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  } else {
    const auto change = dvnn::gst::frame_change(type, data);
    if (!change || !change->exact) return FALSE;
    const Affine map = affine_of(change->transform);
    if (map.determinant() == 0) return FALSE;
    motion = map.inverse().then(motion).then(map);
    since = map.inverse().then(since).then(map);
  }
  GstDvCameraMeta* added = gst_buffer_add_dv_camera_meta(to, motion.xx, motion.xy, motion.x0,
                                                         motion.yx, motion.yy, motion.y0);
  gst_dv_camera_meta_set_since(added, from->epoch, since.xx, since.xy, since.x0, since.yx, since.yy,
                               since.y0);
  return TRUE;
}

/**
 * gst_dv_camera_meta_get_info: (skip)
 *
 * Since: 0.1.0
 */
const GstMetaInfo* gst_dv_camera_meta_get_info(void) {
  static const GstMetaInfo* const info =
      gst_meta_register(GST_DV_CAMERA_META_API_TYPE, "GstDvCameraMeta", sizeof(GstDvCameraMeta),
                        gst_dv_camera_meta_init, nullptr, gst_dv_camera_meta_transform);
  return info;
}

/**
 * gst_buffer_add_dv_camera_meta:
 * @buffer: a writable buffer
 * @xx: see #GstDvCameraMeta
 * @xy: see #GstDvCameraMeta
 * @x0: see #GstDvCameraMeta
 * @yx: see #GstDvCameraMeta
 * @yy: see #GstDvCameraMeta
 * @y0: see #GstDvCameraMeta
 *
 * Sets the camera's motion since the last frame; replaces the buffer's former meta.
 *
 * Returns: (transfer none): the meta
 *
 * Since: 0.1.0
 */
GstDvCameraMeta* gst_buffer_add_dv_camera_meta(GstBuffer* buffer, gdouble xx, gdouble xy,
                                               gdouble x0, gdouble yx, gdouble yy, gdouble y0) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  GstDvCameraMeta* meta = gst_buffer_get_dv_camera_meta(buffer);
  if (!meta) {
    meta = reinterpret_cast<GstDvCameraMeta*>(
        gst_buffer_add_meta(buffer, GST_DV_CAMERA_META_INFO, nullptr));
  }
  meta->xx = xx, meta->xy = xy, meta->x0 = x0;
  meta->yx = yx, meta->yy = yy, meta->y0 = y0;
  return meta;
}

/**
 * gst_buffer_get_dv_camera_meta:
 * @buffer: a buffer
 *
 * Returns: (transfer none) (nullable): the camera's motion, if known
 *
 * Since: 0.1.0
 */
GstDvCameraMeta* gst_buffer_get_dv_camera_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  return reinterpret_cast<GstDvCameraMeta*>(
      gst_buffer_get_meta(buffer, GST_DV_CAMERA_META_API_TYPE));
}

/**
 * gst_dv_camera_meta_set_since:
 * @meta: a meta of a writable buffer
 * @epoch: a number of gst_dv_camera_meta_new_epoch()
 * @xx: see #GstDvCameraMeta
 * @xy: see #GstDvCameraMeta
 * @x0: see #GstDvCameraMeta
 * @yx: see #GstDvCameraMeta
 * @yy: see #GstDvCameraMeta
 * @y0: see #GstDvCameraMeta
 *
 * Sets the camera's motion since the epoch's first frame.
 *
 * Since: 0.1.0
 */
void gst_dv_camera_meta_set_since(GstDvCameraMeta* meta, guint64 epoch, gdouble xx, gdouble xy,
                                  gdouble x0, gdouble yx, gdouble yy, gdouble y0) {
  g_return_if_fail(meta != nullptr);
  meta->epoch = epoch;
  meta->since_xx = xx, meta->since_xy = xy, meta->since_x0 = x0;
  meta->since_yx = yx, meta->since_yy = yy, meta->since_y0 = y0;
}

/**
 * gst_dv_camera_meta_new_epoch:
 *
 * Returns: a number that no other epoch of this process has
 *
 * Since: 0.1.0
 */
guint64 gst_dv_camera_meta_new_epoch(void) {
  static std::atomic<guint64> last{0};
  return ++last;
}
