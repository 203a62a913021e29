// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvaudio
 * @title: dvaudio
 * @short_description: cuts sound into the windows that a network takes
 *
 * dvaudio makes a buffer of each window of samples that a network is shown: 32-bit floats from -1
 * to 1, times #GstDvAudio:scale. dvinfer says how many samples its network takes, so
 * #GstDvAudio:window need not be set. Windows follow each other without gaps, unless
 * #GstDvAudio:hop says otherwise. dvinfer attaches the outputs to them, dvdecode makes them
 * classifications, and dvpublish sends these away.
 *
 * What comes is one channel of #GstDvAudio:rate samples in a second; audioconvert and audioresample
 * make that of any sound. Spectra that a model wants are layers of the network.
 *
 * A window's time is exactly that of its first sample, counted from the stream's first one, and its
 * duration that of its samples of the stream: silence before the stream's first sample
 * (#GstDvAudio:lead) and after its last (#GstDvAudio:pad-end) has no time. If samples are missing
 * (a gap of more than 40 ms, a flush, another segment), windows begin anew with the flag DISCONT,
 * by which a network with a memory forgets it.
 *
 * Windows may overlap, so their caps, `audio/x-raw(meta:GstDvWindow)`, keep them from elements that
 * would play them.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=speech.wav ! decodebin ! audioconvert ! audioresample ! dvaudio
 * hop=512 lead=64 ! dvinfer network=vad.dvn ! dvdecode post-messages=true ! fakesink
 * ]| Tells of each 32 ms of a file how likely somebody speaks.
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <gst/audio/audio.h>
#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/format.h"
#include "elements/dvaudio/audiowindows.h"
#include "elements/objectclass.h"
#include "errors.h"
#include "frames/caps.h"
#include "infer/tensorrequest.h"
#include "properties.h"
#include "refs.h"

GST_DEBUG_CATEGORY(dv_audio_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_audio_debug

namespace dvnn::gst {

struct AudioSettings {
  guint rate = 16000;  // of samples in a second; 0: any
  // Of windows, in samples.
  guint window = 0;  // 0: as many as the network takes
  guint hop = 0;     // 0: as long as the window
  guint lead = 0;
  gdouble scale = 1;
  bool pad_end = true;
};

static Properties<AudioSettings> audio_properties() {
  using S = AudioSettings;
  constexpr guint kMostSamples = 1 << 24, kMostRate = 768000;
  constexpr gdouble kMostScale = 1e6;
  Properties<S> rows;
  rows.number(&S::rate, When::kReady, 0, kMostRate,
              {"rate", "Rate", "Samples in a second that the network was trained with; 0 for any"});
  rows.number(&S::window, When::kReady, 0, kMostSamples,
              {"window", "Window", "Samples of a window; 0 for as many as the network takes"});
  rows.number(&S::hop, When::kReady, 0, kMostSamples,
              {"hop", "Hop",
               "Samples from the beginning of a window to that of the next; 0 for a window's"});
  rows.number(&S::lead, When::kReady, 0, kMostSamples,
              {"lead", "Lead",
               "Samples of silence before the stream's first one, which the first window begins "
               "with"});
  rows.number(&S::scale, When::kReady, -kMostScale, kMostScale,
              {"scale", "Scale",
               "Factor of samples from -1 to 1: 32768 for a network that takes 16-bit numbers"});
  rows.boolean(
      &S::pad_end, When::kReady,
      {"pad-end", "Pad end",
       "Complete the stream's last window by silence, instead of leaving its samples out"});
  rows.see_every_frame();
  return rows;
}

G_DECLARE_FINAL_TYPE(GstDvAudio, gst_dv_audio, GST, DV_AUDIO, GstBaseTransform)

struct FreeAlign {
  void operator()(GstAudioStreamAlign* align) const { gst_audio_stream_align_free(align); }
};

struct GstDvAudioPrivate {
  AudioSettings settings;  // under the object lock
  std::atomic<guint64> latency{0};
  // Streaming thread only.
  AudioSettings used;  // those of this stream
  GstAudioInfo info;
  std::unique_ptr<GstAudioStreamAlign, FreeAlign> align;
  AudioWindows windows;
  GstClockTime begin = 0;  // time of the first sample since windows began
  guint64 samples = 0;     // since then
  bool begins = true;      // whether the next window is the first
};

struct _GstDvAudio {
  GstBaseTransform parent;
  GstDvAudioPrivate* priv;
};

G_DEFINE_TYPE(GstDvAudio, gst_dv_audio, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvaudio, "dvaudio", GST_RANK_NONE, gst_dv_audio_get_type())

#define DVNN_SAMPLES_CAPS \
  "audio/x-raw, format=(string){ " GST_AUDIO_NE(F32) ", " GST_AUDIO_NE(S16) " }, "      \
  "layout=(string)interleaved, channels=(int)1, rate=(int)[ 1, 2147483647 ]"

static GstStaticPadTemplate dv_audio_sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_SAMPLES_CAPS));
static GstStaticPadTemplate dv_audio_src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_WINDOWS_CAPS));

