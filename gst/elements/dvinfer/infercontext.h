// SPDX-License-Identifier: Apache-2.0
// State that dvinfer's parts share: the element, its settings and its queue.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "elements/dvinfer/infersettings.h"
#include "errors.h"
#include "infer/queue/inferqueue.h"
#include "infer/tensorrequest.h"

GST_DEBUG_CATEGORY_EXTERN(dv_infer_debug);

namespace dvnn::gst {

/// Context of one dvinfer element. Any thread may call it.
class InferContext {
 public:
  /// The element owns the context; the context owns none of the three objects.
  InferContext(GstElement* element, GstPad* sinkpad, GstPad* srcpad)
      : element_(element), sinkpad_(sinkpad), srcpad_(srcpad) {}

  GstElement* element() const { return element_; }
  GstPad* sinkpad() const { return sinkpad_; }
  GstPad* srcpad() const { return srcpad_; }

  /// Returns a copy of the settings, or of those that are read for each frame.
  InferSettings settings() const;
  InferRules rules() const;
  /// Returns the settings themselves, which properties set. Call it under the object lock.
  InferSettings* properties() { return &settings_; }
  /// Sets the network's settings back to `of`, because the newly named network could not be loaded.
  void restore_network(const NetworkSettings& of);

  /// Returns the queue, or null below PAUSED: queries and events come at any time.
  std::shared_ptr<InferQueue> queue() const;
  /// Replaces the queue and returns the one before.
  std::shared_ptr<InferQueue> exchange_queue(std::shared_ptr<InferQueue> queue);

  /// Returns the state that is shared with dvconvert.
  const std::shared_ptr<Intake>& intake() const { return intake_; }

  /// Posts `error` and says which settings it may be about.
  void post_error(Topic topic, const Error& error,
                  const CodePlace& place = CodePlace::here()) const;
  void post_warning(Topic topic, const Error& error, const std::string& debug = {},
                    const CodePlace& place = CodePlace::here()) const;
  /// Posts a message, and takes ownership of it.
  void post(GstMessage* message) const { gst_element_post_message(element_, message); }
  /// Posts an element message with `structure`, and takes ownership of it.
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
