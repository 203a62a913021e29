// SPDX-License-Identifier: Apache-2.0
// Every property of every element, set to anything before READY and while frames with objects of
// anybody pass: each value is taken, or an error names it; what plays then, plays.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "grid_file.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "hostile_objects.h"
#include "hostile_stream.h"
#include "set_property.h"
#include "target.h"

namespace dvnn::fuzz::properties_target {

using fuzz::FuzzedData;

namespace {

constexpr const char* kNetworks[] = {"grid", "other"};
std::string network_path;

// These name what a process reads, loads or writes: of them only what cannot be there.
bool names_a_place(const std::string& property) {
  static const char* const kPlaces[] = {
      "network",    "weights-file", "custom-layers",   "device",          "url",
      "location",   "options-file", "spool-folder",    "snapshot-folder", "labels-file",
      "zones-file", "region-file",  "decoder-library", "tensor-network"};
  return std::find(std::begin(kPlaces), std::end(kPlaces), property) != std::end(kPlaces);
}

std::string any_text(FuzzedData* in, const std::string& property) {
  static const char* const kKnown[] = {
      "",
      "one, two",
      "\xff\xfe",
      "one:0.5,two:0",
      "[[0,0,0.5,1],[0.5,0,0.5,1]]",
      R"([{"name":"a","box":[1,2,30,40],"unit":"pixels"}])",
      R"({"areas":[{"name":"a","points":[[0,0],[1,0],[1,1]]}],"lines":[]})",
      R"({"a":1e999})",
      "2x2,1x1",
      "1e9",
      "16x16",
      "0.1,0.2 0.3,0.4",
      "aruco-4x4",
      "qos=1,version=5",
      "[[[[[[[[[[[[[[[["};
  constexpr size_t kMost = 60;
  if (names_a_place(property)) return in->flag() ? "/dev/null/none" : "";
  return in->byte() >= 224 ? in->text(kMost) : in->one_of(kKnown);
}

void set_any(FuzzedData* in, GObject* element, GParamSpec* spec) {
  const GType type = spec->value_type;
  if (type == GST_TYPE_ARRAY) {
    std::vector<double> numbers(in->byte() % 6);
    for (double& number : numbers) number = in->real(1);
    return set_numbers(element, spec->name, numbers);
  }
  GValue value = G_VALUE_INIT;
  g_value_init(&value, type);
  if (type == G_TYPE_STRING) {
    g_value_set_string(&value, any_text(in, spec->name).c_str());
  } else if (type == G_TYPE_BOOLEAN) {
    g_value_set_boolean(&value, in->flag());
  } else if (type == G_TYPE_UINT) {
    g_value_set_uint(&value, in->extent(50) - 1);
  } else if (type == G_TYPE_INT) {
    g_value_set_int(&value, static_cast<gint>(in->extent(300)) - 100);
  } else if (type == G_TYPE_DOUBLE) {
    g_value_set_double(&value, in->real(2));
  } else if (type == G_TYPE_FLOAT) {
    g_value_set_float(&value, static_cast<gfloat>(in->real(1)));
  } else if (G_TYPE_IS_ENUM(type)) {
    g_value_set_enum(&value, in->rarely() ? in->any<gint>() : in->byte() % 10);
  } else if (G_TYPE_IS_FLAGS(type)) {
    g_value_set_flags(&value, in->rarely() ? in->any<guint>() : in->byte() % 64);
  }
  g_object_set_property(element, spec->name, &value);
  g_value_unset(&value);
}

// A property that waits is no property to fuzz with frames: what it says would be kept.
bool is_fuzzed(GObject* element, const GParamSpec* spec) {
  static const char* const kWaits[] = {"flush-timeout-ms", "watchdog-ms", "late-after-ms"};
  const std::string name = spec->name;
  return spec->owner_type == G_OBJECT_TYPE(element) && (spec->flags & G_PARAM_WRITABLE) &&
         std::find(std::begin(kWaits), std::end(kWaits), name) == std::end(kWaits);
}

void set_some(FuzzedData* in, GstElement* bin, int most) {
  GList* children = GST_BIN_CHILDREN(bin);
  const auto count = static_cast<int64_t>(g_list_length(children));
  for (int64_t left = in->in(0, most); left > 0; --left) {
    auto* element = G_OBJECT(g_list_nth_data(children, static_cast<guint>(in->in(0, count - 1))));
    guint specs = 0;
    GParamSpec** list = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &specs);
    GParamSpec* spec = list[in->in(0, static_cast<int64_t>(specs) - 1)];
    if (is_fuzzed(element, spec)) set_any(in, element, spec);
    g_free(list);
  }
}

std::string line() {
  std::string line =
      "dvconvert ! dvinfer device=soft network=" + network_path + " ! dvdecode ! dvtrack ! dvzones";
  for (const char* more : {"dvread", "dvoverlay"}) {
    GstElementFactory* factory = gst_element_factory_find(more);
    if (!factory) continue;
    gst_object_unref(factory);
    line += std::string(" ! ") + more;
  }
  return line + " ! dvpublish location=/dev/null";
}

// Brings the elements to READY; false where an error says why not.
bool gets_ready(GstElement* bin) {
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(bin, bus);
  const bool good = gst_element_set_state(bin, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE;
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  expect(good == !message, good ? "an error, and it is READY" : "not READY, and no error");
  if (message) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    expect_one_line({ErrorCode::kInternal, error->message});
    g_error_free(error);
    gst_message_unref(message);
  }
  if (!good) gst_element_set_state(bin, GST_STATE_NULL);
  gst_element_set_bus(bin, nullptr);
  gst_object_unref(bus);
  return good;
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
  fuzz::start_gstreamer();
  network_path = fuzz::write_network();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostFrames = 6, kMostBefore = 6, kMostBetween = 3;
  constexpr int64_t kMostObjects = 6;
  constexpr double kExtent = 64;
  FuzzedData in(data, size);
  GstElement* bin = gst_parse_bin_from_description(line().c_str(), TRUE, nullptr);
  gst_object_ref_sink(bin);
  set_some(&in, bin, kMostBefore);
  if (gets_ready(bin)) {
    fuzz::Harness harness(gst_harness_new_with_element(bin, "sink", "src"));
    gst_harness_set_drop_buffers(harness.get(), FALSE);
    GstClockTime time = 0;
    fuzz::play_video(&in, kMostFrames, &harness, [&](const GstVideoInfo& info) {
      set_some(&in, bin, kMostBetween);
      GstBuffer* frame = fuzz::any_frame(&in, info);
      if (in.flag()) fuzz::add_objects(&in, kNetworks, kMostObjects, kExtent, frame);
      if (!in.rarely()) GST_BUFFER_PTS(frame) = time += in.byte() * 10 * GST_MSECOND;
      return frame;
    });
    harness.drain();
    harness.drop_output();
  }
  gst_object_unref(bin);
  fuzz::reuse_memory();
}

DVNN_FUZZ_TARGET(properties)

}  // namespace dvnn::fuzz::properties_target
