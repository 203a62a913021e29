/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __GST_DV_TENSOR_META_H__
#define __GST_DV_TENSOR_META_H__

#include <gst/dvnn/gstdvnetworkinfo.h>
#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_DV_TENSOR_META_API_TYPE (gst_dv_tensor_meta_api_get_type())
#define GST_DV_TENSOR_META_INFO (gst_dv_tensor_meta_get_info())
#define GST_TYPE_DV_TENSOR (gst_dv_tensor_get_type())
#define GST_TYPE_DV_TENSOR_DATA_TYPE (gst_dv_tensor_data_type_get_type())
#define GST_TYPE_DV_TENSOR_LAYOUT (gst_dv_tensor_layout_get_type())
#define GST_TYPE_DV_REGION_KIND (gst_dv_region_kind_get_type())
/**
 * GST_DV_TENSOR_MAX_DIMS:
 *
 * The most dimensions that a tensor has.
 *
 * Since: 0.1.0
 */
#define GST_DV_TENSOR_MAX_DIMS 6

/**
 * GstDvTensorDataType:
 * @GST_DV_TENSOR_DATA_TYPE_FLOAT16: IEEE 754 binary16
 * @GST_DV_TENSOR_DATA_TYPE_FLOAT32: IEEE 754 binary32
 * @GST_DV_TENSOR_DATA_TYPE_UINT8: unsigned bytes
 * @GST_DV_TENSOR_DATA_TYPE_INT8: signed bytes
 *
 * Type of a tensor's elements.
 *
 * Since: 0.1.0
 */
typedef enum {
  GST_DV_TENSOR_DATA_TYPE_FLOAT16,
  GST_DV_TENSOR_DATA_TYPE_FLOAT32,
  GST_DV_TENSOR_DATA_TYPE_UINT8,
  GST_DV_TENSOR_DATA_TYPE_INT8
} GstDvTensorDataType;

/**
 * GstDvTensorLayout:
 * @GST_DV_TENSOR_LAYOUT_NCHW: row-major in the order of the dims; any number of dims
 * @GST_DV_TENSOR_LAYOUT_NHWC: channels innermost, x before y ("DHWC")
 * @GST_DV_TENSOR_LAYOUT_NWHC: channels innermost, y before x ("DWHC")
 * @GST_DV_TENSOR_LAYOUT_WHC8: chunks of 8 channels, each as NWHC; the last one not padded
 * @GST_DV_TENSOR_LAYOUT_HWC8: chunks of 8 channels, each as NHWC; the last one not padded
 *
 * Order of a tensor's elements in memory.
 *
 * Since: 0.1.0
 */
typedef enum {
  GST_DV_TENSOR_LAYOUT_NCHW,
  GST_DV_TENSOR_LAYOUT_NHWC,
  GST_DV_TENSOR_LAYOUT_NWHC,
  GST_DV_TENSOR_LAYOUT_WHC8,
  GST_DV_TENSOR_LAYOUT_HWC8
} GstDvTensorLayout;

/**
 * GstDvTensor:
 * @id: name of the tensor
 * @layout: order of the elements
 * @data_type: type of the elements
 * @data: (transfer none): the memory, which begins with the tensor and has no other
 * @num_dims: number of used @dims
 * @dims: dimensions, outermost first; an image's are n, c, h, w whatever the layout
 *
 * A tensor. Fields have the names of GstTensor's in GStreamer 1.26, if it has them.
 *
 * Since: 0.1.0
 */
typedef struct {
  GQuark id;
  GstDvTensorLayout layout;
  GstDvTensorDataType data_type;
  GstBuffer* data;
  gsize num_dims;
  gsize dims[GST_DV_TENSOR_MAX_DIMS];
} GstDvTensor;

/**
 * GstDvTransform:
 * @scale_x: tensor_x = scale_x * frame_x + offset_x, pixel edges at integers
 * @offset_x: see @scale_x
 * @scale_y: tensor_y = scale_y * frame_y + offset_y
 * @offset_y: see @scale_y
 * @swap_xy: the frame is turned by a quarter: tensor_x depends on frame_y, tensor_y on frame_x
 * @shear_x: of an oriented region: tensor_x += shear_x * frame_y
 * @shear_y: of an oriented region: tensor_y += shear_y * frame_x
 *
 * Maps a frame's pixels to a tensor's. Flips have negative scales.
 *
 * Since: 0.1.0
 */
