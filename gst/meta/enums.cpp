// SPDX-License-Identifier: Apache-2.0
// GTypes of the public enumerations, for bindings and for properties.
#include "gst/dvnn/gstdvdrawingmeta.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"

#define DVNN_VALUE(value, nick) \
  { value, #value, nick }

GType gst_dv_tensor_data_type_get_type(void) {
  static const GEnumValue values[] = {DVNN_VALUE(GST_DV_TENSOR_DATA_TYPE_FLOAT16, "float16"),
                                      DVNN_VALUE(GST_DV_TENSOR_DATA_TYPE_FLOAT32, "float32"),
                                      DVNN_VALUE(GST_DV_TENSOR_DATA_TYPE_UINT8, "uint8"),
                                      DVNN_VALUE(GST_DV_TENSOR_DATA_TYPE_INT8, "int8"),
                                      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDvTensorDataType", values);
  return type;
}

GType gst_dv_tensor_layout_get_type(void) {
  static const GEnumValue values[] = {
      DVNN_VALUE(GST_DV_TENSOR_LAYOUT_NCHW, "nchw"), DVNN_VALUE(GST_DV_TENSOR_LAYOUT_NHWC, "nhwc"),
      DVNN_VALUE(GST_DV_TENSOR_LAYOUT_NWHC, "nwhc"), DVNN_VALUE(GST_DV_TENSOR_LAYOUT_WHC8, "whc8"),
      DVNN_VALUE(GST_DV_TENSOR_LAYOUT_HWC8, "hwc8"), {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDvTensorLayout", values);
  return type;
}

GType gst_dv_region_kind_get_type(void) {
  static const GEnumValue values[] = {DVNN_VALUE(GST_DV_REGION_FRAME, "frame"),
                                      DVNN_VALUE(GST_DV_REGION_LIST, "list"),
                                      DVNN_VALUE(GST_DV_REGION_TILE, "tile"),
                                      DVNN_VALUE(GST_DV_REGION_OBJECT, "object"),
                                      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDvRegionKind", values);
  return type;
}

GType gst_dv_object_kind_get_type(void) {
  static const GEnumValue values[] = {DVNN_VALUE(GST_DV_OBJECT_DETECTION, "detection"),
                                      DVNN_VALUE(GST_DV_OBJECT_CLASSIFICATION, "classification"),
                                      DVNN_VALUE(GST_DV_OBJECT_SEGMENTATION, "segmentation"),
                                      DVNN_VALUE(GST_DV_OBJECT_ATTRIBUTES, "attributes"),
                                      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDvObjectKind", values);
  return type;
}

GType gst_dv_pass_state_get_type(void) {
  static const GEnumValue values[] = {DVNN_VALUE(GST_DV_PASS_INFERRED, "inferred"),
                                      DVNN_VALUE(GST_DV_PASS_SKIPPED, "skipped"),
                                      DVNN_VALUE(GST_DV_PASS_PREDICTED, "predicted"),
                                      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDvPassState", values);
  return type;
}

GType gst_dv_shape_kind_get_type(void) {
  static const GEnumValue values[] = {DVNN_VALUE(GST_DV_SHAPE_LINE, "line"),
                                      DVNN_VALUE(GST_DV_SHAPE_POLYGON, "polygon"),
                                      DVNN_VALUE(GST_DV_SHAPE_TEXT, "text"),
                                      DVNN_VALUE(GST_DV_SHAPE_PICTURE, "picture"),
                                      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDvShapeKind", values);
  return type;
}
