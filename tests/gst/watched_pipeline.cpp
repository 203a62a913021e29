// SPDX-License-Identifier: Apache-2.0
#include "watched_pipeline.h"

#include <gst/video/video.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <set>
#include <thread>

namespace dvnn::test {

struct Pipeline::Watch {
  std::atomic<guint64> progress{0};
  std::vector<Looks> looks;
  mutable std::mutex mutex;  // of what follows
  std::map<std::string, std::vector<Arrival>> arrivals;
  std::map<std::string, guint64> buffers;  // by element:pad
};

namespace {

using Watch = Pipeline::Watch;
using SharedWatch = std::shared_ptr<Watch>;

constexpr GstClockTime kLook = 20 * GST_MSECOND;  // between two looks at the progress

// Pipelines that are not taken down yet, each with a reference of its own, and those whose Pipeline
// exists: a failed test leaves by a jump that runs no destructor.
std::mutex strays_mutex;
std::set<GstElement*> strays, owned;

std::string name_of(gpointer object) {
  gchar* name = gst_object_get_name(GST_OBJECT(object));
  const std::string result = name ? name : "";
  g_free(name);
  return result;
}

Arrival read_arrival(GstPad* pad, GstBuffer* buffer, const std::vector<Looks>& all) {
  Arrival arrival;
  arrival.pts = GST_BUFFER_PTS(buffer);
  arrival.at_us = g_get_monotonic_time();
  GstCaps* caps = gst_pad_get_current_caps(pad);
  GstVideoInfo info;
  if (caps && gst_video_info_from_caps(&info, caps)) {
    arrival.found = detections(buffer);
    arrival.passes = passes(buffer);
    for (Looks looks : all) {
      std::vector<Found> expected;
      arrival.readable = expected_on(buffer, info, looks, &expected);
      arrival.expected.insert(arrival.expected.end(), expected.begin(), expected.end());
    }
  } else {
    GstMapInfo map;
    if (gst_buffer_map(buffer, &map, GST_MAP_READ)) {
      for (gsize i = 0; i < map.size; ++i) arrival.checksum = 31 * arrival.checksum + map.data[i];
      gst_buffer_unmap(buffer, &map);
    }
  }
  if (caps) gst_caps_unref(caps);
  return arrival;
}

struct PadWatch {
  SharedWatch watch;
  std::string name;
  std::string collects;  // the sink's name, if its frames are read
};

GstPadProbeReturn count_probe(GstPad* pad, GstPadProbeInfo* probe, gpointer user_data) {
  auto& self = *static_cast<PadWatch*>(user_data);
  ++self.watch->progress;
  if (!(GST_PAD_PROBE_INFO_TYPE(probe) & GST_PAD_PROBE_TYPE_BUFFER)) return GST_PAD_PROBE_OK;
  if (self.collects.empty()) {
    const std::lock_guard<std::mutex> lock(self.watch->mutex);
    ++self.watch->buffers[self.name];
    return GST_PAD_PROBE_OK;
  }
  const bool blue = self.collects.find("blue") != std::string::npos;
  Arrival arrival = read_arrival(pad, GST_PAD_PROBE_INFO_BUFFER(probe),
                                 blue ? std::vector<Looks>{Looks::kBlue} : self.watch->looks);
  const std::lock_guard<std::mutex> lock(self.watch->mutex);
  ++self.watch->buffers[self.name];
  self.watch->arrivals[self.collects].push_back(std::move(arrival));
  return GST_PAD_PROBE_OK;
}

void watch_element(GstElement* element, const SharedWatch& watch) {
  const std::string name = name_of(element);
  const bool sink = GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SINK);
  if (GST_IS_BIN(element)) return;
  GstIterator* pads = gst_element_iterate_pads(element);
  GValue item = G_VALUE_INIT;
  while (gst_iterator_next(pads, &item) == GST_ITERATOR_OK) {
    GstPad* pad = GST_PAD(g_value_get_object(&item));
    const bool source = !sink && element->numsinkpads == 0;
    if (source && name.rfind("src", 0) == 0) paint_frames_of(pad);
    auto* data = new PadWatch{watch, name + ":" + name_of(pad),
                              sink && name.rfind("out", 0) == 0 ? name : ""};
    gst_pad_add_probe(pad,
                      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER |
                                                   GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM),
                      count_probe, data, [](gpointer p) { delete static_cast<PadWatch*>(p); });
    g_value_reset(&item);
  }
  g_value_unset(&item);
  gst_iterator_free(pads);
}