// --- negotiation -------------------------------------------------------------------------------

// The rate is that of either side, and the property's.
static GstCaps* gst_dv_audio_transform_caps(GstBaseTransform* trans, GstPadDirection direction,
                                            GstCaps* caps, GstCaps* filter) {
  guint wanted = 0;
  {
    const ObjectLock lock(trans);
    wanted = GST_DV_AUDIO(trans)->priv->settings.rate;
  }
  CapsPtr result(gst_caps_new_empty());
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GValue* rate = gst_structure_get_value(gst_caps_get_structure(caps, i), "rate");
    CapsPtr other(
        gst_caps_from_string(direction == GST_PAD_SINK ? DVNN_WINDOWS_CAPS : DVNN_SAMPLES_CAPS));
    if (rate) gst_caps_set_value(other.get(), "rate", rate);
    if (wanted > 0) {
      CapsPtr own = ref(other.get());
      own.reset(gst_caps_make_writable(own.release()));
      gst_caps_set_simple(own.get(), "rate", G_TYPE_INT, static_cast<gint>(wanted), nullptr);
      other.reset(gst_caps_intersect(other.get(), own.get()));
    }
    result.reset(gst_caps_merge(result.release(), other.release()));
  }
  return filter ? gst_caps_intersect_full(filter, result.get(), GST_CAPS_INTERSECT_FIRST)
                : result.release();
}

static void gst_dv_audio_begin_anew(GstDvAudio* self) {
  GstDvAudioPrivate& priv = *self->priv;
  priv.windows.begin();
  priv.samples = 0;
  priv.begins = true;
  if (priv.align) gst_audio_stream_align_mark_discont(priv.align.get());
}

static gboolean gst_dv_audio_set_caps(GstBaseTransform* trans, GstCaps* in, GstCaps*) {
  GstDvAudio* self = GST_DV_AUDIO(trans);
  GstDvAudioPrivate& priv = *self->priv;
  if (!gst_audio_info_from_caps(&priv.info, in)) return FALSE;
  constexpr GstClockTime kTolerated = 40 * GST_MSECOND;  // of times that do not fit the samples
  priv.align.reset(gst_audio_stream_align_new(GST_AUDIO_INFO_RATE(&priv.info), kTolerated, 0));
  gst_dv_audio_begin_anew(self);
  return TRUE;
}

// Returns the lengths of windows, from the properties and from what dvinfer asks for.
static Result<WindowRule> gst_dv_audio_rule(const AudioSettings& settings,
                                            const std::optional<TensorRequest>& request) {
  WindowRule rule = {settings.window, settings.hop, settings.lead};
  if (request) {
    DVNN_ASSIGN(const size_t wanted, samples_of_input(request->desc));
    if (rule.window == 0) rule.window = wanted;
    if (rule.window != wanted) {
      return invalid_argument(
          format("property 'window': %zu samples, and the network takes %zu; 0 "
                 "is always right with a dvinfer",
                 rule.window, wanted));
    }
  }
  if (rule.window == 0) {
    return invalid_argument(
        "no dvinfer downstream says how many samples its network takes: put dvaudio directly "
        "before it, or set the property 'window'");
  }
  if (rule.hop == 0) rule.hop = rule.window;
  if (rule.lead >= rule.window) {
    return invalid_argument(
        format("property 'lead': %zu samples of silence fill the first window, "
               "which has %zu; it needs one of sound",
               rule.lead, rule.window));
  }
  return rule;
}

static GstClockTime gst_dv_audio_time_of(const GstDvAudioPrivate& priv, gint64 sample) {
  return gst_util_uint64_scale(static_cast<guint64>(sample), GST_SECOND,
                               static_cast<guint64>(GST_AUDIO_INFO_RATE(&priv.info)));
}

