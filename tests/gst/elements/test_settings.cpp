// SPDX-License-Identifier: Apache-2.0
// A setting is taken, or it is refused: what is wrong before there is a bus is an error on the way
// to READY that names element, property and value, and never silence.
#include <gst/gst.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gst_fixture.h"

namespace dvnn::test::settings_tests {

DVNN_GST_SUITE(gst_settings);

namespace {

const char* const kGarbage = "{\"gar:bage\x7f=,,1e999";

GstElement* element_of(const char* factory) {
  GstElement* element = gst_element_factory_make(factory, "culprit");
  ck_assert_ptr_nonnull(element);
  if (std::string(factory) == "dvpublish") g_object_set(element, "location", "/dev/null", nullptr);
  if (std::string(factory) == "dvrecord") {
    g_object_set(element, "location", g_get_tmp_dir(), nullptr);
  }
  if (std::string(factory) == "dvinfer") {
    g_object_set(element, "network", network_path().c_str(), "device", "soft", nullptr);
  }
  return element;
}

// Brings the element to READY; the text of its error, or nothing.
std::string error_of(GstElement* element) {
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  const bool good = gst_element_set_state(element, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE;
  std::string text;
  while (GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    text += error->message;
    g_error_free(error);
    gst_message_unref(message);
  }
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  ck_assert_msg(good == text.empty(), "%s: %s", G_OBJECT_TYPE_NAME(element), text.c_str());
  return text;
}

// Values that a property of this kind cannot have, or that make no sense.
void put_nans(int count, GValue* array) {
  for (int i = 0; i < count; ++i) {
    GValue number = G_VALUE_INIT;
    g_value_init(&number, G_TYPE_DOUBLE);
    g_value_set_double(&number, NAN);
    gst_value_array_append_and_take_value(array, &number);
  }
}

std::vector<GValue> garbage_for(GParamSpec* spec) {
  std::vector<GValue> all;
  const auto add = [&](auto&& fill) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, spec->value_type);
    fill(&value);
    all.push_back(value);
  };
  if (G_IS_PARAM_SPEC_STRING(spec)) {
    add([](GValue* value) { g_value_set_string(value, kGarbage); });
    add([](GValue* value) { g_value_set_string(value, "/no/such/file"); });
  } else if (G_IS_PARAM_SPEC_ENUM(spec)) {
    add([](GValue* value) { g_value_set_enum(value, 12345); });
  } else if (G_IS_PARAM_SPEC_FLAGS(spec)) {
    add([](GValue* value) { g_value_set_flags(value, 1u << 30); });
  } else if (G_IS_PARAM_SPEC_UINT(spec)) {
    add([](GValue* value) { g_value_set_uint(value, G_MAXUINT); });
    add([](GValue* value) { g_value_set_uint(value, 0); });
  } else if (G_IS_PARAM_SPEC_INT(spec)) {
    add([](GValue* value) { g_value_set_int(value, G_MININT); });
    add([](GValue* value) { g_value_set_int(value, G_MAXINT); });
  } else if (G_IS_PARAM_SPEC_DOUBLE(spec)) {
    for (double number : {-1e300, 1e300, static_cast<double>(NAN)}) {
      add([number](GValue* value) { g_value_set_double(value, number); });
    }
  } else if (G_IS_PARAM_SPEC_FLOAT(spec)) {
    for (float number : {-1e30f, 1e30f, static_cast<float>(NAN)}) {
      add([number](GValue* value) { g_value_set_float(value, number); });
    }
  } else if (G_IS_PARAM_SPEC_BOOLEAN(spec)) {
    add([](GValue* value) { g_value_set_boolean(value, TRUE); });
  } else if (spec->value_type == GST_TYPE_ARRAY) {
    add([](GValue*) {});
    const bool of_numbers =
        GST_PARAM_SPEC_ARRAY_LIST(spec)->element_spec->value_type == G_TYPE_DOUBLE;
    for (int count : {1, 3, 4}) {
      if (of_numbers) add([count](GValue* value) { put_nans(count, value); });
    }
  }
  return all;
}

// By its name, so that a new one is met.
bool reads_a_file(const std::string& property) {
  const auto ends_with = [&](const std::string& end) {
    return property.size() >= end.size() &&
           property.compare(property.size() - end.size(), end.size(), end) == 0;
  };
  return ends_with("-file") || ends_with("-library") || property == "network" ||
         property == "custom-layers";
}

bool is_taken(GstElement* element, GParamSpec* spec, const GValue* value) {
  GValue now = G_VALUE_INIT;
  g_value_init(&now, spec->value_type);
  g_object_get_property(G_OBJECT(element), spec->name, &now);
  const bool same = g_param_values_cmp(spec, &now, value) == 0;
  g_value_unset(&now);
  return same;
}

}  // namespace