typedef struct {
  gdouble scale_x, offset_x, scale_y, offset_y;
  gboolean swap_xy;
  gdouble shear_x, shear_y;
} GstDvTransform;

/**
 * GstDvRegionKind:
 * @GST_DV_REGION_FRAME: the frame, or a single part of it
 * @GST_DV_REGION_LIST: one of a list of areas
 * @GST_DV_REGION_TILE: one of several tiles of a frame, whose objects are merged
 * @GST_DV_REGION_OBJECT: the place of an object that another network found
 *
 * Kind of the region of a frame that a network was shown.
 *
 * Since: 0.1.0
 */
typedef enum {
  GST_DV_REGION_FRAME,
  GST_DV_REGION_LIST,
  GST_DV_REGION_TILE,
  GST_DV_REGION_OBJECT
} GstDvRegionKind;

/**
 * GstDvTensorMeta:
 * @meta: parent
 * @num_tensors: number of @tensors
 * @tensors: (array length=num_tensors): the tensors
 * @transform: from the frame to the network's input
 * @input_width: width of the network's input in pixels of the tensor
 * @input_height: height of the network's input in pixels of the tensor
 * @network: (nullable): a boxed description of the network, for decoders; see
 *   gst_dv_network_info_get_decoder()
 * @region: index of the region of the frame that the network was shown
 * @region_kind: kind of that region
 * @region_name: name of a region of a list, or 0
 * @object: id of the #GstDvObject whose region it is, or 0
 * @x0: left edge of the region in pixels of the buffer's frame
 * @y0: upper edge, see @x0
 * @x1: right edge, see @x0
 * @y1: lower edge, see @x0
 * @predicted: whether the network was shown the object in an earlier frame; then @transform and the
 *   region's edges are moved to the object's place in this frame
 *
 * A network's outputs for a video frame, attached by dvinfer and removed by dvdecode. Their data
 * may be in device memory, which dvinfer reuses when the last reference is gone.
 *
 * Whole copies of the frame keep the outputs, and so do frames that are converted or scaled;
 * @transform and the region's edges follow.
 *
 * Since: 0.1.0
 */
typedef struct {
  GstMeta meta;
  gsize num_tensors;
  GstDvTensor* tensors;
  GstDvTransform transform;
  guint input_width, input_height;
  GstDvNetworkInfo* network;
  guint region;
  GstDvRegionKind region_kind;
  GQuark region_name;
  guint64 object;
  gdouble x0, y0, x1, y1;
  gboolean predicted;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING - 1];
} GstDvTensorMeta;

GType gst_dv_tensor_data_type_get_type(void);
GType gst_dv_tensor_layout_get_type(void);
GType gst_dv_region_kind_get_type(void);
GType gst_dv_tensor_get_type(void);
GstDvTensor* gst_dv_tensor_new(const gchar* name, GstDvTensorDataType data_type,
                               GstDvTensorLayout layout, const gsize* dims, gsize num_dims,
                               GstBuffer* data);
GstDvTensor* gst_dv_tensor_copy(const GstDvTensor* tensor);
void gst_dv_tensor_free(GstDvTensor* tensor);
const gchar* gst_dv_tensor_get_name(const GstDvTensor* tensor);
const gsize* gst_dv_tensor_get_dims(const GstDvTensor* tensor, gsize* num_dims);
GBytes* gst_dv_tensor_get_bytes(const GstDvTensor* tensor);

GType gst_dv_tensor_meta_api_get_type(void);
const GstMetaInfo* gst_dv_tensor_meta_get_info(void);
GstDvTensorMeta* gst_buffer_add_dv_tensor_meta(GstBuffer* buffer, gsize num_tensors);
GstDvTensorMeta* gst_buffer_get_dv_tensor_meta(GstBuffer* buffer);
GstDvTensor* gst_dv_tensor_meta_get_tensor(const GstDvTensorMeta* meta, guint index);
GstDvTensor* gst_dv_tensor_meta_find_tensor(const GstDvTensorMeta* meta, const gchar* name);

G_END_DECLS

#endif /* __GST_DV_TENSOR_META_H__ */
