// SPDX-License-Identifier: Apache-2.0
// Properties are what gst-inspect-1.0 says of them: what may change does, what may not is refused
// with a warning and stays.
#include <gst/base/gstbasetransform.h>
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <functional>

#include <memory>
#include <set>

#include "watched_suite.h"

namespace dvnn::test::properties_tests {

DVNN_WATCHED_SUITE(gst_properties);

namespace {

// All elements; dvread is there if it was built.
const std::vector<const char*>& elements() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> all = {"dvmotion", "dvconvert", "dvinfer",   "dvdecode", "dvtrack",
                                    "dvzones",  "dvpublish", "dvoverlay", "dvmatch",  "dvrecall"};
    GstElementFactory* factory = gst_element_factory_find("dvread");
    if (factory) all.push_back("dvread");
    gst_clear_object(&factory);
    return all;
  }();
  return names;
}
const GstState kStates[] = {GST_STATE_NULL, GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_PLAYING};
constexpr int kEndless = 1000000;
const char* const kSink = " ! fakesink name=out async=false";

std::string pipeline_with_all() {
  return painted_source(kEndless) + "identity sleep-time=1000 ! dvconvert name=dvconvert ! " +
         infer(Looks::kRed, "name=dvinfer") +
         " ! dvdecode name=dvdecode ! dvtrack name=dvtrack ! dvzones name=dvzones ! "
         "dvmatch name=dvmatch ! dvpublish name=dvpublish url=file:/dev/null flush-timeout-ms=0 ! "
         "dvmotion name=dvmotion ! dvrecall name=dvrecall ! dvoverlay name=dvoverlay" +
         (elements().back() == std::string("dvread") ? " ! dvread name=dvread" : "") + kSink;
}

// The latest state in which a property of these flags may be set.
GstState last_state(GParamFlags flags) {
  if (flags & (GST_PARAM_MUTABLE_PLAYING | GST_PARAM_CONTROLLABLE)) return GST_STATE_PLAYING;
  if (flags & GST_PARAM_MUTABLE_PAUSED) return GST_STATE_PAUSED;
  if (flags & GST_PARAM_MUTABLE_READY) return GST_STATE_READY;
  return GST_STATE_NULL;
}

struct Text {
  const char* property;
  const char* values[2];
};

// Two values of properties whose type does not say what is valid.
const Text kTexts[] = {{"roi", {"<0.0,0.0,0.5,1.0>", "<0.0,0.0,1.0,1.0>"}},
                       {"mean", {"<1.0,2.0,3.0>", "<0.0>"}},
                       {"scale", {"<0.5>", "<1.0>"}},
                       {"device", {"soft", "auto"}},
                       {"contrast", {"4", "12"}},
                       {"video-direction", {"180", "identity"}},
                       {"zones", {"{\"areas\":[]}", ""}},
                       {"zones-file", {nullptr, nullptr}},
                       {"labels-file", {nullptr, nullptr}},
                       {"region-file", {nullptr, nullptr}},
                       {"gallery-file", {nullptr, nullptr}},  // gst_match
                       {"strangers-location", {nullptr, nullptr}},
                       {"share-url", {nullptr, nullptr}},
                       {"share-topic", {"a", "b"}},
                       {"share-options-file", {nullptr, nullptr}},
                       {"qos", {nullptr, nullptr}},
                       {"location", {nullptr, nullptr}},
                       {"url", {"file:/dev/full", "file:/dev/null"}},
                       {"topic", {"a", "b"}},
                       {"stream", {"door", "yard"}},
                       {"options", {"keep=3", ""}},
                       {"options-file", {nullptr, nullptr}},
                       {"spool-folder", {nullptr, nullptr}},
                       {"extra-fields", {"{\"site\":\"Kyoto\"}", ""}},
                       {"snapshot-folder", {"/tmp", ""}},
                       {"collect-folder", {nullptr, nullptr}},  // gst_publish_collect
                       {"live-inputs", {nullptr, nullptr}},     // gst_live_inputs
                       {"input-size", {nullptr, nullptr}},
                       {"weights-file", {nullptr, nullptr}},
                       {"custom-layers", {nullptr, nullptr}}};