// Called with what downstream answers, after caps and whenever downstream has changed. After an
// error there are no windows, and the next buffer ends the stream: if negotiation failed, the base
// would repeat it for each buffer.
static void gst_dv_audio_plan(GstDvAudio* self, GstQuery* query) {
  GstDvAudioPrivate& priv = *self->priv;
  {
    const ObjectLock lock(self);
    priv.used = priv.settings;
  }
  auto rule = gst_dv_audio_rule(priv.used, get_tensor_request(query));
  if (!rule.ok()) {
    const bool caps_differ = rule.error().code == ErrorCode::kMalformed;
    post_error(GST_ELEMENT(self), caps_differ ? Topic::kData : Topic::kSettings, rule.error());
    return priv.windows.configure({});
  }
  if (rule.value() == priv.windows.rule()) return;
  priv.windows.configure(rule.value());
  gst_dv_audio_begin_anew(self);
  GST_INFO_OBJECT(self,
                  "windows of %zu samples, each %zu after the one before, the first with %zu "
                  "zeros",
                  rule.value().window, rule.value().hop, rule.value().lead);
  const auto held = static_cast<gint64>(rule.value().window - rule.value().lead);
  if (priv.latency.exchange(gst_dv_audio_time_of(priv, held)) != priv.latency) {
    gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
  }
}

static gboolean gst_dv_audio_decide_allocation(GstBaseTransform* trans, GstQuery* query) {
  return guard(trans, "no windows can be planned", FALSE, [&]() -> gboolean {
    gst_dv_audio_plan(GST_DV_AUDIO(trans), query);
    return TRUE;
  });
}

// Samples are copied, so that upstream may use any memory.
static gboolean gst_dv_audio_propose_allocation(GstBaseTransform*, GstQuery*, GstQuery*) {
  return TRUE;
}

// --- data --------------------------------------------------------------------------------------

// Notes the time of a buffer's samples, and begins anew if it does not follow the one before.
static void gst_dv_audio_note_time(GstDvAudio* self, GstBuffer* buffer, gboolean is_discont,
                                   guint count) {
  GstDvAudioPrivate& priv = *self->priv;
  GstClockTime time = GST_BUFFER_PTS(buffer);
  if (!GST_CLOCK_TIME_IS_VALID(time)) {
    // Samples without a time follow those before, or begin at 0.
    if (!is_discont || priv.samples == 0) {
      if (priv.samples == 0) priv.begin = 0;
      return;
    }
    time = priv.begin + gst_dv_audio_time_of(priv, static_cast<gint64>(priv.samples));
  }
  GstClockTime begin = 0, duration = 0;
  guint64 position = 0;
  if (!gst_audio_stream_align_process(priv.align.get(), is_discont, time, count, &begin, &duration,
                                      &position)) {
    return;
  }
  GST_DEBUG_OBJECT(self, "windows begin anew at %" GST_TIME_FORMAT, GST_TIME_ARGS(begin));
  priv.windows.begin();
  priv.samples = 0;
  priv.begins = true;
  priv.begin = begin;
}

static GstFlowReturn gst_dv_audio_take(GstDvAudio* self, gboolean is_discont, GstBuffer* buffer) {
  GstDvAudioPrivate& priv = *self->priv;
  if (priv.windows.rule().window == 0) return GST_FLOW_ERROR;  // which was posted
  const BufferMap map(buffer, GST_MAP_READ);
  if (!map.ok()) {
    post_error(GST_ELEMENT(self), Topic::kData,
               {ErrorCode::kDevice, "the samples' memory cannot be mapped"});
    return GST_FLOW_ERROR;
  }
  const auto size = static_cast<size_t>(GST_AUDIO_INFO_BPF(&priv.info));
  const size_t count = map.size() / size;
  if (count * size != map.size()) {
    post_error(
        GST_ELEMENT(self), Topic::kData,
        malformed(format("a buffer of %zu bytes came, and samples have %zu", map.size(), size)));
    return GST_FLOW_ERROR;
  }
  gst_dv_audio_note_time(self, buffer, is_discont, static_cast<guint>(count));
  float* to = priv.windows.extend(count);
  priv.samples += count;
  const uint8_t* from = map.data();
  constexpr double kFullScale = 32768;  // of 16-bit samples
  for (size_t i = 0; i < count; ++i, from += size) {
    double value = 0;
    if (GST_AUDIO_INFO_FORMAT(&priv.info) == GST_AUDIO_FORMAT_F32) {
      float sample;
      std::memcpy(&sample, from, sizeof sample);
      value = double{sample};
    } else {
      int16_t sample;
      std::memcpy(&sample, from, sizeof sample);
      value = sample / kFullScale;
    }
    to[i] = static_cast<float>(value * priv.used.scale);
  }
  return GST_FLOW_OK;
}

