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
    if (result != GST_ITERATOR_OK) return true;  // pads come and go
    const PadPtr link(GST_PAD(g_value_dup_object(item.get())));
    if (leads_to(link.get(), search)) return true;
  }
  return false;
}

bool leads_to(GstPad* pad, Search* search) {
  if (!search->seen.insert(pad).second) return false;
  if (has_probe(pad)) return true;
  const PadPtr peer(gst_pad_get_peer(pad));
  if (!peer) return false;
  const std::unique_ptr<GstElement, Unref> element(gst_pad_get_parent_element(peer.get()));
  // A pad of no element, nor of a bin's wall, is an application's.
  const bool of_application = !element && !GST_IS_PROXY_PAD(peer.get());
  if (of_application || has_probe(peer.get())) return true;
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

constexpr const char* kTrackedQuery = "dvnn-tracked";

}  // namespace

bool has_reader_of_outputs(GstPad* src) {
  Search search{may_read, {}};
  return leads_to(src, &search);
}

bool has_source_of_outputs(GstPad* sink) {
  Search search{may_attach, {}};
  return leads_to(sink, &search);
}

bool is_tracked(GstPad* sink) {
  const QueryPtr query(
      gst_query_new_custom(GST_QUERY_CUSTOM, gst_structure_new_empty(kTrackedQuery)));
  return gst_pad_peer_query(sink, query.get());
}

bool asks_for_tracks(GstQuery* query) {
  return GST_QUERY_TYPE(query) == GST_QUERY_CUSTOM &&
         gst_structure_has_name(gst_query_get_structure(query), kTrackedQuery);
}

}  // namespace dvnn::gst
