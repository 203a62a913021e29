// SPDX-License-Identifier: Apache-2.0
// Feeds elements: GStreamer with our plugin alone, caps and frames that may lie, memory that ends
// at a guard page, and networks in files.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fuzzed_data.h"
#include "grid_network.h"
#include "refs.h"

namespace dvnn::fuzz {

/// Starts GStreamer without a registry and loads the plugin. GLib's criticals crash from then on.
void start_gstreamer();

/// Returns the path of a grid network, which exists until the program ends.
std::string write_network(const test::GridVariant& variant = {});

/// A buffer of `size` bytes (at most kMostBytes), in one or several memories. Valid until the next
/// call of reuse_memory(), which ends an input.
constexpr size_t kMostBytes = 128 * 1024;
GstBuffer* any_buffer(FuzzedData* in, size_t size);
void reuse_memory();

/// Returns caps of raw video, mostly of small frames. `info` is what they say, or a small format if
/// they cannot be read.
gst::CapsPtr any_video_caps(FuzzedData* in, GstVideoInfo* info);

/// Returns a frame for these caps, with times. Now and then it is too short, has a lying
/// GstVideoMeta or GstVideoCropMeta, or is null.
GstBuffer* any_frame(FuzzedData* in, const GstVideoInfo& info);

using ElementProperty = std::pair<GstElement*, GParamSpec*>;

/// A harness that is taken down with the object. Most targets have one that stays from input to
/// input: making and unmaking its elements takes longer than an input does.
class Harness {
 public:
  explicit Harness(GstHarness* harness);
  ~Harness();
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;
  /// Ends the last input: the elements go to `state`, and have the properties with which they were
  /// made. So what an input does is its own doing.
  void rest(GstState state);
  void play();
  /// By way of READY. Properties are for afterwards: with a wrong one, nothing plays.
  void begin_anew();
  /// All properties that can be set, with the values that they had at first.
  const std::map<ElementProperty, GValue>& first() const { return first_; }
  GstHarness* get() const { return harness_; }
  GstElement* element() const { return harness_->element; }
  /// Pushes stream-start, caps and a segment. False if the caps are refused.
  bool begin(const GstCaps* caps);
  /// Pushes a buffer and releases all output.
  GstFlowReturn push(GstBuffer* buffer);
  void drop_output();
  void flush();
  /// Waits until everything that was pushed has left.
  void drain();

 private:
  void watch(GstElement* element);

  GstHarness* harness_;
  std::vector<GstElement*> elements_;
  std::map<ElementProperty, GValue> first_;
  std::set<ElementProperty> changed_;
  guint64 flushes_ = 0;  // frames have as their offset how many there were before them
};

/// Plays a stream of raw video with arbitrary caps and, while there is input, at most `most` frames
/// from `make`. Counts the frames that are accepted.
void play_video(FuzzedData* in, int most, Harness* harness,
                const std::function<GstBuffer*(const GstVideoInfo& info)>& make);

/// Sets an array of numbers, which g_object_set() alone does not reach.
inline void set_numbers(GObject* element, const char* name, const std::vector<double>& numbers) {
  GValue list = G_VALUE_INIT;
  g_value_init(&list, GST_TYPE_ARRAY);
  for (double number : numbers) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_DOUBLE);
    g_value_set_double(&item, number);
    gst_value_array_append_and_take_value(&list, &item);
  }
  g_object_set_property(element, name, &list);
  g_value_unset(&list);
}

/// Sets one of the values of an enumeration.
inline void set_choice(FuzzedData* in, GObject* object, const char* name) {
  const GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name);
  const GEnumClass* values = G_PARAM_SPEC_ENUM(spec)->enum_class;
  g_object_set(object, name, static_cast<gint>(in->byte() % values->n_values), nullptr);
}

}  // namespace dvnn::fuzz