// The base keeps the buffer once it has negotiated. It says `held_discont` of every buffer until
// one has left, although only the first is an interruption: a window takes many.
static GstFlowReturn gst_dv_audio_submit(GstBaseTransform* trans, gboolean held_discont,
                                         GstBuffer* input) {
  auto* parent = GST_BASE_TRANSFORM_CLASS(gst_dv_audio_parent_class);
  const gboolean is_discont = GST_BUFFER_IS_DISCONT(input);
  const GstFlowReturn flow = parent->submit_input_buffer(trans, held_discont, input);
  if (flow != GST_FLOW_OK || !trans->queued_buf) return flow;
  const BufferPtr buffer(std::exchange(trans->queued_buf, nullptr));
  return guard(trans, "the samples cannot be taken", GST_FLOW_ERROR,
               [&] { return gst_dv_audio_take(GST_DV_AUDIO(trans), is_discont, buffer.get()); });
}

// Returns the next window, or the rest at the end of the stream; null if there is none.
static Result<BufferPtr> gst_dv_audio_window(GstDvAudio* self, bool rest) {
  GstDvAudioPrivate& priv = *self->priv;
  const size_t bytes = priv.windows.rule().window * sizeof(float);
  BufferPtr window = allocate_buffer(bytes);
  if (!window) {
    return Error{ErrorCode::kNoMemory, format("no memory for a window of %zu bytes", bytes)};
  }
  std::optional<WindowPlace> place;
  {
    const BufferMap map(window.get(), GST_MAP_WRITE);
    if (!map.ok()) return Error{ErrorCode::kDevice, "a window's memory cannot be mapped"};
    auto* to = reinterpret_cast<float*>(map.data());
    place = rest ? priv.windows.rest(to) : priv.windows.next(to);
  }
  if (!place) return BufferPtr();
  const GstClockTime first = gst_dv_audio_time_of(priv, place->first);
  GST_BUFFER_PTS(window.get()) = priv.begin + first;
  GST_BUFFER_DURATION(window.get()) = gst_dv_audio_time_of(priv, place->end) - first;
  GST_BUFFER_OFFSET(window.get()) = static_cast<guint64>(place->first);
  GST_BUFFER_OFFSET_END(window.get()) = static_cast<guint64>(place->end);
  if (std::exchange(priv.begins, false)) GST_BUFFER_FLAG_SET(window.get(), GST_BUFFER_FLAG_DISCONT);
  GST_LOG_OBJECT(self, "window of samples %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, place->first,
                 place->end);
  return window;
}

static GstFlowReturn gst_dv_audio_generate(GstBaseTransform* trans, GstBuffer** out) {
  *out = nullptr;
  GstDvAudio* self = GST_DV_AUDIO(trans);
  return guard(trans, "no window can be made", GST_FLOW_ERROR, [&] {
    if (self->priv->windows.rule().window == 0) return GST_FLOW_OK;
    auto window = gst_dv_audio_window(self, false);
    if (window.ok()) {
      *out = window.value().release();
      return GST_FLOW_OK;
    }
    post_error(GST_ELEMENT(self), Topic::kData, window.error());
    return GST_FLOW_ERROR;
  });
}

// Never called. Without it, the base would take the element for one that works in place, for which
// it negotiates no allocation.
static GstFlowReturn gst_dv_audio_transform(GstBaseTransform*, GstBuffer*, GstBuffer*) {
  return GST_FLOW_NOT_SUPPORTED;
}

// --- events and queries ------------------------------------------------------------------------

