// SPDX-License-Identifier: Apache-2.0
// What dvinfer's parts share: the element as they see it, its settings and its queue.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "elements/dvinfer/infersettings.h"
#include "errors.h"
#include "infer/intake.h"
#include "infer/queue/inferqueue.h"

GST_DEBUG_CATEGORY_EXTERN(dv_infer_debug);

namespace dvnn::gst {

/// Any thread may call it.
class InferContext {
 public:
  /// The element owns this, and the pads.
  InferContext(GstElement* element, GstPad* sinkpad, GstPad* srcpad)
      : element_(element), sinkpad_(sinkpad), srcpad_(srcpad) {}

  GstElement* element() const { return element_; }
  GstPad* sinkpad() const { return sinkpad_; }
  GstPad* srcpad() const { return srcpad_; }

  /// A copy of the settings, and of what frames need of them.
  InferSettings settings() const;
  InferRules rules() const;
  /// The settings that properties set, under the object lock.
  InferSettings* properties() { return &settings_; }
  /// Names the network of `of` again, as the one that was named meanwhile is not to be had.
  void restore_network(const NetworkSettings& of);

  /// The queue, or null below PAUSED: queries and events come at any time.
  std::shared_ptr<InferQueue> queue() const;
  /// Returns the one before.
  std::shared_ptr<InferQueue> exchange_queue(std::shared_ptr<InferQueue> queue);

  /// What dvconvert uses, too.
  const std::shared_ptr<Intake>& intake() const { return intake_; }

  /// Posts `error` and says which settings it may be about.
  void post_error(Topic topic, const Error& error,
                  const CodePlace& place = CodePlace::here()) const;
  void post_warning(Topic topic, const Error& error, const std::string& debug = {},
                    const CodePlace& place = CodePlace::here()) const;
  /// Posts a message; it is taken.
  void post(GstMessage* message) const { gst_element_post_message(element_, message); }
  /// Posts an element message of that content; it is taken.
  void post(GstStructure* structure) const {
    post(gst_message_new_element(GST_OBJECT(element_), structure));
  }

 private:
  GstElement* const element_;
  GstPad* const sinkpad_;
  GstPad* const srcpad_;
  const std::shared_ptr<Intake> intake_ = std::make_shared<Intake>();
  // Under the object lock.
  InferSettings settings_;
  std::shared_ptr<InferQueue> queue_;
};

}  // namespace dvnn::gst