// A valid value that `now` is not; empty if none is known.
std::string another_value(GParamSpec* spec, const std::string& now) {
  for (const Text& text : kTexts) {
    if (std::string(spec->name) != text.property) continue;
    if (!text.values[0]) return "";
    return now == text.values[0] ? text.values[1] : text.values[0];
  }
  if (std::string(spec->name) == "network") {
    return now == grid_path(Looks::kBlue) ? grid_path(Looks::kRed) : grid_path(Looks::kBlue);
  }
  if (G_IS_PARAM_SPEC_BOOLEAN(spec)) return now == "true" ? "false" : "true";
  if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass* klass = G_PARAM_SPEC_ENUM(spec)->enum_class;
    for (guint i = 0; i < klass->n_values; ++i) {
      if (now != klass->values[i].value_nick) return klass->values[i].value_nick;
    }
  }
  if (G_IS_PARAM_SPEC_FLAGS(spec)) {
    const GFlagsClass* klass = G_PARAM_SPEC_FLAGS(spec)->flags_class;
    for (guint i = 0; i < klass->n_values; ++i) {
      if (now != klass->values[i].value_nick) return klass->values[i].value_nick;
    }
  }
  if (G_IS_PARAM_SPEC_INT(spec)) {
    const auto* s = G_PARAM_SPEC_INT(spec);
    const gint first = s->default_value < s->maximum ? s->default_value + 1 : s->minimum;
    return std::to_string(std::to_string(first) == now ? s->default_value : first);
  }
  if (G_IS_PARAM_SPEC_UINT(spec)) {
    const auto* s = G_PARAM_SPEC_UINT(spec);
    const guint first = s->default_value < s->maximum ? s->default_value + 1 : s->minimum;
    return std::to_string(std::to_string(first) == now ? s->default_value : first);
  }
  if (G_IS_PARAM_SPEC_FLOAT(spec) || G_IS_PARAM_SPEC_DOUBLE(spec)) {
    return now == "0.25" ? "0.5" : "0.25";
  }
  return "";
}

std::string read_property(GstElement* element, GParamSpec* spec) {
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(element), spec->name, &value);
  std::string result;
  if (G_VALUE_HOLDS_STRING(&value)) {
    result = g_value_get_string(&value) ? g_value_get_string(&value) : "";
  } else if (G_VALUE_HOLDS_ENUM(&value)) {
    result =
        g_enum_get_value(G_PARAM_SPEC_ENUM(spec)->enum_class, g_value_get_enum(&value))->value_nick;
  } else {
    gchar* text = gst_value_serialize(&value);
    result = text ? text : "";
    g_free(text);
  }
  g_value_unset(&value);
  return result;
}

// Both as the property would hold them: floats and arrays have many spellings.
bool same_value(GParamSpec* spec, const std::string& a, const std::string& b) {
  GValue x = G_VALUE_INIT, y = G_VALUE_INIT;
  g_value_init(&x, spec->value_type);
  g_value_init(&y, spec->value_type);
  bool same = a == b;
  if (!same && gst_value_deserialize_with_pspec(&x, a.c_str(), spec) &&
      gst_value_deserialize_with_pspec(&y, b.c_str(), spec)) {
    same = g_param_values_cmp(spec, &x, &y) == 0 || gst_value_compare(&x, &y) == GST_VALUE_EQUAL;
  }
  g_value_unset(&x);
  g_value_unset(&y);
  return same;
}

struct Specs {
  guint count = 0;
  GParamSpec** list;
  explicit Specs(GstElement* element)
      : list(g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count)) {}
  ~Specs() { g_free(list); }
};

// A property of an element that could have another value.
struct Change {
  const char* name;
  GstElement* element;
  GParamSpec* spec;
  std::string before, value;

  std::string in(GstState state) const {
    return std::string(name) + " " + spec->name + " in " + gst_element_state_get_name(state);
  }
};

// Calls `work` for each writable property of ours that says that it may change in `state`, or for
// each that says that it may not; returns how many there are.
guint for_each_change(Pipeline* pipeline, GstState state, bool allowed,
                      const std::function<void(const Change&)>& work) {
  guint count = 0;
  for (const char* name : elements()) {
    GstElement* element = (*pipeline)[name];
    const Specs specs(element);
    for (guint i = 0; i < specs.count; ++i) {
      GParamSpec* spec = specs.list[i];
      const bool own = spec->owner_type == G_OBJECT_TYPE(element);
      if (!own || !(spec->flags & G_PARAM_WRITABLE)) continue;
      if ((state <= last_state(spec->flags)) != allowed) continue;
      const std::string before = read_property(element, spec);
      const std::string value = another_value(spec, before);
      if (value.empty()) continue;
      ++count;
      work({name, element, spec, before, value});
    }
  }
  return count;
}

