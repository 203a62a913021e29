/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __GST_DV_TENSOR_META_H__
#define __GST_DV_TENSOR_META_H__

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_DV_TENSOR_META_API_TYPE (gst_dv_tensor_meta_api_get_type())
#define GST_DV_TENSOR_MAX_DIMS 6

/**
 * GstDvTensorDataType:
 * @GST_DV_TENSOR_DATA_TYPE_FLOAT16: IEEE 754 binary16
 * @GST_DV_TENSOR_DATA_TYPE_FLOAT32: IEEE 754 binary32
 * @GST_DV_TENSOR_DATA_TYPE_UINT8: unsigned bytes
 * @GST_DV_TENSOR_DATA_TYPE_INT8: signed bytes
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
 * @GST_DV_TENSOR_LAYOUT_WHC8: chunks of 8 channels, each as NWHC; the last one tight
 * @GST_DV_TENSOR_LAYOUT_HWC8: chunks of 8 channels, each as NHWC; the last one tight
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
 * @layout: where an element lies
 * @data_type: type of the elements
 * @data: (transfer none): the memory, one tensor from its first byte on
 * @num_dims: how many of @dims are used
 * @dims: dimensions, outermost first; a picture's are n, c, h, w whatever the layout
 *
 * One tensor. Fields are named as GstTensor's of GStreamer 1.26 where it has them.
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
 * GstDvTensorRole:
 * @GST_DV_TENSOR_ROLE_INPUT: made from the frame by dvconvert, for dvinfer
 * @GST_DV_TENSOR_ROLE_OUTPUT: made by dvinfer, for dvdecode
 */
typedef enum { GST_DV_TENSOR_ROLE_INPUT, GST_DV_TENSOR_ROLE_OUTPUT } GstDvTensorRole;

/**
 * GstDvTransform:
 * @scale_x: tensor_x = scale_x * frame_x + offset_x, pixel edges at integers
 * @offset_x: see @scale_x
 * @scale_y: tensor_y = scale_y * frame_y + offset_y
 * @offset_y: see @scale_y
 * @swap_xy: the picture is turned by a quarter: tensor_x comes of frame_y, tensor_y of frame_x
 *
 * Where a frame's pixels lie in a tensor. Flips have negative scales.
 */
typedef struct {
  gdouble scale_x, offset_x, scale_y, offset_y;
  gboolean swap_xy;
} GstDvTransform;

/**
 * GstDvTensorMeta:
 * @meta: parent
 * @role: input or outputs of a network
 * @num_tensors: number of @tensors
 * @tensors: (array length=num_tensors): the tensors
 * @transform: from the frame to the network's input
 * @input_width: of the network's input, tensor pixels
 * @input_height: of the network's input, tensor pixels
 * @network: (nullable): a boxed description of the network, for decoders; see
 *   gst_dv_network_info_get_decoder()
 *
 * Tensors that belong to a video frame. The data of a network's input and outputs lie in a slot of
 * dvinfer, which is used again when the last reference to any of them is gone.
 */
typedef struct {
  GstMeta meta;
  GstDvTensorRole role;
  gsize num_tensors;
  GstDvTensor* tensors;
  GstDvTransform transform;
  guint input_width, input_height;
  struct _GstDvNetworkInfo* network;
} GstDvTensorMeta;

/**
 * GstDvNetworkInfo:
 *
 * What a network file says of its outputs' meaning. Reference counted.
 */
typedef struct _GstDvNetworkInfo GstDvNetworkInfo;

GType gst_dv_network_info_get_type(void);
GstDvNetworkInfo* gst_dv_network_info_new(const gchar* name, const gchar* decoder,
                                          const gchar* decoder_params, const gchar* const* labels);
GstDvNetworkInfo* gst_dv_network_info_ref(GstDvNetworkInfo* info);
void gst_dv_network_info_unref(GstDvNetworkInfo* info);
const gchar* gst_dv_network_info_get_name(const GstDvNetworkInfo* info);
const gchar* gst_dv_network_info_get_decoder(const GstDvNetworkInfo* info);
const gchar* gst_dv_network_info_get_decoder_params(const GstDvNetworkInfo* info);
const gchar* const* gst_dv_network_info_get_labels(const GstDvNetworkInfo* info);

GType gst_dv_tensor_meta_api_get_type(void);
const GstMetaInfo* gst_dv_tensor_meta_get_info(void);
GstDvTensorMeta* gst_buffer_add_dv_tensor_meta(GstBuffer* buffer, GstDvTensorRole role,
                                               gsize num_tensors);
GstDvTensorMeta* gst_buffer_get_dv_tensor_meta(GstBuffer* buffer, GstDvTensorRole role);

G_END_DECLS

#endif /* __GST_DV_TENSOR_META_H__ */
