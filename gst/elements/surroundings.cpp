// SPDX-License-Identifier: Apache-2.0
#include "elements/surroundings.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <set>

#include "refs.h"

namespace dvnn::gst {
namespace {

// Whether an element, or what is behind its pad, ends the search.
struct Search {
  std::function<bool(GstElement* element)> found;
  bool probes_count = false;
  std::set<GstPad*> seen;  // pipelines may have loops, and branches that meet again
};

bool has_probe(GstPad* pad) {
  const ObjectLock lock(pad);
  return pad->num_probes > 0;
}

bool leads_to(GstPad* pad, Search* search);

// Goes on behind the element, or through the wall of the bin, that `pad` belongs to.
bool continues_to(GstPad* pad, Search* search) {
  GstIterator* links = gst_pad_iterate_internal_links(pad);
  if (!links) return false;
  struct State {
    Search* search;
    bool found = false;
  } state{search};
  gst_iterator_foreach(
      links,
      [](const GValue* item, gpointer data) {
        auto* to = static_cast<State*>(data);
        to->found = to->found || leads_to(GST_PAD(g_value_get_object(item)), to->search);
      },
      &state);
  gst_iterator_free(links);
  return state.found;
}

bool leads_to(GstPad* pad, Search* search) {
  if (!search->seen.insert(pad).second) return false;
  if (search->probes_count && has_probe(pad)) return true;
  GstPad* peer = gst_pad_get_peer(pad);
  if (!peer) return false;
  GstElement* element = gst_pad_get_parent_element(peer);
  bool found = search->probes_count && has_probe(peer);
  // What a bin does is done by those in it.
  if (!found && element && !GST_IS_BIN(element)) found = search->found(element);
  found = found || continues_to(peer, search);
  if (element) gst_object_unref(element);
  gst_object_unref(peer);
  return found;
}

bool is_one_of(const gchar* text, std::initializer_list<const char*> list) {
  return text && std::any_of(list.begin(), list.end(),
                             [text](const char* name) { return std::strcmp(text, name) == 0; });
}

// Where an element comes from.
struct Origin {
  const gchar* name = "";     // of its factory
  const gchar* klass = "";    // "Sink/Video"
  const gchar* package = "";  // the source package of its plugin
};

// Names are those of factories and plugins, which stay.
Origin origin_of(GstElement* element) {
  Origin origin;
  GstElementFactory* factory = gst_element_get_factory(element);
  if (!factory) return origin;
  origin.name = GST_OBJECT_NAME(factory);
  const gchar* klass = gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS);
  if (klass) origin.klass = klass;
  GstPlugin* plugin = gst_plugin_feature_get_plugin(GST_PLUGIN_FEATURE(factory));
  if (!plugin) return origin;
  origin.package = gst_plugin_get_source(plugin);
  gst_object_unref(plugin);
  return origin;
}

// fakesink, fakesrc and identity: somebody is connected.
bool hands_off_frames(GstElement* element) {
  const guint signal = g_signal_lookup("handoff", G_OBJECT_TYPE(element));
  return signal != 0 && g_signal_has_handler_pending(element, signal, 0, TRUE);
}

bool may_read(GstElement* element) {
  const Origin origin = origin_of(element);
  if (is_one_of(origin.package, {"gst-dvnn"})) return is_one_of(origin.name, {"dvdecode"});
  const bool known =
      is_one_of(origin.package, {"gstreamer", "gst-plugins-base", "gst-plugins-good",
                                 "gst-plugins-bad", "gst-plugins-ugly", "gst-libav"});
  if (!known || std::strstr(origin.klass, "ensor") || std::strstr(origin.klass, "naly"))
    return true;
  // They hand frames to an application, to another pipeline or to another process.
  return is_one_of(origin.name, {"appsink", "proxysink", "intervideosink", "unixfdsink"}) ||
         hands_off_frames(element);
}

bool may_attach(GstElement* element) {
  const Origin origin = origin_of(element);
  if (is_one_of(origin.package, {"gst-dvnn"})) return is_one_of(origin.name, {"dvinfer"});
  // Bad has elements that infer.
  const bool known = is_one_of(origin.package, {"gstreamer", "gst-plugins-base", "gst-plugins-good",
                                                "gst-plugins-ugly", "gst-libav"});
  return !known || is_one_of(origin.name, {"appsrc"}) || hands_off_frames(element);
}

}  // namespace

bool has_reader_of_outputs(GstPad* src) {
  Search search{may_read, true, {}};
  return leads_to(src, &search);
}

bool has_source_of_outputs(GstPad* sink) {
  Search search{may_attach, true, {}};
  return leads_to(sink, &search);
}

}  // namespace dvnn::gst