void for_each_element(GstElement* bin, const std::function<void(GstElement*)>& work) {
  GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(bin));
  GValue item = G_VALUE_INIT;
  while (gst_iterator_next(elements, &item) == GST_ITERATOR_OK) {
    work(GST_ELEMENT(g_value_get_object(&item)));
    g_value_reset(&item);
  }
  g_value_unset(&item);
  gst_iterator_free(elements);
}

void added(GstBin*, GstBin*, GstElement* element, gpointer watch) {
  watch_element(element, *static_cast<SharedWatch*>(watch));
}

// Values worth a look in a stall, of elements that have them.
std::string levels_of(GstElement* element) {
  std::string text;
  for (const char* property : {"current-level-buffers", "max-size-buffers", "min-threshold-buffers",
                               "stats", "inferred", "late", "dropped", "max-in-flight"}) {
    GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), property);
    if (!spec || !(spec->flags & G_PARAM_READABLE)) continue;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, spec->value_type);
    g_object_get_property(G_OBJECT(element), property, &value);
    gchar* written = gst_value_serialize(&value);
    text += std::string(" ") + property + "=" + (written ? written : "?");
    g_free(written);
    g_value_unset(&value);
  }
  return text;
}

double slowness() {
#if defined(__SANITIZE_THREAD__)
  return 8;
#elif defined(__SANITIZE_ADDRESS__)
  return 3;
#else
  return 1;
#endif
}

std::shared_ptr<GstStructure> copy_of(const GstStructure* structure) {
  return {structure ? gst_structure_copy(structure) : nullptr, [](GstStructure* s) {
            if (s) gst_structure_free(s);
          }};
}

std::string text_of(GstMessage* message) {
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR ||
      GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING) {
    GError* error = nullptr;
    gchar* debug = nullptr;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error(message, &error, &debug);
    } else {
      gst_message_parse_warning(message, &error, &debug);
    }
    const std::string text = std::string(g_quark_to_string(error->domain)) + " " +
                             std::to_string(error->code) + ": " + error->message + " (" +
                             (debug ? debug : "") + ")";
    g_error_free(error);
    g_free(debug);
    return text;
  }
  const GstStructure* structure = gst_message_get_structure(message);
  gchar* written = structure ? gst_structure_to_string(structure) : nullptr;
  const std::string text = written ? written : "";
  g_free(written);
  return text;
}

}  // namespace

GstClockTime stall_limit() {
  const char* text = std::getenv("DVNN_TEST_STALL");
  const double seconds = text && *text ? std::atof(text) : 5 * slowness();
  return static_cast<GstClockTime>(seconds * GST_SECOND);
}

