// SPDX-License-Identifier: Apache-2.0
#include "infer/queue/streamorder.h"

#include <algorithm>
#include <utility>

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT queue_category()

namespace dvnn::gst {

StreamOrder::StreamOrder(const Limits& limits, SetTask set_task, std::string name)
    : name_(std::move(name)), set_task_(std::move(set_task)), limits_(limits) {}

GstFlowReturn StreamOrder::frame_flow() const {
  if (flow_ != GST_FLOW_OK) return flow_;
  return eos_ || unexpected_ ? GST_FLOW_EOS : GST_FLOW_OK;
}

// --- sink side ---------------------------------------------------------------------------------

void StreamOrder::push_frame(InferItems frame) {
  frame.front()->queued = true;
  frame.front()->number = ++pushed_;
  items_.splice(items_.end(), frame);
  ++frames_;
}

StreamOrder::EventResult StreamOrder::push_event(EventPtr event) {
  const GstEventType type = GST_EVENT_TYPE(event.get());
  const bool begins = type == GST_EVENT_STREAM_START || type == GST_EVENT_SEGMENT;
  if (flow_ == GST_FLOW_EOS && begins) flow_ = GST_FLOW_OK;
  if (flow_ != GST_FLOW_OK) {
    // Sticky events may be queued, because data flow will report the error. EOS has no data after
    // it.
    const bool lost_eos = type == GST_EVENT_EOS;
    if (!GST_EVENT_IS_STICKY(event.get()) || lost_eos) {
      GST_DEBUG_ID(id(), "event %s is refused: %s", gst_event_type_get_name(type),
                   gst_flow_get_name(flow_));
      return {false, flow_, lost_eos && has_failed() && !told_};
    }
  }
  if (eos_ && !begins) return {false, GST_FLOW_EOS, false};
  items_.push_back(std::make_shared<InferItem>());
  items_.back()->object.reset(GST_MINI_OBJECT_CAST(event.release()));
  GST_DEBUG_ID(id(), "event %s is queued behind %zu items", gst_event_type_get_name(type),
               items_.size() - 1);
  // The steps that may fail are done; the rest follows.
  if (eos_) {
    flow_ = GST_FLOW_OK;
    eos_ = unexpected_ = false;
    set_task_(true);
  }
  if (type == GST_EVENT_EOS) eos_ = true;
  if (type == GST_EVENT_SEGMENT) unexpected_ = false;
  return {true, GST_FLOW_OK, false};
}

bool StreamOrder::remove(InferItem* frame) {
  if (!std::exchange(frame->queued, false)) return false;
  const auto is_it = [&](const ItemPtr& item) { return item.get() == frame; };
  items_.erase(std::find_if(items_.begin(), items_.end(), is_it));
  --frames_;
  return true;
}

void StreamOrder::start_flush() {
  GST_DEBUG_ID(id(), "a flush starts; %zu frames are held", frames_);
  flow_ = GST_FLOW_FLUSHING;
}

void StreamOrder::stop_flush(bool start_task) {
  GST_DEBUG_ID(id(), "the flush ends");
  flow_ = GST_FLOW_OK;
  eos_ = unexpected_ = busy_ = told_ = false;
  if (start_task) set_task_(true);
}

InferItems StreamOrder::drop_all() {
  InferItems frames;
  for (auto item = items_.begin(); item != items_.end();) {
    const auto next = std::next(item);
    if ((*item)->is_frame()) {
      (*item)->queued = false;
      frames.splice(frames.end(), items_, item);
    } else {
      const GstEvent* event = GST_EVENT_CAST((*item)->object.get());
      const GstEventType type = GST_EVENT_TYPE(event);
      const bool stays =
          GST_EVENT_IS_STICKY(event) && type != GST_EVENT_SEGMENT && type != GST_EVENT_EOS;
      if (!stays) items_.erase(item);
    }
    item = next;
  }
  frames_ = 0;
  return frames;
}

// --- source side -------------------------------------------------------------------------------

InferItems StreamOrder::take_head() {
  InferItems head;
  head.splice(head.end(), items_, items_.begin());
  if (std::exchange(head.front()->queued, false)) --frames_;
  return head;
}

// After EOS from downstream, only what begins or ends a stream passes.
bool StreamOrder::drop_until_new_stream(InferItems* dropped) {
  while (const InferItem* next = head()) {
    if (!next->is_frame()) {
      const GstEventType type = GST_EVENT_TYPE(next->object.get());
      if (type == GST_EVENT_EOS || type == GST_EVENT_SEGMENT || type == GST_EVENT_STREAM_START) {
        return true;
      }
      items_.pop_front();
      continue;
    }
    GST_DEBUG_ID(id(), "frame %" G_GUINT64_FORMAT " is dropped: downstream has said EOS",
                 next->number);
    dropped->splice(dropped->end(), take_head());
  }
  return false;
}

StreamOrder::Stopped StreamOrder::finish(bool is_event, GstFlowReturn flow, bool told,
                                         InferItems* dropped) {
  busy_ = false;
  if (flow_ == GST_FLOW_OK) {
    if (flow == GST_FLOW_EOS && is_event) {
      // If another stream is queued after the EOS, even with its own EOS, the flow stays OK;
      // gstqueue would stop here.
      if (eos_ && items_.empty()) flow_ = GST_FLOW_EOS;
    } else if (flow == GST_FLOW_EOS) {
      unexpected_ = !drop_until_new_stream(dropped);
    } else {
      flow_ = flow;
      told_ = told;
      if (flow != GST_FLOW_OK) GST_DEBUG_ID(id(), "downstream says %s", gst_flow_get_name(flow));
    }
    if (flow_ == GST_FLOW_OK) return {};
  }
  set_task_(false);
  return {true, flow_, eos_ && !told_ && has_failed()};
}

void StreamOrder::pause() {
  GST_DEBUG_ID(id(), "the source side pauses: %s", gst_flow_get_name(flow_));
  set_task_(false);
}

bool StreamOrder::reconfigure() {
  if (flow_ != GST_FLOW_NOT_LINKED) return false;
  GST_DEBUG_ID(id(), "downstream is linked again");
  flow_ = GST_FLOW_OK;
  set_task_(true);
  return true;
}

}  // namespace dvnn::gst