// Sends the samples that no window has yet. After an error downstream, whole windows are left, too.
static void gst_dv_audio_drain(GstDvAudio* self) {
  GstDvAudioPrivate& priv = *self->priv;
  if (!priv.used.pad_end || priv.windows.rule().window == 0) return;
  guard(self, "the last window cannot be made", FALSE, [&]() -> gboolean {
    while (true) {
      auto window = gst_dv_audio_window(self, true);
      if (!window.ok()) {
        post_error(GST_ELEMENT(self), Topic::kData, window.error());
        return FALSE;
      }
      GstPad* const pad = GST_BASE_TRANSFORM_SRC_PAD(self);
      if (!window.value() || gst_pad_push(pad, window.value().release()) != GST_FLOW_OK)
        return TRUE;
    }
  });
}

static gboolean gst_dv_audio_sink_event(GstBaseTransform* trans, GstEvent* event) {
  GstDvAudio* self = GST_DV_AUDIO(trans);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_EOS:
      gst_dv_audio_drain(self);
      gst_dv_audio_begin_anew(self);
      break;
    case GST_EVENT_FLUSH_STOP:
    case GST_EVENT_SEGMENT:
    case GST_EVENT_STREAM_START:
      gst_dv_audio_begin_anew(self);
      break;
    default:
      break;
  }
  return GST_BASE_TRANSFORM_CLASS(gst_dv_audio_parent_class)->sink_event(trans, event);
}

// dvinfer has another network, or other slots: ask it again.
static gboolean gst_dv_audio_src_event(GstBaseTransform* trans, GstEvent* event) {
  if (!is_request_changed_event(event)) {
    return GST_BASE_TRANSFORM_CLASS(gst_dv_audio_parent_class)->src_event(trans, event);
  }
  const EventPtr answered(event);
  gst_base_transform_reconfigure_src(trans);
  return TRUE;
}

// A window leaves when its last sample has come.
static gboolean gst_dv_audio_query(GstBaseTransform* trans, GstPadDirection direction,
                                   GstQuery* query) {
  if (!GST_BASE_TRANSFORM_CLASS(gst_dv_audio_parent_class)->query(trans, direction, query)) {
    return FALSE;
  }
  if (direction != GST_PAD_SRC || GST_QUERY_TYPE(query) != GST_QUERY_LATENCY) return TRUE;
  gboolean live = FALSE;
  GstClockTime least = 0, most = GST_CLOCK_TIME_NONE;
  gst_query_parse_latency(query, &live, &least, &most);
  const GstClockTime own = GST_DV_AUDIO(trans)->priv->latency;
  gst_query_set_latency(query, live, least + own,
                        GST_CLOCK_TIME_IS_VALID(most) ? most + own : most);
  return TRUE;
}

static gboolean gst_dv_audio_stop(GstBaseTransform* trans) {
  GstDvAudioPrivate& priv = *GST_DV_AUDIO(trans)->priv;
  priv.align.reset();
  priv.windows.configure({});
  priv.latency = 0;
  return TRUE;
}

// --- set-up ------------------------------------------------------------------------------------

static void gst_dv_audio_init(GstDvAudio* self) {
  self->priv = new GstDvAudioPrivate();
  gst_audio_info_init(&self->priv->info);
}

static void gst_dv_audio_class_init(GstDvAudioClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_audio_debug, "dvaudio", 0, "Windows of sound");
  own_private<GstDvAudio>(object_class);
  own_properties<GstDvAudio, made_once<audio_properties>>(object_class);
  gst_element_class_set_static_metadata(
      element_class, "DV windows of sound", "Filter/Converter/Audio",
      "Cuts sound into the windows of samples that dvinfer's network takes", "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &dv_audio_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_audio_src_template);
  trans_class->transform_caps = GST_DEBUG_FUNCPTR(gst_dv_audio_transform_caps);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_dv_audio_set_caps);
  trans_class->decide_allocation = GST_DEBUG_FUNCPTR(gst_dv_audio_decide_allocation);
  trans_class->propose_allocation = GST_DEBUG_FUNCPTR(gst_dv_audio_propose_allocation);
  trans_class->submit_input_buffer = GST_DEBUG_FUNCPTR(gst_dv_audio_submit);
  trans_class->generate_output = GST_DEBUG_FUNCPTR(gst_dv_audio_generate);
  trans_class->transform = GST_DEBUG_FUNCPTR(gst_dv_audio_transform);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_dv_audio_sink_event);
  trans_class->src_event = GST_DEBUG_FUNCPTR(gst_dv_audio_src_event);
  trans_class->query = GST_DEBUG_FUNCPTR(gst_dv_audio_query);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_dv_audio_stop);
}

}  // namespace dvnn::gst
