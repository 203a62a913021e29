// SPDX-License-Identifier: Apache-2.0
// A tensor's request on its way up: what dvinfer writes into the ALLOCATION query, dvconvert reads.
#include "infer/tensorrequest.h"

#include "check_suite.h"
#include "refs.h"

namespace dvnn::test::tensor_request_tests {

DVNN_SUITE(tensor_request);

using namespace dvnn::gst;

namespace {

QueryPtr allocation() {
  gst_init(nullptr, nullptr);
  return QueryPtr(gst_query_new_allocation(nullptr, FALSE));
}

TensorRequest request_of(int width) {
  TensorRequest request;
  request.desc = {ElementType::kFloat16, Layout::kWhc8, {1, 3, 4, width}};
  request.input.mean = {1, 2, 3};
  request.takes_pixels = true;
  request.intake = std::make_shared<Intake>();
  return request;
}

}  // namespace

DVNN_TEST(a_request_arrives_as_it_was_asked) {
  const QueryPtr query = allocation();
  const TensorRequest asked = request_of(8);
  set_tensor_request(query.get(), asked);
  const auto got = get_tensor_request(query.get());
  ck_assert(got.has_value());
  ck_assert(got->desc == asked.desc);
  ck_assert(got->input.mean == asked.input.mean);
  ck_assert(got->takes_pixels);
  ck_assert(got->intake == asked.intake);  // shared, not copied
}

DVNN_TEST(only_the_nearest_dvinfers_request_stays) {
  const QueryPtr query = allocation();
  set_tensor_request(query.get(), request_of(8));
  set_tensor_request(query.get(), request_of(16));
  ck_assert_int_eq(get_tensor_request(query.get())->desc.shape.w(), 16);
  ck_assert_uint_eq(gst_query_get_n_allocation_metas(query.get()), 1);
}

DVNN_TEST(a_query_of_others_holds_no_request) {
  const QueryPtr query = allocation();
  ck_assert(!get_tensor_request(query.get()));
  // The API is there, but without what we write: an element has copied the list of APIs.
  set_tensor_request(query.get(), request_of(8));
  const GType api = gst_query_parse_nth_allocation_meta(query.get(), 0, nullptr);
  gst_query_remove_nth_allocation_meta(query.get(), 0);
  gst_query_add_allocation_meta(query.get(), api, nullptr);
  ck_assert(!get_tensor_request(query.get()));
}

}  // namespace dvnn::test::tensor_request_tests
