// SPDX-License-Identifier: Apache-2.0
#include "hostile_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "network/dvn_file.h"
#include "target.h"

namespace dvnn::fuzz {
namespace {

// Memories whose last byte lies before a page that faults: GStreamer's own code is not sanitised,
// and it is what reads and writes many frames.
class Arenas {
 public:
  static constexpr size_t kCount = 12;

  Arenas() {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    for (uint8_t*& end : ends_) {
      void* const start = mmap(nullptr, kMostBytes + page, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (start == MAP_FAILED) std::abort();
      end = static_cast<uint8_t*>(start) + kMostBytes;
      if (mprotect(end, page, PROT_NONE) != 0) std::abort();
    }
  }
  GstMemory* take(size_t size) {
    if (used_ == kCount || size == 0) return gst_allocator_alloc(nullptr, size, nullptr);
    uint8_t* const start = ends_[used_++] - size;
    return gst_memory_new_wrapped(static_cast<GstMemoryFlags>(0), start, size, 0, size, nullptr,
                                  nullptr);
  }
  void reset() { used_ = 0; }

 private:
  uint8_t* ends_[kCount] = {};
  size_t used_ = 0;
};

Arenas& arenas() {
  static auto* const arenas = new Arenas();
  return *arenas;
}

// A pattern that is no picture of one colour, and no float that is all zeros.
GstMemory* filled(FuzzedData* in, size_t size) {
  GstMemory* memory = arenas().take(size);
  GstMapInfo map;
  if (size > 0 && gst_memory_map(memory, &map, GST_MAP_WRITE)) {
    // Rows of 16 bytes, a copy each: bytes one by one took a fifth of the time of an input.
    constexpr size_t kRow = 16;
    uint8_t row[kRow];
    in->fill(row, 4);
    for (size_t i = 4; i < kRow; ++i) row[i] = row[i - 4];
    for (size_t i = 0; i < size; i += kRow) {
      std::memcpy(map.data + i, row, std::min(kRow, size - i));
      for (uint8_t& byte : row) byte = static_cast<uint8_t>(byte + 1);
    }
    gst_memory_unmap(memory, &map);
  }
  return memory;
}

void add_video_meta(FuzzedData* in, const GstVideoInfo& info, GstBuffer* buffer) {
  gsize offsets[GST_VIDEO_MAX_PLANES];
  gint strides[GST_VIDEO_MAX_PLANES];
  std::copy(info.offset, info.offset + GST_VIDEO_MAX_PLANES, offsets);
  std::copy(info.stride, info.stride + GST_VIDEO_MAX_PLANES, strides);
  GstVideoMeta* meta = gst_buffer_add_video_meta_full(
      buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info), 16, 16,
      GST_VIDEO_INFO_N_PLANES(&info), offsets, strides);
  if (!meta) return;
  meta->width = in->rarely() ? in->extent(80) : static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info));
  meta->height = in->rarely() ? in->extent(80) : static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info));
  if (in->rarely()) {
    // Beyond the last one, GStreamer itself would end.
    meta->format =
        static_cast<GstVideoFormat>(in->in(GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_P012_LE));
  }
  for (guint plane = 0; plane < GST_VIDEO_MAX_PLANES; ++plane) {
    const uint8_t lies = in->byte();
    if (lies >= 216) {
      meta->stride[plane] = static_cast<gint>(in->extent(600));
    } else if (lies & 1) {
      meta->stride[plane] += static_cast<gint>(in->in(0, 64));
    }
    if (lies % 16 == 15) meta->offset[plane] = in->extent(20000);
    if (lies % 64 == 14) meta->offset[plane] = static_cast<gsize>(in->any<uint64_t>());
  }
  if (in->rarely()) {
    meta->alignment.padding_left = in->extent(64);
    meta->alignment.padding_top = in->extent(64);
  }
}

void add_crop_meta(FuzzedData* in, GstBuffer* buffer) {
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
  crop->x = in->extent(32) - 1;
  crop->y = in->extent(32) - 1;
  crop->width = in->extent(64);
  crop->height = in->extent(64);
}

}  // namespace

std::string write_network(const test::GridVariant& variant) {
  static auto* const paths = new std::vector<std::string>();
  if (paths->empty()) {
    std::atexit([] {
      for (const std::string& path : *paths) unlink(path.c_str());
    });
  }
  std::string path = "/tmp/dvnn-fuzz-XXXXXX.dvn";
  close(mkstemps(path.data(), 4));
  if (!network::write_dvn(test::grid_network(variant), path).ok()) std::abort();
  paths->push_back(path);
  return path;
}

