// SPDX-License-Identifier: Apache-2.0
#include "elements/undecoded.h"

#include "base/format.h"
#include "errors.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::gst {

void UndecodedOutputs::look_at(GstElement* element, GstBuffer* frame) {
  constexpr guint kFramesBeforeWarning = 30;
  if (is_over_) return;
  const GstDvObjectsMeta* objects = gst_buffer_get_dv_objects_meta(frame);
  is_over_ = objects && gst_dv_objects_meta_get_n_objects(objects) > 0;
  const GstDvTensorMeta* outputs = gst_buffer_get_dv_tensor_meta(frame);
  if (!outputs || !outputs->network) return;
  if (frames_ == 0) network_ = gst_dv_network_info_get_name(outputs->network);
  if (++frames_ == kFramesBeforeWarning) end(element);
}

void UndecodedOutputs::end(GstElement* element) {
  if (is_over_ || frames_ == 0) return;
  is_over_ = true;
  post_warning(element, Topic::kSettings,
               invalid_argument(format("none of %u frames has an object, but each carries outputs "
                                       "of network '%s': is a dvdecode missing upstream?",
                                       frames_, network_.c_str())),
               "dvinfer ! dvdecode is the order");
}

}  // namespace dvnn::gst
