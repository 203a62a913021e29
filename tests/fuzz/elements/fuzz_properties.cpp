// SPDX-License-Identifier: Apache-2.0
// Every property of every element, set to anything before READY and while frames with objects of
// anybody pass: each value is taken, or an error names it; what plays then, plays. Most inputs are
// of one element, the others of all in a row. They stay from input to input: what made them new
// took a hundred times as long as an input does.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "hostile_objects.h"
#include "hostile_stream.h"
#include "target.h"

namespace dvnn::fuzz::properties_target {

using fuzz::FuzzedData;

namespace {

constexpr const char* kNetworks[] = {"grid", "other"};
std::string network_path;

// These name what a process reads, loads or writes: of them only what cannot be there.
bool names_a_place(const std::string& property) {
  static const char* const kPlaces[] = {
      "network",         "weights-file", "custom-layers",  "device",          "url",
      "location",        "options-file", "spool-folder",   "labels-file",     "zones-file",
      "snapshot-folder", "region-file",  "collect-folder", "decoder-library", "tensor-network"};
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
      R"({"masks":[{"name":"a","points":[[0,0],[1,0],[1,1]]}]})",
      "before=1,after=2",
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
    g_value_set_int(&value, static_cast<gint>(in->extent(300) - 100));
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
bool is_fuzzed(const GParamSpec* spec) {
  static const char* const kWaits[] = {"flush-timeout-ms", "watchdog-ms", "late-after-ms"};
  const std::string name = spec->name;
  return std::find(std::begin(kWaits), std::end(kWaits), name) == std::end(kWaits);
}

// Elements in a row, and their properties.
struct Line {
  explicit Line(const std::string& description)
      : bin(gst_parse_bin_from_description(description.c_str(), TRUE, nullptr)),
        bus(gst_bus_new()),
        harness(
            gst_harness_new_with_element(GST_ELEMENT(gst_object_ref_sink(bin)), "sink", "src")) {
    gst_element_set_bus(bin, bus);
    for (const auto& [property, first] : harness.first()) {
      if (is_fuzzed(property.second)) properties.push_back(property);
    }
    // The order of their addresses is another one in each process.
    std::sort(properties.begin(), properties.end(), [](const auto& a, const auto& b) {
      const int types = std::strcmp(G_OBJECT_TYPE_NAME(a.first), G_OBJECT_TYPE_NAME(b.first));
      return types != 0 ? types < 0 : std::strcmp(a.second->name, b.second->name) < 0;
    });
  }

  GstElement* bin;
  GstBus* bus;
  fuzz::Harness harness;
  std::vector<fuzz::ElementProperty> properties;
  bool was_null = true;  // before the last input
};

void set_some(FuzzedData* in, Line* line, int most) {
  for (int64_t left = in->in(0, most); left > 0; --left) {
    const auto& [element, spec] =
        line->properties.at(in->any<uint16_t>() % line->properties.size());
    set_any(in, G_OBJECT(element), spec);
  }
}

// One line for each element, and one for all of them.
const std::vector<Line*>& lines() {
  static const auto* const made = [] {
    auto* list = new std::vector<Line*>();
    std::string all;
    for (std::string element :
         {"dvmotion", "dvconvert", "dvinfer", "dvdecode", "dvtrack", "dvzones", "dvmatch", "dvread",
          "dvrecall", "dvoverlay", "dvpublish"}) {
      GstElementFactory* factory = gst_element_factory_find(element.c_str());
      if (!factory) continue;
      gst_object_unref(factory);
      if (element == "dvinfer") element += " device=soft network=" + network_path;
      if (element == "dvpublish") element += " location=/dev/null flush-timeout-ms=0";
      list->push_back(new Line(element));
      all += (all.empty() ? "" : " ! ") + element;
    }
    list->push_back(new Line(all));
    return list;
  }();
  return *made;
}

// Brings the elements to a state; false where an error says why not.
bool gets_to(Line* line, GstState state) {
  const bool good = gst_element_set_state(line->bin, state) != GST_STATE_CHANGE_FAILURE;
  GstMessage* message = gst_bus_pop_filtered(line->bus, GST_MESSAGE_ERROR);
  expect(good == !message, good ? "an error, and it starts" : "it does not start, and no error");
  if (!message) return true;
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  expect_one_line({ErrorCode::kInternal, error->message});
  g_error_free(error);
  gst_message_unref(message);
  return false;
}

void play(FuzzedData* in, Line* line) {
  constexpr int kMostFrames = 6, kMostBetween = 3;
  constexpr int64_t kMostObjects = 6;
  constexpr double kExtent = 64;
  if (!gets_to(line, GST_STATE_PLAYING)) return;
  GstClockTime time = 0;
  fuzz::play_video(in, kMostFrames, &line->harness, [&](const GstVideoInfo& info) {
    set_some(in, line, kMostBetween);
    GstBuffer* frame = fuzz::any_frame(in, info);
    if (in->flag()) fuzz::add_objects(in, kNetworks, kMostObjects, kExtent, frame);
    if (!in->rarely()) GST_BUFFER_PTS(frame) = time += in->byte() * 10 * GST_MSECOND;
    return frame;
  });
  line->harness.drain();
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
  fuzz::start_gstreamer();
  network_path = fuzz::write_network();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostBefore = 6;
  // Its network stays loaded.
  [[maybe_unused]] static auto* const keeper = new fuzz::Harness(
      gst_harness_new_parse(("dvinfer device=soft network=" + network_path).c_str()));
  // From NULL, an element opens and loads all that it needs, which takes longer than an input: one
  // in four does. What can be set in NULL alone is set back there, too.
  FuzzedData in(data, size);
  const uint8_t kind = in.byte();
  const bool is_null = kind >= 192;
  Line* line = lines().at(kind % lines().size());
  line->harness.rest(is_null || line->was_null ? GST_STATE_NULL : GST_STATE_READY);
  while (GstMessage* message = gst_bus_pop(line->bus)) gst_message_unref(message);
  if (!is_null) expect(gets_to(line, GST_STATE_READY), "what played plays no more");
  line->was_null = is_null;
  set_some(&in, line, kMostBefore);
  if (!is_null || gets_to(line, GST_STATE_READY)) play(&in, line);
}

DVNN_FUZZ_TARGET(properties)

}  // namespace dvnn::fuzz::properties_target