DVNN_TEST(garbage_before_the_start_is_taken_or_is_an_error) {
  guint refused = 0, taken = 0;
  for (const std::string& name : our_elements()) {
    const char* factory = name.c_str();
    GstElement* model = gst_element_factory_make(factory, nullptr);
    guint count = 0;
    GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(model), &count);
    for (guint i = 0; i < count; ++i) {
      if (specs[i]->owner_type != G_OBJECT_TYPE(model) || !(specs[i]->flags & G_PARAM_WRITABLE))
        continue;
      for (GValue& value : garbage_for(specs[i])) {
        GstElement* element = element_of(factory);
        g_object_set_property(G_OBJECT(element), specs[i]->name, &value);
        const bool kept = is_taken(element, specs[i], &value);
        const std::string error = error_of(element);
        gchar* text = g_strdup_value_contents(&value);
        const std::string what =
            std::string(factory) + " " + specs[i]->name + "=" + text + ": " + error;
        g_free(text);
        ck_assert_msg(kept || !error.empty(), "neither taken nor refused: %s", what.c_str());
        if (!error.empty()) {
          const bool names = error.find(specs[i]->name) != std::string::npos ||
                             std::string(specs[i]->name) == "url";
          ck_assert_msg(error.find("culprit") != std::string::npos && names, "%s", what.c_str());
          ++refused;
        } else {
          ++taken;
        }
        g_value_unset(&value);
        gst_object_unref(element);
      }
    }
    g_free(specs);
    gst_object_unref(model);
  }
  std::printf("%u refused, %u taken\n", refused, taken);
  ck_assert_uint_gt(refused, 80);
  ck_assert_uint_gt(taken, 30);
}

// Paths at which something stands that is no file of that kind, or none at all: a pipe and a device
// are not waited for.
DVNN_TEST(a_file_that_is_none_of_its_kind_is_an_error) {
  std::string folder = "/tmp/dvnn-settings-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder.data()));
  const std::string empty = folder + "/empty", bytes = folder + "/bytes", pipe = folder + "/pipe";
  std::ofstream(empty).flush();
  std::ofstream(bytes) << std::string(
      "\x7f"
      "ELF\0\xff\xfe\n",
      8);
  ck_assert_int_eq(mkfifo(pipe.c_str(), 0600), 0);
  const std::string wrong[] = {empty, bytes, pipe, folder, "/dev/zero", folder + "/none"};
  guint tried = 0;
  for (const std::string& element_name : our_elements()) {
    const char* factory = element_name.c_str();
    GstElement* model = element_of(factory);
    guint count = 0;
    GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(model), &count);
    for (guint i = 0; i < count; ++i) {
      const std::string name = specs[i]->name;
      if (!reads_a_file(name)) continue;
      for (const std::string& path : wrong) {
        const bool has_options = name == "options-file" || name == "share-options-file";
        if (has_options && path == empty) continue;  // no options
        GstElement* element = element_of(factory);
        g_object_set(element, name.c_str(), path.c_str(), nullptr);
        const std::string error = error_of(element);
        const bool says =
            error.find(name) != std::string::npos && error.find(path) != std::string::npos;
        ck_assert_msg(says, "%s %s=%s: '%s'", factory, name.c_str(), path.c_str(), error.c_str());
        gst_object_unref(element);
        ++tried;
      }
    }
    g_free(specs);
    gst_object_unref(model);
  }
  std::filesystem::remove_all(folder);
  ck_assert_uint_ge(tried, 8 * std::size(wrong) - 1);
}