Pipeline::Pipeline(const std::string& description, Looks looks)
    : description_(description), watch_(std::make_shared<Watch>()) {
  watch_->looks = {looks};
  GError* error = nullptr;
  pipeline_ =
      gst_parse_launch_full(description.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (!pipeline_) {
    problem_ = std::string("it does not parse: ") + (error ? error->message : "");
    failed_ = true;
  }
  g_clear_error(&error);
  if (!pipeline_) return;
  if (!GST_IS_PIPELINE(pipeline_)) {  // one element alone
    GstElement* bin = gst_pipeline_new(nullptr);
    gst_bin_add(GST_BIN(bin), pipeline_);
    pipeline_ = bin;
  }
  gst_object_ref_sink(pipeline_);
  for_each_element(pipeline_, [this](GstElement* element) { watch_element(element, watch_); });
  g_signal_connect_data(
      pipeline_, "deep-element-added", G_CALLBACK(added), new SharedWatch(watch_),
      [](gpointer data, GClosure*) { delete static_cast<SharedWatch*>(data); },
      static_cast<GConnectFlags>(0));
  const std::lock_guard<std::mutex> lock(strays_mutex);
  strays.insert(GST_ELEMENT(gst_object_ref(pipeline_)));
  owned.insert(pipeline_);
}

void Pipeline::also_expect(Looks looks) {
  watch_->looks.push_back(looks);
}

Pipeline::~Pipeline() {
  if (!pipeline_) return;
  stop();
  {
    const std::lock_guard<std::mutex> lock(strays_mutex);
    owned.erase(pipeline_);
  }
  gst_object_unref(pipeline_);
}

GstElement* Pipeline::operator[](const std::string& name) const {
  GstElement* element = pipeline_ ? gst_bin_get_by_name(GST_BIN(pipeline_), name.c_str()) : nullptr;
  if (!element) {
    g_error("no element '%s' in %s: %s", name.c_str(), description_.c_str(), problem_.c_str());
  }
  gst_object_unref(element);  // the pipeline keeps it
  return element;
}

void Pipeline::fail(const std::string& why) {
  failed_ = true;
  problem_ = why + "\n" + dump();
}

std::string Pipeline::dump() const {
  std::string text = "pipeline: " + description_ + "\n";
  if (!pipeline_) return text;
  for_each_element(pipeline_, [&](GstElement* element) {
    text += "  " + name_of(element) + ": " + gst_element_state_get_name(GST_STATE(element));
    if (GST_STATE_PENDING(element) != GST_STATE_VOID_PENDING) {
      text += std::string(" -> ") + gst_element_state_get_name(GST_STATE_PENDING(element));
    }
    text += levels_of(element) + "\n";
  });
  const std::lock_guard<std::mutex> lock(watch_->mutex);
  text += "  buffers:";
  for (const auto& pad : watch_->buffers)
    text += " " + pad.first + "=" + std::to_string(pad.second);
  return text + "\n";
}

bool Pipeline::in_helper(const char* what, const std::function<bool()>& work) {
  auto promise = std::make_shared<std::promise<bool>>();
  std::future<bool> result = promise->get_future();
  GstElement* pipeline = GST_ELEMENT(gst_object_ref(pipeline_));
  std::thread([promise, work, pipeline] {
    const bool done = work();
    gst_object_unref(pipeline);  // before anybody looks for leaks
    promise->set_value(done);
  }).detach();
  const auto limit = std::chrono::nanoseconds(2 * stall_limit());
  if (result.wait_for(limit) != std::future_status::ready) {
    fail(std::string(what) + " does not return");
    return false;
  }
  if (result.get()) return true;
  read_bus();
  if (!failed_) fail(std::string(what) + " fails");
  return false;
}

bool Pipeline::set_state(GstState state) {
  if (!pipeline_ || failed_) return false;
  GstElement* pipeline = pipeline_;
  const std::string what = std::string("the change to ") + gst_element_state_get_name(state);
  if (!in_helper(what.c_str(), [pipeline, state] {
        return gst_element_set_state(pipeline, state) != GST_STATE_CHANGE_FAILURE;
      })) {
    return false;
  }
  if (state <= GST_STATE_READY) return true;
  while (gst_element_get_state(pipeline_, nullptr, nullptr, 0) == GST_STATE_CHANGE_ASYNC) {
    const Step step = look(kLook);
    if (step == Step::kFailed) return false;
    if (step == Step::kEos) return true;
  }
  return !failed_;
}

void Pipeline::read_bus() {
  if (!pipeline_) return;
  while (look(0) == Step::kGoOn) {
    GstBus* bus = gst_element_get_bus(pipeline_);
    const bool more = gst_bus_have_pending(bus);
    gst_object_unref(bus);
    if (!more) return;
  }
}

Pipeline::Step Pipeline::look(GstClockTime wait) {
  if (failed_) return Step::kFailed;
  GstBus* bus = gst_element_get_bus(pipeline_);
  GstMessage* message = gst_bus_timed_pop(bus, wait);
  gst_object_unref(bus);
  if (message) {
    const GstMessageType type = GST_MESSAGE_TYPE(message);
    if (type != GST_MESSAGE_STATE_CHANGED && type != GST_MESSAGE_TAG) {
      messages_.push_back({type, GST_MESSAGE_SRC(message) ? name_of(GST_MESSAGE_SRC(message)) : "",
                           text_of(message), copy_of(gst_message_get_structure(message))});
    }
    if (type == GST_MESSAGE_LATENCY) gst_bin_recalculate_latency(GST_BIN(pipeline_));
    if (type == GST_MESSAGE_EOS) eos_ = true;
    if (type == GST_MESSAGE_ERROR)
      fail("error from " + messages_.back().source + ": " + messages_.back().text);
    gst_message_unref(message);
  }
  const guint64 progress = watch_->progress;
  const gint64 now = g_get_monotonic_time();
  if (progress != last_progress_ || progressed_at_ == 0 || wait == 0) {
    last_progress_ = progress;
    progressed_at_ = now;
  } else if (!eos_ && now - progressed_at_ > static_cast<gint64>(stall_limit() / GST_USECOND)) {
    fail("stalled: nothing has moved for " + std::to_string(stall_limit() / GST_MSECOND) + " ms");
  }
  if (failed_) return Step::kFailed;
  return eos_ ? Step::kEos : Step::kGoOn;
}

bool Pipeline::play_to_end() {
  if (!pipeline_ || failed_) return false;
  GstElement* pipeline = pipeline_;
  if (!in_helper("the change to PLAYING", [pipeline] {
        return gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
      })) {
    return false;
  }
  return run_to_end();
}

bool Pipeline::run_to_end() {
  progressed_at_ = 0;
  Step step = Step::kGoOn;
  while (step == Step::kGoOn) step = look(kLook);
  return step == Step::kEos;
}

bool Pipeline::run_until(const std::function<bool()>& done, const char* what) {
  progressed_at_ = 0;
  while (true) {
    if (done()) return true;
    const Step step = look(kLook);
    if (step == Step::kFailed) return false;
    if (step == Step::kEos && !done()) {
      fail(std::string("the stream ended before ") + what);
      return false;
    }
  }
}

bool Pipeline::run_for(GstClockTime time) {
  const gint64 until = g_get_monotonic_time() + static_cast<gint64>(time / GST_USECOND);
  return run_until([until] { return g_get_monotonic_time() >= until; }, "the time was over");
}

bool Pipeline::stop() {
  if (!pipeline_) return true;
  {
    const std::lock_guard<std::mutex> lock(strays_mutex);
    if (strays.erase(pipeline_) == 0) return true;
  }
  const std::string before = problem_;
  GstElement* pipeline = pipeline_;
  const bool stopped = in_helper("the change to NULL", [pipeline] {
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);  // the strays' reference
    return true;
  });
  if (!stopped) problem_ = before + (before.empty() ? "" : "\n") + problem_;
  return stopped;
}

