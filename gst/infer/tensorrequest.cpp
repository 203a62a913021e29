// SPDX-License-Identifier: Apache-2.0
#include "infer/tensorrequest.h"

#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::gst {
namespace {

constexpr const char* kMeans[] = {"mean-0", "mean-1", "mean-2"};
constexpr const char* kScales[] = {"scale-0", "scale-1", "scale-2"};
constexpr const char* kPads[] = {"pad-0", "pad-1", "pad-2"};

}  // namespace

void add_tensor_request(GstQuery* query, const TensorRequest& request) {
  const Shape& shape = request.desc.shape;
  GstStructure* s = gst_structure_new(
      "dv-tensor-request", "type", G_TYPE_STRING, to_string(request.desc.type), "layout",
      G_TYPE_STRING, to_string(request.desc.layout), "channels", G_TYPE_INT, shape.c(), "height",
      G_TYPE_INT, shape.h(), "width", G_TYPE_INT, shape.w(), "order", G_TYPE_STRING,
      to_string(request.picture.order), "resize", G_TYPE_STRING, to_string(request.picture.resize),
      "method", G_TYPE_STRING, to_string(request.picture.method), "takes-pixels", G_TYPE_BOOLEAN,
      static_cast<gboolean>(request.takes_pixels), "pool", GST_TYPE_BUFFER_POOL, request.pool,
      nullptr);
  for (size_t i = 0; i < 3; ++i) {
    gst_structure_set(s, kMeans[i], G_TYPE_FLOAT, request.picture.mean[i], kScales[i], G_TYPE_FLOAT,
                      request.picture.scale[i], kPads[i], G_TYPE_INT,
                      static_cast<int>(request.picture.pad_value[i]), nullptr);
  }
  gst_query_add_allocation_meta(query, GST_DV_TENSOR_META_API_TYPE, s);
  gst_structure_free(s);
}

bool get_tensor_request(GstQuery* query, TensorRequest* request) {
  guint index = 0;
  if (!gst_query_find_allocation_meta(query, GST_DV_TENSOR_META_API_TYPE, &index)) return false;
  const GstStructure* s = nullptr;
  gst_query_parse_nth_allocation_meta(query, index, &s);
  if (!s) return false;
  int channels = 0, height = 0, width = 0;
  gst_structure_get(s, "channels", G_TYPE_INT, &channels, "height", G_TYPE_INT, &height, "width",
                    G_TYPE_INT, &width, nullptr);
  auto text = [s](const char* name) {
    const char* value = gst_structure_get_string(s, name);
    return value ? value : "";
  };
  const auto type = parse_element_type(text("type"));
  const auto layout = parse_layout(text("layout"));
  const auto order = parse_channel_order(text("order"));
  const auto resize = parse_resize_rule(text("resize"));
  const auto method = parse_resize_method(text("method"));
  const GValue* pool = gst_structure_get_value(s, "pool");
  if (!type.ok() || !layout.ok() || !order.ok() || !resize.ok() || !method.ok() || !pool ||
      !GST_IS_BUFFER_POOL(g_value_get_object(pool))) {
    return false;
  }
  request->desc = {type.value(), layout.value(), {1, channels, height, width}};
  request->picture.order = order.value();
  request->picture.resize = resize.value();
  request->picture.method = method.value();
  gboolean takes_pixels = FALSE;
  gst_structure_get_boolean(s, "takes-pixels", &takes_pixels);
  request->takes_pixels = takes_pixels;
  for (size_t i = 0; i < 3; ++i) {
    int pad = 0;
    gst_structure_get(s, kMeans[i], G_TYPE_FLOAT, &request->picture.mean[i], kScales[i],
                      G_TYPE_FLOAT, &request->picture.scale[i], kPads[i], G_TYPE_INT, &pad,
                      nullptr);
    request->picture.pad_value[i] = static_cast<uint8_t>(pad);
  }
  request->pool = GST_BUFFER_POOL(g_value_get_object(pool));
  return true;
}

}  // namespace dvnn::gst
