// SPDX-License-Identifier: Apache-2.0
#include "elements/surroundings.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>

#include "refs.h"

namespace dvnn::gst {
namespace {

struct Search {
  std::function<bool(GstElement* element)> found;  // whether the search is for this element
  bool doubts = true;                              // what cannot be known counts as found
  std::set<GstPad*> seen;  // pipelines may have loops, and branches that meet again
};

bool has_probe(GstPad* pad) {
  const ObjectLock lock(pad);
  return pad->num_probes > 0;
}

bool leads_to(GstPad* pad, Search* search);

// Continues past the element that `pad` belongs to, or through the wall of its bin.
bool continues_to(GstPad* pad, Search* search) {
  const std::unique_ptr<GstIterator, Unref> links(gst_pad_iterate_internal_links(pad));
  while (links) {
    Value item(GST_TYPE_PAD);
    const GstIteratorResult result = gst_iterator_next(links.get(), item.get());
    if (result == GST_ITERATOR_DONE) break;
    if (result != GST_ITERATOR_OK) return search->doubts;  // pads come and go: who knows
    const PadPtr link(GST_PAD(g_value_dup_object(item.get())));
    if (leads_to(link.get(), search)) return true;
  }
  return false;
}

bool leads_to(GstPad* pad, Search* search) {
  if (!search->seen.insert(pad).second) return false;
  if (search->doubts && has_probe(pad)) return true;
  const PadPtr peer(gst_pad_get_peer(pad));
  if (!peer) return false;
  const std::unique_ptr<GstElement, Unref> element(gst_pad_get_parent_element(peer.get()));
  // A pad of no element, nor of a bin's wall, is an application's.
  const bool of_application = !element && !GST_IS_PROXY_PAD(peer.get());
  if (of_application || (search->doubts && has_probe(peer.get()))) return search->doubts;
  // The elements in a bin do the bin's work.
  if (element && !GST_IS_BIN(element.get()) && search->found(element.get())) return true;
  return continues_to(peer.get(), search);
}

bool is_one_of(const gchar* text, std::initializer_list<const char*> list) {
  return text && std::any_of(list.begin(), list.end(),
                             [text](const char* name) { return std::strcmp(text, name) == 0; });
}

// The plugin or package that an element comes from.
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
  const PluginPtr plugin(gst_plugin_feature_get_plugin(GST_PLUGIN_FEATURE(factory)));
  if (plugin) origin.package = gst_plugin_get_source(plugin.get());
  return origin;
}

// fakesink, fakesrc and identity: an application is connected to their signal.
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
  // These elements hand frames to an application, to another pipeline or to another process.
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

bool tracks(GstElement* element) {
  const Origin origin = origin_of(element);
  return is_one_of(origin.package, {"gst-dvnn"}) && is_one_of(origin.name, {"dvtrack"});
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

bool has_tracker(GstPad* sink) {
  Search search{tracks, false, {}};
  return leads_to(sink, &search);
}

}  // namespace dvnn::gst
