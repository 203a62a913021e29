// SPDX-License-Identifier: Apache-2.0
// The base of elements that work on the objects of frames, or draw them: a GstBaseTransform that
// works in place and delegates to a C++ object. The common parts are here: class, properties, pads,
// the end of exceptions, and when settings are taken over.
#pragma once

#include <gst/base/gstbasetransform.h>

#include <atomic>
#include <string>

#include "elements/objectclass.h"
#include "refs.h"

namespace dvnn::gst {

/// Detects that frames carry a network's outputs but no objects, because a dvdecode is missing, and
/// warns of it. dvdecode itself removes the outputs. Warns once, after 30 such frames or at the
/// end. Streaming thread only.
class UndecodedOutputs {
 public:
  void start() { *this = {}; }
  /// Looks at a frame. A single object on any frame shows that there is a dvdecode.
  void look_at(GstElement* element, GstBuffer* frame);
  void end(GstElement* element);

 private:
  guint frames_ = 0;      // number of frames with outputs
  bool is_over_ = false;  // a frame had an object, or the warning was posted
  std::string network_;
};

/// Caps of elements that do not read pixels.
constexpr const char* kAnyVideo = "video/x-raw(ANY)";
/// Those of elements whose results need no picture: windows of sound, too (frames/caps.h).
constexpr const char* kAnyFrames =
    "video/x-raw(ANY); audio/x-raw(meta:GstDvWindow), channels=(int)1";

/// What gst-inspect-1.0 shows of an element, and what its errors begin with.
struct ElementFacts {
  const char* type;       // the GObject type: "GstDvZones"
  const char* name;       // in pipelines: "dvzones"
  const char* long_name;  // "DV zones and lines"
  const char* klass;      // "Filter/Analyzer/Video"
  const char* description;
  const char* fault;  // begins errors about frames: "the objects cannot be drawn"
  const char* sink_caps = kAnyVideo;
  const char* src_caps = kAnyVideo;
  const char* counts = nullptr;  // blurb of the property `counts`; null: it has none
  bool passthrough = false;      // frames pass unchanged, so shared ones are not copied
};

/// The work of one element. Exceptions become errors of the element.
class ObjectElement {
 public:
  explicit ObjectElement(GstBaseTransform* element) : element_(element) {}
  virtual ~ObjectElement() = default;

  /// Returns the values of the properties. Under the object lock.
  virtual gpointer settings() = 0;
  /// Opens files and whatever takes time or may fail: on the way to READY, and to PAUSED for
  /// properties that were set in READY. On failure it posts an error and returns false. close() is
  /// called on the way to NULL.
  virtual bool open() { return true; }
  virtual void close() {}
  virtual void start() {}
  virtual void stop() {}
  /// Called before PAUSED is left; the streaming thread may still be at work.
  virtual void leave_paused() {}

  /// Answers a query that comes from the side of that pad's peer; false: it is passed on. Any
  /// thread.
  virtual bool answer(GstPadDirection, GstQuery*) { return false; }

  /// Called with an event that comes from downstream, before it is passed on. Any thread.
  virtual void upstream_event(GstEvent*) {}

  // Streaming thread.
  virtual bool set_caps(GstCaps* in, GstCaps* out) = 0;
  virtual GstFlowReturn frame(GstBuffer* frame) = 0;
  /// Called before an event is passed on; event_passed(), after it.
  virtual void event(GstEvent*) {}
  virtual void event_passed() {}

  /// Notes that a property was set. Any thread.
  void note_change() { changed_ = true; }

  /// Returns the value of the property `counts`.
  virtual StructurePtr counts() { return nullptr; }

  /// What the base has to say of outputs that the element has left on frames.
  UndecodedOutputs undecoded;

 protected:
  GstBaseTransform* transform() const { return element_; }
  GstElement* element() const { return GST_ELEMENT_CAST(element_); }
  const GstSegment& segment() const { return element_->segment; }
  void post(GstStructure* fields) const {
    gst_element_post_message(element(), gst_message_new_element(GST_OBJECT_CAST(element_), fields));
  }

  std::atomic<bool> changed_{true};  // whether a property was set since settings were taken over

 private:
  GstBaseTransform* const element_;
};

/// An element whose properties are members of `Settings`.
template <typename Settings>
class ElementWithSettings : public ObjectElement {
 public:
  using ObjectElement::ObjectElement;
  gpointer settings() final { return &set_; }

 protected:
  /// Takes over the properties for a frame or an event. They are copied only if one was set,
  /// because texts may be long.
  const Settings& take_settings() {
    if (!changed_.exchange(false)) return current_;
    const ObjectLock lock(transform());
    current_ = set_;
    return current_;
  }
  /// Returns the properties as they are now. Any thread.
  Settings now() const {
    const ObjectLock lock(transform());
    return set_;
  }
  /// Returns the settings that were taken over last. Streaming thread, or while it does not run.
  const Settings& current() const { return current_; }

 private:
  Settings set_;
  Settings current_;
};

/// Everything that an element's type needs.
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

/// Returns the table of properties, which is made once.
template <auto Rows>
const PropertyTable& properties_of() {
  return made_once<Rows>();
}

/// Registers the element's type and the element. `element` must live for ever.
bool register_element(GstPlugin* plugin, const ElementClass& element);

/// Returns the work of an element that register_element() has registered.
ObjectElement& object_element_of(gpointer element);

/// Returns GstBaseTransform's class, whose vmethods an overriding element may call.
GstBaseTransformClass* parent_class_of(gpointer element);

}  // namespace dvnn::gst
