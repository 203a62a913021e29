// SPDX-License-Identifier: Apache-2.0
#include "elements/upstreamquery.h"

#include "refs.h"

namespace dvnn::gst {

bool ask_upstream(GstPad* sink, const char* query) {
  const QueryPtr asked(gst_query_new_custom(GST_QUERY_CUSTOM, gst_structure_new_empty(query)));
  return gst_pad_peer_query(sink, asked.get());
}

bool asks(GstQuery* query, const char* name) {
  return GST_QUERY_TYPE(query) == GST_QUERY_CUSTOM &&
         gst_structure_has_name(gst_query_get_structure(query), name);
}

}  // namespace dvnn::gst
