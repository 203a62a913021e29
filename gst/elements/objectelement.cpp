// SPDX-License-Identifier: Apache-2.0
#include "elements/objectelement.h"

#include "base/format.h"
#include "errors.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "times.h"

namespace dvnn::gst {
namespace {

struct Instance {
  GstBaseTransform parent;
  ObjectElement* work;
};

struct Class {
  GstBaseTransformClass parent;
  const ElementClass* element;
  guint counts;  // id of the property `counts`, which follows those of the table
};

const Class& class_of(gpointer element) {
  return *reinterpret_cast<const Class*>(G_OBJECT_GET_CLASS(element));
}

const ElementFacts& facts_of(gpointer element) {
  return class_of(element).element->facts;
}

ObjectElement& work_of(gpointer element) {
  return *static_cast<Instance*>(element)->work;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  class_of(object).element->properties().set(GST_ELEMENT_CAST(object), work_of(object).settings(),
                                             id, value);
  work_of(object).note_change();
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  if (id == class_of(object).counts) {
    guard(object, "its counts cannot be told", [&] {
      const StructurePtr counts = work_of(object).counts();
      if (counts) g_value_set_boxed(value, counts.get());
    });
    return;
  }
  class_of(object).element->properties().get(GST_ELEMENT_CAST(object), work_of(object).settings(),
                                             id, value);
}

void finalize(GObject* object) {
  delete reinterpret_cast<Instance*>(object)->work;
  G_OBJECT_CLASS(parent_class_of(object))->finalize(object);
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  ObjectElement& work = work_of(element);
  if (prepares(change)) {
    const bool opened = settings_are_right(element) && guard(element, "its files cannot be opened",
                                                             false, [&] { return work.open(); });
    if (!opened) return GST_STATE_CHANGE_FAILURE;
  }
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) {
    guard(element, "it cannot be stopped", [&] { work.leave_paused(); });
  }
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(parent_class_of(element))->change_state(element, change);
  if (change == GST_STATE_CHANGE_READY_TO_NULL) {
    guard(element, "it cannot be closed", [&] { work.close(); });
  }
  return result;
}

gboolean start(GstBaseTransform* trans) {
  return guard(trans, "it cannot be started", FALSE, [&] {
    work_of(trans).undecoded.start();
    work_of(trans).start();
    return TRUE;
  });
}

gboolean stop(GstBaseTransform* trans) {
  return guard(trans, "it cannot be stopped", FALSE, [&] {
    work_of(trans).stop();
    return TRUE;
  });
}

gboolean set_caps(GstBaseTransform* trans, GstCaps* in, GstCaps* out) {
  GST_DEBUG_OBJECT(trans, "frames are %" GST_PTR_FORMAT, in);
  return guard(trans, "the caps cannot be taken", FALSE,
               [&]() -> gboolean { return work_of(trans).set_caps(in, out); });
}

gboolean sink_event(GstBaseTransform* trans, GstEvent* event) {
  // The event itself goes on, whatever happens here.
  guard(trans, "the event cannot be handled", [&] {
    if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) {
      work_of(trans).undecoded.end(GST_ELEMENT_CAST(trans));
    }
    work_of(trans).event(event);
  });
  const gboolean taken = parent_class_of(trans)->sink_event(trans, event);
  guard(trans, "the event cannot be handled", [&] { work_of(trans).event_passed(); });
  return taken;
}

gboolean src_event(GstBaseTransform* trans, GstEvent* event) {
  guard(trans, "the event cannot be handled", [&] { work_of(trans).upstream_event(event); });
  return parent_class_of(trans)->src_event(trans, event);
}

gboolean query(GstBaseTransform* trans, GstPadDirection direction, GstQuery* query) {
  const bool answered = guard(trans, "the query cannot be answered", false,
                              [&] { return work_of(trans).answer(direction, query); });
  return answered || parent_class_of(trans)->query(trans, direction, query);
}

void before_transform(GstBaseTransform* trans, GstBuffer* frame) {
  sync_properties(trans, trans->segment, frame);
}

GstFlowReturn transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  return guard(trans, facts_of(trans).fault, GST_FLOW_ERROR, [&] {
    const GstFlowReturn flow = work_of(trans).frame(frame);
    work_of(trans).undecoded.look_at(GST_ELEMENT_CAST(trans), frame);
    return flow;
  });
}

void install_counts(const char* what, Class* klass) {
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), klass->counts,
      g_param_spec_boxed("counts", "Counts", what, GST_TYPE_STRUCTURE,
                         static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
}

void add_pad(const char* name, GstPadDirection direction, const char* text,
             GstElementClass* klass) {
  const CapsPtr caps(gst_caps_from_string(text));
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
}

void init_class(gpointer type_class, gpointer data) {
  auto* klass = static_cast<Class*>(type_class);
  const auto* element = static_cast<const ElementClass*>(data);
  const ElementFacts& facts = element->facts;
  auto* object_class = G_OBJECT_CLASS(klass);
  auto* element_class = GST_ELEMENT_CLASS(klass);
  auto* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  klass->element = element;
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  const guint last = element->properties().install(object_class);
  if (facts.counts) {
    klass->counts = last + 1;
    install_counts(facts.counts, klass);
  }
  element_class->change_state = GST_DEBUG_FUNCPTR(change_state);
  gst_element_class_set_static_metadata(element_class, facts.long_name, facts.klass,
                                        facts.description, "gst-dvnn developers");
  add_pad("sink", GST_PAD_SINK, facts.sink_caps, element_class);
  add_pad("src", GST_PAD_SRC, facts.src_caps, element_class);
  trans_class->start = GST_DEBUG_FUNCPTR(start);
  trans_class->stop = GST_DEBUG_FUNCPTR(stop);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(set_caps);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(sink_event);
  trans_class->src_event = GST_DEBUG_FUNCPTR(src_event);
  trans_class->query = GST_DEBUG_FUNCPTR(query);
  trans_class->before_transform = GST_DEBUG_FUNCPTR(before_transform);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR(transform_ip);
  if (element->adapt) element->adapt(trans_class);
}

// G_OBJECT_GET_CLASS() already gives the element's class here, but pads come from GstBaseTransform.
void init_instance(GTypeInstance* instance, gpointer type_class) {
  auto* trans = GST_BASE_TRANSFORM_CAST(instance);
  const ElementClass& element = *static_cast<const Class*>(type_class)->element;
  gst_base_transform_set_in_place(trans, TRUE);
  if (element.facts.passthrough) gst_base_transform_set_passthrough(trans, TRUE);
  reinterpret_cast<Instance*>(instance)->work = element.create(trans);
}

}  // namespace

// Element types are final, so the parent of the object's class is GstBaseTransform.
GstBaseTransformClass* parent_class_of(gpointer element) {
  return GST_BASE_TRANSFORM_CLASS(g_type_class_peek_parent(G_OBJECT_GET_CLASS(element)));
}

ObjectElement& object_element_of(gpointer element) {
  return work_of(element);
}

bool register_element(GstPlugin* plugin, const ElementClass& element) {
  const GTypeInfo info = {sizeof(Class), nullptr,          nullptr, init_class,    nullptr,
                          &element,      sizeof(Instance), 0,       init_instance, nullptr};
  const GType type = g_type_register_static(GST_TYPE_BASE_TRANSFORM, element.facts.type, &info,
                                            static_cast<GTypeFlags>(0));
  return type != G_TYPE_INVALID &&
         gst_element_register(plugin, element.facts.name, GST_RANK_NONE, type);
}

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
