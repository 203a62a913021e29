// SPDX-License-Identifier: Apache-2.0
#include "infer/tensorrequest.h"

#include <new>
#include <type_traits>

#include "meta/metatransform.h"
#include "refs.h"

namespace dvnn::gst {
namespace {

constexpr char kRequestChanged[] = "dv-tensor-request-changed";

// The API has no meta: it only names the request. Its tags say that a tensor depends on the very
// pixels that dvconvert saw, for elements that change pixels.
GType request_api() {
  static const GType type =
      gst_meta_api_type_register("GstDvTensorRequestAPI", dvnn::gst::pixel_meta_tags());
  return type;
}

// C code calls this. If memory runs out there is no request, and frames carry only their view.
gpointer copy_request(gpointer request) {
  return new (std::nothrow) TensorRequest(*static_cast<TensorRequest*>(request));
}

static_assert(std::is_nothrow_copy_constructible_v<TensorRequest>);

void free_request(gpointer request) {
  delete static_cast<TensorRequest*>(request);
}

GType request_type() {
  static const GType type =
      g_boxed_type_register_static("GstDvTensorRequest", copy_request, free_request);
  return type;
}

}  // namespace

void remove_tensor_request(GstQuery* query) {
  guint index = 0;
  while (gst_query_find_allocation_meta(query, request_api(), &index)) {
    gst_query_remove_nth_allocation_meta(query, index);
  }
}

void set_tensor_request(GstQuery* query, const TensorRequest& request) {
  remove_tensor_request(query);
  const StructurePtr params(
      gst_structure_new("dv-tensor-request", "request", request_type(), &request, nullptr));
  gst_query_add_allocation_meta(query, request_api(), params.get());
}

std::optional<TensorRequest> get_tensor_request(GstQuery* query) {
  guint index = 0;
  if (!gst_query_find_allocation_meta(query, request_api(), &index)) return std::nullopt;
  const GstStructure* params = nullptr;
  gst_query_parse_nth_allocation_meta(query, index, &params);
  const GValue* value = params ? gst_structure_get_value(params, "request") : nullptr;
  if (!value || !G_VALUE_HOLDS(value, request_type())) return std::nullopt;
  const auto* request = static_cast<const TensorRequest*>(g_value_get_boxed(value));
  return request ? std::optional<TensorRequest>(*request) : std::nullopt;
}

GstEvent* new_request_changed_event() {
  return gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM, gst_structure_new_empty(kRequestChanged));
}

bool is_request_changed_event(const GstEvent* event) {
  return GST_EVENT_TYPE(event) == GST_EVENT_CUSTOM_UPSTREAM &&
         gst_event_has_name(const_cast<GstEvent*>(event), kRequestChanged);
}

}  // namespace dvnn::gst