// The text of the newest warning. Other messages may have come since.
std::string newest_warning(Pipeline* pipeline) {
  std::string text;
  for (const Message& message : pipeline->messages()) {
    if (message.type == GST_MESSAGE_WARNING) text = message.text;
  }
  return text;
}

}  // namespace

DVNN_TEST(every_property_may_change_when_it_says) {
  guint tried = 0;
  for (GstState state : kStates) {
    Pipeline pipeline(pipeline_with_all());
    demand(&pipeline, pipeline.set_state(state));
    tried += for_each_change(&pipeline, state, true, [&](const Change& change) {
      gst_util_set_object_arg(G_OBJECT(change.element), change.spec->name, change.value.c_str());
      const std::string after = read_property(change.element, change.spec);
      demand(&pipeline, same_value(change.spec, after, change.value),
             change.in(state) + ": '" + change.before + "', set to '" + change.value + "', is '" +
                 after + "'");
      gst_util_set_object_arg(G_OBJECT(change.element), change.spec->name, change.before.c_str());
    });
    if (state >= GST_STATE_PAUSED) g_usleep(100 * 1000);  // frames see the values of before again
    pipeline.read_bus();
    demand(&pipeline, pipeline.count_messages(GST_MESSAGE_WARNING) == 0,
           "a change that is allowed was warned of: " + newest_warning(&pipeline));
    demand(&pipeline, pipeline.stop());
  }
  constexpr guint kAtLeast = 60;  // over all states and elements
  ck_assert_uint_ge(tried, kAtLeast);
}

DVNN_TEST(a_change_at_the_wrong_time_is_refused_with_a_warning) {
  guint tried = 0;
  for (GstState state : {GST_STATE_PAUSED, GST_STATE_PLAYING}) {
    Pipeline pipeline(pipeline_with_all());
    demand(&pipeline, pipeline.set_state(state));
    tried += for_each_change(&pipeline, state, false, [&](const Change& change) {
      pipeline.read_bus();
      const size_t warnings = pipeline.count_messages(GST_MESSAGE_WARNING);
      gst_util_set_object_arg(G_OBJECT(change.element), change.spec->name, change.value.c_str());
      const std::string what = change.in(state);
      demand(&pipeline, read_property(change.element, change.spec) == change.before,
             what + ": the value changed");
      pipeline.read_bus();
      demand(&pipeline, pipeline.count_messages(GST_MESSAGE_WARNING) == warnings + 1,
             what + ": not one warning");
      const std::string text = newest_warning(&pipeline);
      demand(&pipeline, text.find(change.spec->name) != std::string::npos,
             what + ": the warning does not name it: " + text);
    });
    demand(&pipeline, pipeline.stop());
  }
  ck_assert_uint_ge(tried, 4);  // device and max-in-flight, in both states
}

DVNN_TEST(changes_in_ready_count_at_the_next_start) {
  Pipeline pipeline(painted_source(30) + "dvconvert ! " + infer(Looks::kRed, "name=infer") +
                    " ! dvdecode ! fakesink name=out async=false");
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  g_object_set(pipeline["infer"], "network", grid_path(Looks::kBlue).c_str(), "max-in-flight", 5u,
               nullptr);
  demand(&pipeline, pipeline.play_to_end());
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  const std::string alone = painted_source(30) + "dvconvert ! " + infer(Looks::kBlue) +
                            " ! dvdecode ! fakesink name=out async=false";
  expect_same(arrivals, play(alone, Looks::kBlue), "the network of READY");
}

DVNN_TEST(a_missing_network_set_in_ready_is_an_error_at_the_next_start) {
  Pipeline pipeline(painted_source(30) + "dvconvert ! " + infer(Looks::kRed, "name=infer") +
                    " ! dvdecode ! fakesink name=out");
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  g_object_set(pipeline["infer"], "network", "/nowhere/net.dvn", nullptr);
  const bool played = pipeline.play_to_end();
  const std::string problem = pipeline.problem();
  pipeline.stop();
  ck_assert(!played);
  ck_assert_msg(problem.find("/nowhere/net.dvn") != std::string::npos, "%s", problem.c_str());
}