// What gst-launch-1.0 sets before any bus is there.
DVNN_TEST(an_error_says_what_would_be_right) {
  const struct {
    const char *factory, *property, *value, *says;
  } cases[] = {
      {"dvzones", "zones", "{\"areas\":1}", "culprit: property 'zones' is '{\"areas\":1}': "},
      {"dvmotion", "zones", "{\"masks\":1}", "culprit: property 'zones' is '{\"masks\":1}': "},
      {"dvzones", "zones-file", "/nowhere.json", "property 'zones-file' is '/nowhere.json': "},
      {"dvdecode", "labels-file", "/nowhere.txt", "property 'labels-file' is '/nowhere.txt': "},
      {"dvpublish", "snapshot-folder", "/nowhere",
       "'snapshot-folder' is '/nowhere': '/nowhere': No "},
      {"dvpublish", "snapshot-folder", "/dev/null", "'/dev/null' is not a folder"},
      {"dvpublish", "location", "/tmp", "culprit (location=/tmp): '/tmp' is a folder"},
      {"dvdecode", "thresholds", "person=0.4", "is not LABEL:CONFIDENCE, such as person:0.4"},
      {"dvconvert", "tiles", "3by2", "property 'tiles' is '3by2': "},
      {"dvconvert", "region-list", "[[64,48,320,240]]", "\"unit\": \"pixels\""},
      {"dvinfer", "max-in-flight", "99", "is '99': it must be in 1..16"},
      {"dvdecode", "threshold", "1.5", "is '1.5': it must be in 0..1"},
      {"dvconvert", "mean", "<1.,2.>", "it needs one number or three, not 2"},
      {"dvconvert", "roi", "<0.5,0.,0.6,1.>", "is not within 0..1"},
      {"dvdecode", "decoder-library", "/nowhere.so", "property 'decoder-library'"},
  };
  for (const auto& c : cases) {
    GstElement* element = element_of(c.factory);
    gst_util_set_object_arg(G_OBJECT(element), c.property, c.value);
    const std::string error = error_of(element);
    ck_assert_msg(error.find(c.says) != std::string::npos, "%s %s: '%s'", c.factory, c.property,
                  error.c_str());
    gst_object_unref(element);
  }
}

DVNN_TEST(a_setting_that_is_set_right_afterwards_is_forgiven) {
  GstElement* element = element_of("dvdecode");
  g_object_set(element, "thresholds", "garbage", nullptr);
  ck_assert(!error_of(element).empty());
  ck_assert(!error_of(element).empty());  // it stays wrong
  g_object_set(element, "thresholds", "person:0.4", nullptr);
  dvnn_assert_text(error_of(element), "");
  gst_object_unref(element);
}

// The place is not the function that all errors pass, and shows no path of the build's machine.
DVNN_TEST(an_error_names_the_place_that_raised_it) {
  GstElement* element = element_of("dvinfer");
  g_object_set(element, "network", "/nowhere.dvn", nullptr);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  ck_assert_int_eq(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  gchar* debug = nullptr;
  gst_message_parse_error(message, nullptr, &debug);
  const std::string text = debug;
  ck_assert_msg(text.rfind("gst/elements/dvinfer/networks.cpp(", 0) == 0, "%s", debug);
  g_free(debug);
  gst_message_unref(message);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
}

// Lists are texts, which people type, and arrays, in which a label may have commas.
DVNN_TEST(a_list_of_labels_is_an_array_too) {
  const struct {
    const char *factory, *property;
  } lists[] = {{"dvdecode", "labels"}, {"dvdecode", "exclude"},       {"dvconvert", "object-class"},
               {"dvoverlay", "blur"},  {"dvconvert", "region-metas"}, {"dvoverlay", "show"}};
  for (const auto& list : lists) {
    GstElement* element = element_of(list.factory);
    const std::string array = std::string(list.property) + "-array";
    GValue labels = G_VALUE_INIT;
    g_value_init(&labels, GST_TYPE_ARRAY);
    for (const char* label : {"dog, large", "back\\slash", "cat"}) {
      GValue item = G_VALUE_INIT;
      g_value_init(&item, G_TYPE_STRING);
      g_value_set_string(&item, label);
      gst_value_array_append_and_take_value(&labels, &item);
    }
    g_object_set_property(G_OBJECT(element), array.c_str(), &labels);
    gchar* text = nullptr;
    g_object_get(element, list.property, &text, nullptr);
    dvnn_assert_text(text, "dog\\, large,back\\\\slash,cat");
    g_object_set(element, list.property, "", nullptr);
    g_object_set(element, list.property, text, nullptr);
    g_free(text);
    GValue now = G_VALUE_INIT;
    g_value_init(&now, GST_TYPE_ARRAY);
    g_object_get_property(G_OBJECT(element), array.c_str(), &now);
    ck_assert_int_eq(gst_value_compare(&now, &labels), GST_VALUE_EQUAL);
    g_value_unset(&now);
    g_value_unset(&labels);
    dvnn_assert_text(error_of(element), "");
    gst_object_unref(element);
  }
}

}  // namespace dvnn::test::settings_tests
