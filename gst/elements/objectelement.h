// SPDX-License-Identifier: Apache-2.0
// The base of elements that look at the objects of frames, or draw them: a GstBaseTransform that
// works in place, and hands its work to a C++ object. What is alike in all of them is here: the
// class, its properties, its pads, where exceptions end, and when settings are taken over.
#pragma once

#include <gst/base/gstbasetransform.h>

#include <atomic>
#include <memory>

#include "elements/objectclass.h"
#include "refs.h"

namespace dvnn::gst {

/// Caps of elements that do not look at pixels.
constexpr const char* kAnyVideo = "video/x-raw(ANY)";

/// What gst-inspect-1.0 tells of an element, and what its errors say.
struct ElementFacts {
  const char* type;       // of the GObject: "GstDvZones"
  const char* name;       // in pipelines: "dvzones"
  const char* long_name;  // "DV zones and lines"
  const char* klass;      // "Filter/Analyzer/Video"
  const char* description;
  const char* fault;  // begins errors about a frame: "the objects cannot be drawn"
  const char* sink_caps = kAnyVideo;
  const char* src_caps = kAnyVideo;
  const char* counts = nullptr;  // about the property of this name, which reads counts(); or null
  bool passthrough = false;      // frames stay as they are: those that others hold need no copy
};

/// The work of one element. An exception becomes an error of the element, wherever it is thrown.
class ObjectElement {
 public:
  explicit ObjectElement(GstBaseTransform* element) : element_(element) {}
  virtual ~ObjectElement() = default;

  /// The values of the properties, which are under the object lock.
  virtual gpointer settings() = 0;
  /// Opens what takes time or may fail: on the way to READY, and to PAUSED for what was set in
  /// READY. False: it has posted an error. close() is on the way to NULL.
  virtual bool open() { return true; }
  virtual void close() {}
  virtual void start() {}
  virtual void stop() {}
  /// The element is about to leave PAUSED; its streaming thread may still be at work.
  virtual void leave_paused() {}

  /// Answers a query that comes from the other side of that pad; false: it goes on. Any thread.
  virtual bool answer(GstPadDirection, GstQuery*) { return false; }

  // Streaming thread.
  virtual bool set_caps(GstCaps* in, GstCaps* out) = 0;
  virtual GstFlowReturn frame(GstBuffer* frame) = 0;
  /// An event has come, and has passed the element.
  virtual void event(GstEvent*) {}
  virtual void event_passed() {}

  /// A property was set, from any thread.
  void note_change() { changed_ = true; }

  /// What the property `counts` has.
  virtual StructurePtr counts() { return nullptr; }

 protected:
  GstBaseTransform* transform() const { return element_; }
  GstElement* element() const { return GST_ELEMENT_CAST(element_); }
  const GstSegment& segment() const { return element_->segment; }
  void post(GstStructure* fields) const {
    gst_element_post_message(element(), gst_message_new_element(GST_OBJECT_CAST(element_), fields));
  }

  std::atomic<bool> changed_{true};  // since settings were taken over

 private:
  GstBaseTransform* const element_;
};

/// One whose properties are members of `Settings`.
template <typename Settings>
class ElementWithSettings : public ObjectElement {
 public:
  using ObjectElement::ObjectElement;
  gpointer settings() final { return &set_; }

 protected:
  /// Takes over what has been set until now: for a frame, or an event. Texts of settings may be
  /// long, and are copied only where one was set.
  const Settings& take_settings() {
    if (!changed_.exchange(false)) return current_;
    const ObjectLock lock(transform());
    current_ = set_;
    return current_;
  }
  /// What is set at this moment; any thread.
  Settings now() const {
    const ObjectLock lock(transform());
    return set_;
  }
  /// What was taken over last. Streaming thread, or while there is none.
  const Settings& current() const { return current_; }

 private:
  Settings set_;
  Settings current_;
};

/// What an element's type is made of.
struct ElementClass {
  ElementFacts facts;
  const PropertyTable& (*properties)();
  ObjectElement* (*create)(GstBaseTransform* element);
  /// Sets vmethods that only this element has; may be null.
  void (*adapt)(GstBaseTransformClass* klass) = nullptr;
};

template <typename Body>
ObjectElement* create_element(GstBaseTransform* element) {
  return new Body(element);
}

/// The same table of properties at each call.
template <auto Rows>
const PropertyTable& properties_of() {
  return made_once<Rows>();
}

/// Registers the element's type, and the element with the plugin. The class lives for ever.
bool register_element(GstPlugin* plugin, const ElementClass& element);

/// GstBaseTransform's own vmethods, for those that an element has changed.
GstBaseTransformClass* parent_class_of(gpointer element);

}  // namespace dvnn::gst