DVNN_TEST(bad_values_set_while_playing_are_refused_and_the_old_ones_stay) {
  Pipeline pipeline(painted_source(kEndless) +
                    "identity sleep-time=1000 ! dvconvert name=dvconvert ! " +
                    infer(Looks::kRed, "name=dvinfer") + " ! dvdecode" + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  GstElement* convert = pipeline["dvconvert"];
  GParamSpec* roi = g_object_class_find_property(G_OBJECT_GET_CLASS(convert), "roi");
  const std::string before = read_property(convert, roi);
  for (const char* bad : {"<0.5,0.0,0.6,1.0>", "<-0.1,0.0,0.5,1.0>", "<0.0,0.0,0.0,1.0>",
                          "<0.0,0.0,1.0>", "<0.0,0.0,0.5,1.5>"}) {
    pipeline.read_bus();
    const size_t warnings = pipeline.count_messages(GST_MESSAGE_WARNING);
    gst_util_set_object_arg(G_OBJECT(convert), "roi", bad);
    const size_t frames = pipeline.count();
    demand(&pipeline,
           pipeline.run_until([&] { return pipeline.count() > frames + 10; }, "frames went on"));
    demand(&pipeline, read_property(convert, roi) == before, std::string("roi took ") + bad);
    demand(&pipeline, pipeline.count_messages(GST_MESSAGE_WARNING) == warnings + 1,
           std::string("not one warning for ") + bad);
  }
  demand(&pipeline, pipeline.stop());
  const std::string wrong = wrong_boxes(pipeline.arrivals());
  ck_assert_msg(wrong.empty(), "%s", wrong.c_str());
}

namespace {

// Binds a property so that it has `before` up to one second and `after` from then on.
void bind_steps(GstElement* element, const char* property, double before, double after) {
  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_NONE, nullptr);
  auto* timed = GST_TIMED_VALUE_CONTROL_SOURCE(source);
  gst_timed_value_control_source_set(timed, 0, before);
  gst_timed_value_control_source_set(timed, GST_SECOND, after);
  ck_assert(gst_object_add_control_binding(
      GST_OBJECT(element),
      gst_direct_control_binding_new_absolute(GST_OBJECT(element), property, source)));
  gst_object_unref(source);
}

// Arrivals of before one second, or from then on.
std::vector<Arrival> part(const std::vector<Arrival>& arrivals, bool before) {
  std::vector<Arrival> result;
  for (const Arrival& arrival : arrivals) {
    if ((arrival.pts < GST_SECOND) == before) result.push_back(arrival);
  }
  return result;
}

}  // namespace

DVNN_TEST(the_threshold_follows_a_controller) {
  Pipeline pipeline(painted_source(60) + "dvconvert ! " + infer() + " ! dvdecode name=decode" +
                    kSink);
  // No confidence is above 1: from 1 s on there is nothing at 1.0 but what is sure, all at 0.
  bind_steps(pipeline["decode"], "threshold", 0.5, 0.0);
  demand(&pipeline, pipeline.play_to_end());
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  expect_boxes_of_pixels(part(arrivals, true), 30, "threshold 0.5");
  for (const Arrival& arrival : part(arrivals, false)) {
    ck_assert_uint_eq(arrival.found.size(), 16);  // every cell, however unlikely
  }
}

DVNN_TEST(the_direction_follows_a_controller) {
  const std::string head = painted_source(60) + "dvconvert name=convert ";
  const std::string tail = " ! queue ! " + infer(Looks::kUpperRed) + " ! dvdecode" + kSink;
  Pipeline pipeline(head + tail, Looks::kUpperRed);
  // A direct binding takes an enumeration's values by their share of the list, of ten here.
  constexpr double kSecondOfTen = 1.01 / 9;
  bind_steps(pipeline["convert"], "video-direction", 0, kSecondOfTen);
  demand(&pipeline, pipeline.play_to_end());
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  expect_boxes_of_pixels(part(arrivals, true), 30, "identity");
  const std::vector<Arrival> turned = play(head + "video-direction=90r" + tail, Looks::kUpperRed);
  expect_same(part(arrivals, false), part(turned, false), "90r");
}