void start_gstreamer() {
  setenv("GST_REGISTRY_DISABLE", "yes", 1);
  setenv("G_SLICE", "always-malloc", 1);  // so that sanitizers see what is freed
  gst_init(nullptr, nullptr);
  gst_debug_set_active(FALSE);
  g_log_set_default_handler(
      [](const gchar* domain, GLogLevelFlags level, const gchar* message, gpointer) {
        // GLib refuses values that a property cannot have aloud, from 2.84 on at that level.
        const bool refused = std::strstr(message, "is invalid or out of range for property");
        if (refused || !(level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR))) return;
        std::fprintf(stderr, "%s: %s\n", domain ? domain : "", message);
        std::abort();
      },
      nullptr);
  const char* folder = std::getenv("GST_PLUGIN_PATH");
  for (const char* plugin : {"/libgstdvnn.so", "/libgstdvnnzones.so", "/libgstdvnnpublish.so"}) {
    const std::string path = std::string(folder ? folder : "gst") + plugin;
    GError* error = nullptr;
    if (!gst_plugin_load_file(path.c_str(), &error)) {
      std::fprintf(stderr, "%s (set GST_PLUGIN_PATH)\n", error->message);
      std::exit(1);
    }
  }
}

GstBuffer* any_buffer(FuzzedData* in, size_t size) {
  constexpr int kMostMemories = 18;
  GstBuffer* buffer = gst_buffer_new();
  size = std::min(size, kMostBytes);
  const int memories = in->rarely() ? static_cast<int>(in->in(0, kMostMemories)) : 1;
  for (int left = memories; left > 0; --left) {
    size_t part = size;
    if (left > 1) part = static_cast<size_t>(in->in(0, 4095)) * size / 4096;
    gst_buffer_append_memory(buffer, filled(in, part));
    size -= part;
  }
  return buffer;
}

void reuse_memory() {
  arenas().reset();
}

gst::CapsPtr any_video_caps(FuzzedData* in, GstVideoInfo* info) {
  static const char* const kFormats[] = {
      "RGB",       "BGR",  "NV12", "I420", "GRAY8", "RGBx",  "BGRx",   "xRGB", "xBGR",
      "RGBA",      "BGRA", "ARGB", "ABGR", "NV21",  "NV16",  "YV12",   "YUY2", "P010_10LE",
      "I420_10LE", "UYVY", "Y42B", "Y444", "RGB16", "BGR16", "nothing"};
  static const char* const kColorimetries[] = {"bt601",   "bt709",   "bt2020",  "sRGB",
                                               "1:3:0:0", "9:9:9:9", "nothing", ""};
  static const char* const kInterlaced[] = {"progressive", "interleaved", "mixed",
                                            "fields",      "alternate",   "nothing"};
  const auto width = static_cast<gint>(in->extent(64)), height = static_cast<gint>(in->extent(64));
  gst::CapsPtr caps(gst_caps_new_simple(
      "video/x-raw", "format", G_TYPE_STRING, in->one_of(kFormats), "width", G_TYPE_INT, width,
      "height", G_TYPE_INT, height, "framerate", GST_TYPE_FRACTION, 25, 1, nullptr));
  const uint8_t more = in->byte();
  if (more & 1) {
    gst_caps_set_simple(caps.get(), "colorimetry", G_TYPE_STRING, in->one_of(kColorimetries),
                        nullptr);
  }
  if (more & 2) {
    const auto n = static_cast<gint>(in->extent(3)), d = static_cast<gint>(in->extent(3));
    gst_caps_set_simple(caps.get(), "pixel-aspect-ratio", GST_TYPE_FRACTION, std::max(n, -G_MAXINT),
                        d > 0 ? d : 1, nullptr);
  }
  if (more & 4) {
    const std::string mode = in->one_of(kInterlaced);
    gst_caps_set_simple(caps.get(), "interlace-mode", G_TYPE_STRING, mode.c_str(), nullptr);
    if (mode == "alternate") {
      gst_caps_set_features(caps.get(), 0,
                            gst_caps_features_new(GST_CAPS_FEATURE_FORMAT_INTERLACED, nullptr));
    }
  }
  if ((more & 0xf8) == 0xf8) {
    const auto rate = static_cast<gint>(in->extent(60));
    gst_caps_set_simple(caps.get(), "framerate", GST_TYPE_FRACTION, std::max(rate, -G_MAXINT), 1,
                        nullptr);
  }
  if (!gst_video_info_from_caps(info, caps.get())) {
    gst_video_info_set_format(info, GST_VIDEO_FORMAT_RGB, 16, 16);
  }
  return caps;
}