std::vector<Arrival> Pipeline::arrivals(const std::string& sink) const {
  const std::lock_guard<std::mutex> lock(watch_->mutex);
  const auto it = watch_->arrivals.find(sink);
  return it == watch_->arrivals.end() ? std::vector<Arrival>() : it->second;
}

size_t Pipeline::count(const std::string& sink) const {
  const std::lock_guard<std::mutex> lock(watch_->mutex);
  const auto it = watch_->arrivals.find(sink);
  return it == watch_->arrivals.end() ? 0 : it->second.size();
}

size_t Pipeline::count_messages(GstMessageType type, const std::string& name) const {
  size_t count = 0;
  for (const Message& message : messages_) {
    if (message.type != type) continue;
    count += name.empty() ||
             (message.structure && gst_structure_has_name(message.structure.get(), name.c_str()));
  }
  return count;
}

void stop_strays() {
  std::set<GstElement*> left, lost;
  {
    const std::lock_guard<std::mutex> lock(strays_mutex);
    left.swap(strays);
    lost.swap(owned);
  }
  for (GstElement* pipeline : left) {
    auto done = std::make_shared<std::promise<void>>();
    std::future<void> result = done->get_future();
    std::thread([done, pipeline] {
      gst_element_set_state(pipeline, GST_STATE_NULL);
      gst_object_unref(pipeline);
      done->set_value();
    }).detach();
    result.wait_for(std::chrono::nanoseconds(stall_limit()));
  }
  for (GstElement* pipeline : lost) gst_object_unref(pipeline);
}

std::string wrong_boxes(const std::vector<Arrival>& arrivals, double pixels) {
  constexpr double kConfidence = 1e-3;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const std::string where = "frame " + std::to_string(i) + ": ";
    if (!arrivals[i].readable) return where + "its pixels cannot be read";
    const std::string wrong =
        difference(arrivals[i].found, arrivals[i].expected, pixels, kConfidence);
    if (!wrong.empty()) return where + wrong;
  }
  return "";
}

std::string compare_runs(const std::vector<Arrival>& have, const std::vector<Arrival>& want,
                         double pixels, bool some) {
  std::map<GstClockTime, const Arrival*> known;
  for (const Arrival& arrival : want) known[arrival.pts] = &arrival;
  if (!some && have.size() != want.size()) {
    return std::to_string(have.size()) + " frames, not " + std::to_string(want.size());
  }
  for (const Arrival& arrival : have) {
    gchar* text = g_strdup_printf("frame at %" GST_TIME_FORMAT ": ", GST_TIME_ARGS(arrival.pts));
    const std::string where = text;
    g_free(text);
    const auto it = known.find(arrival.pts);
    if (it == known.end()) return where + "none such is expected";
    if (arrival.checksum != it->second->checksum) return where + "other tensors";
    const std::string wrong = difference(arrival.found, it->second->found, pixels, pixels > 0);
    if (!wrong.empty()) return where + wrong;
  }
  return "";
}

std::string painted_source(int frames, const std::string& more, const std::string& name, int width,
                           int height, int rate) {
  return "videotestsrc name=" + name + " pattern=black num-buffers=" + std::to_string(frames) +
         " " + more + " ! video/x-raw,format=RGB,width=" + std::to_string(width) +
         ",height=" + std::to_string(height) + ",framerate=" + std::to_string(rate) + "/1 ! ";
}

std::string infer(Looks looks, const std::string& properties) {
  return "dvinfer " + properties + " network=" + grid_path(looks);
}

}  // namespace dvnn::test