DVNN_TEST(roi_changes_with_the_next_frame) {
  Pipeline pipeline(painted_source(kEndless) +
                    "identity sleep-time=500 ! dvconvert name=convert ! " + infer() +
                    " ! dvdecode" + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  GstElement* convert = pipeline["convert"];
  for (int round = 0; round < 10; ++round) {
    const bool half = round % 2 == 0;
    gst_util_set_object_arg(G_OBJECT(convert), "roi",
                            half ? "<0.5,0.0,0.5,1.0>" : "<0.0,0.0,1.0,1.0>");
    constexpr size_t kUnderWay = 8;  // frames that had passed dvconvert already
    const size_t first = pipeline.count() + kUnderWay;
    demand(&pipeline,
           pipeline.run_until([&] { return pipeline.count() > first + 5; }, "frames went on"));
    const std::vector<Arrival> all = pipeline.arrivals();
    for (size_t i = first; i < first + 5; ++i) {
      for (const Found& found : all[i].found) {
        const bool narrow = found.x1 - found.x0 < 9;  // a cell of half the picture
        demand(&pipeline, narrow == half, "a box of the other region");
      }
    }
  }
  demand(&pipeline, pipeline.stop());
}

DVNN_TEST(the_pipeline_has_every_element_that_video_may_pass) {
  std::set<std::string> wanted = {"dvaudio", "dvrecord"};  // of sound, and with pads on request
  for (const char* name : elements()) wanted.insert(name);
  const std::vector<std::string> all = our_elements();
  ck_assert(std::set<std::string>(all.begin(), all.end()) == wanted);
}

// What gst-inspect-1.0 prints is all that many people read.
DVNN_TEST(a_property_says_its_unit_in_its_name_and_what_it_is_in_a_sentence) {
  constexpr size_t kLongest = 140;
  guint seen = 0;
  const std::vector<std::string> all = our_elements();
  for (const std::string& name : all) {
    GstElement* element = gst_element_factory_make(name.c_str(), nullptr);
    const Specs specs(element);
    for (guint i = 0; i < specs.count; ++i) {
      GParamSpec* spec = specs.list[i];
      if (spec->owner_type != G_OBJECT_TYPE(element)) continue;
      ++seen;
      const std::string what = name + " " + spec->name;
      const std::string blurb = g_param_spec_get_blurb(spec);
      const bool is_time = blurb.find("illiseconds") != std::string::npos;
      const bool is_number = G_TYPE_IS_FUNDAMENTAL(spec->value_type) &&
                             spec->value_type != G_TYPE_STRING && spec->value_type != G_TYPE_BOXED;
      if (is_time || g_str_has_suffix(spec->name, "-ms")) {
        ck_assert_msg(!is_number || (is_time && g_str_has_suffix(spec->name, "-ms")), "%s",
                      what.c_str());
      }
      ck_assert_msg(!blurb.empty() && blurb.size() <= kLongest, "%s: %zu characters", what.c_str(),
                    blurb.size());
      ck_assert_msg(blurb.find(". ") == std::string::npos && blurb.back() != '.', "%s: '%s'",
                    what.c_str(), blurb.c_str());
      ck_assert_msg(blurb.find("default") == std::string::npos, "%s: '%s'", what.c_str(),
                    blurb.c_str());
      // Types of one element are named as it is; those of several as none is.
      const std::string type = g_type_name(spec->value_type), own = G_OBJECT_TYPE_NAME(element);
      for (const std::string& other : all) {
        const std::string others =
            std::string("GstDv") + g_ascii_toupper(other[2]) + other.substr(3);
        ck_assert_msg(type.rfind(others, 0) != 0 || type.rfind(own, 0) == 0, "%s is a %s",
                      what.c_str(), type.c_str());
      }
    }
    gst_object_unref(element);
  }
  ck_assert_uint_gt(seen, 100);
}

// Statistics and counts, too, can be read as soon as there are some.
DVNN_TEST(every_property_is_read_once_there_is_something_to_read) {
  Pipeline pipeline(pipeline_with_all());
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  demand(&pipeline, pipeline.run_until([&] { return pipeline.count() > 20; }, "frames went on"));
  for (const char* name : elements()) {
    GstElement* element = pipeline[name];
    const Specs specs(element);
    for (guint i = 0; i < specs.count; ++i) {
      GParamSpec* spec = specs.list[i];
      if (spec->owner_type != G_OBJECT_TYPE(element)) continue;
      const std::string first = read_property(element, spec);
      const bool changes = G_PARAM_SPEC_VALUE_TYPE(spec) == GST_TYPE_STRUCTURE;
      demand(&pipeline, changes ? !first.empty() : read_property(element, spec) == first,
             std::string(name) + " " + spec->name + ": '" + first + "'");
    }
  }
  demand(&pipeline, pipeline.stop());
}

DVNN_TEST(elements_that_must_see_each_frame_drop_none_for_qos) {
  for (const char* name : {"dvmotion", "dvdecode", "dvtrack", "dvzones", "dvpublish"}) {
    GstElement* element = gst_element_factory_make(name, nullptr);
    gboolean qos = TRUE;
    g_object_set(element, "qos", TRUE, nullptr);
    g_object_get(element, "qos", &qos, nullptr);
    ck_assert_msg(!qos && !gst_base_transform_is_qos_enabled(GST_BASE_TRANSFORM(element)), "%s",
                  name);
    gst_object_unref(element);
  }
}

}  // namespace dvnn::test::properties_tests