GstBuffer* any_frame(FuzzedData* in, const GstVideoInfo& info) {
  const uint8_t kind = in->byte();
  gsize size = info.size;
  if (kind >= 232) size = size > 0 ? size - static_cast<gsize>(in->in(0, 255)) % size : 0;
  if (kind >= 248) size += static_cast<gsize>(in->in(0, 5000));
  if (kind == 255) size = 0;
  GstBuffer* buffer = any_buffer(in, size);
  if (kind & 1) add_video_meta(in, info, buffer);
  if (kind & 2) add_crop_meta(in, buffer);
  if (kind & 4) GST_BUFFER_PTS(buffer) = in->any<uint16_t>() * GST_MSECOND;
  if ((kind & 0x3c) == 0x38) {
    GST_BUFFER_PTS(buffer) = in->any<uint64_t>();
    GST_BUFFER_DURATION(buffer) = in->any<uint64_t>();
    GST_BUFFER_FLAG_SET(buffer, in->any<uint32_t>() & 0xfff00);
  }
  return buffer;
}

Harness::Harness(GstHarness* harness) : harness_(harness) {
  gst_harness_set_drop_buffers(harness_, FALSE);
  if (!GST_IS_BIN(element())) {
    watch(element());
  } else {
    for (GList* at = GST_BIN_CHILDREN(element()); at; at = at->next) watch(GST_ELEMENT(at->data));
  }
}

Harness::~Harness() {
  for (GstElement* element : elements_) g_signal_handlers_disconnect_by_data(element, this);
  for (auto& [property, value] : first_) g_value_unset(&value);
  gst_harness_teardown(harness_);
}

void Harness::watch(GstElement* element) {
  elements_.push_back(element);
  guint count = 0;
  GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  for (guint i = 0; i < count; ++i) {
    const bool own = specs[i]->owner_type == G_OBJECT_TYPE(element);
    if (!own || !(specs[i]->flags & G_PARAM_WRITABLE)) continue;
    GValue* first = &first_[{element, specs[i]}];
    g_object_get_property(G_OBJECT(element), specs[i]->name, first);
  }
  g_free(specs);
  const auto note = [](GstElement* object, GParamSpec* spec, gpointer self) {
    static_cast<Harness*>(self)->changed_.insert({object, spec});
  };
  g_signal_connect(element, "notify", G_CALLBACK(+note), this);
}

void Harness::rest(GstState state) {
  flush();  // the harness's own pads, too, are at an end of stream after one
  gst_element_set_state(element(), state);
  const std::set<ElementProperty> changed = std::move(changed_);
  for (const ElementProperty& property : changed) {
    const auto first = first_.find(property);
    if (first == first_.end()) continue;
    g_object_set_property(G_OBJECT(property.first), property.second->name, &first->second);
  }
  changed_.clear();
  drop_output();
  fuzz::reuse_memory();
}

void Harness::play() {
  gst_element_set_state(element(), GST_STATE_PLAYING);
}

void Harness::begin_anew() {
  rest(GST_STATE_READY);
  play();
}

bool Harness::begin(const GstCaps* caps) {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness_, gst_event_new_stream_start("fuzz"));
  const bool taken =
      gst_harness_push_event(harness_, gst_event_new_caps(const_cast<GstCaps*>(caps)));
  gst_harness_push_event(harness_, gst_event_new_segment(&segment));
  return taken;
}

GstFlowReturn Harness::push(GstBuffer* buffer) {
  GST_BUFFER_OFFSET(buffer) = flushes_;
  const GstFlowReturn flow = gst_harness_push(harness_, buffer);
  drop_output();
  return flow;
}

void play_video(FuzzedData* in, int most, Harness* harness,
                const std::function<GstBuffer*(const GstVideoInfo& info)>& make) {
  GstVideoInfo info;
  const gst::CapsPtr caps = any_video_caps(in, &info);
  const bool taken = harness->begin(caps.get());
  for (int i = 0; i < most && (i == 0 || in->left() > 0); ++i) {
    const GstFlowReturn flow = harness->push(make(info));
    if (taken && flow == GST_FLOW_OK) ++accepted;
  }
}

void Harness::flush() {
  gst_harness_push_event(harness_, gst_event_new_flush_start());
  drop_output();
  ++flushes_;
  gst_harness_push_event(harness_, gst_event_new_flush_stop(TRUE));
}

void Harness::drain() {
  const gst::QueryPtr query(gst_query_new_drain());
  gst_pad_peer_query(harness_->srcpad, query.get());
}

void Harness::drop_output() {
  while (GstBuffer* out = gst_harness_try_pull(harness_)) {
    const guint64 flushes = GST_BUFFER_OFFSET(out);
    expect(flushes == flushes_ || flushes == GST_BUFFER_OFFSET_NONE,
           "a frame comes out behind the flush that should have dropped it");
    gst_buffer_unref(out);
  }
  while (GstEvent* event = gst_harness_try_pull_event(harness_)) gst_event_unref(event);
  while (GstEvent* event = gst_harness_try_pull_upstream_event(harness_)) gst_event_unref(event);
}

}  // namespace dvnn::fuzz
