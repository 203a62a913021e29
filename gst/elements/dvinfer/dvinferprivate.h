// SPDX-License-Identifier: Apache-2.0
// The definitions that dvinfer's files share: the element (properties, states; dvinfer.cpp), its
// networks (dvinfernetworks.cpp), its sink pad (dvinfersink.cpp), its source pad (dvinfersrc.cpp),
// results that come late (dvinferlate.cpp) and caps (dvinfercaps.cpp).
#pragma once

#include <gst/video/video.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/cancel.h"
#include "elements/dvinfer/dvinfer.h"
#include "elements/dvinfer/infersettings.h"
#include "frames/frameconverter.h"
#include "frames/tensorinput.h"
#include "frames/tensoroutput.h"
#include "infer/inferqueue.h"
#include "infer/intake.h"
#include "infer/lateresults.h"
#include "infer/networkloader.h"
#include "meta/viewmeta.h"

GST_DEBUG_CATEGORY_EXTERN(gst_dv_infer_debug);

struct GstDvInferWorker;

using LoadedPtr = std::shared_ptr<dvnn::gst::LoadedNetwork>;

struct GstDvInferPrivate {
  // Under the object lock.
  struct {
    dvnn::gst::InferSettings settings;
    LoadedPtr loaded;  // from READY on
    LoadedPtr next;    // loaded while playing: it takes over with the next frame
    guint loads = 0;   // how many loads were asked for, so that the newest wins
    std::shared_ptr<dvnn::Cancellation> newest_load;  // of these; the others are cancelled
    std::shared_ptr<dvnn::Cancellation> opening;      // what a change of state waits for
    bool started = false;                             // from PAUSED on
    GstClockTime upstream = 0;                        // the least upstream latency, as last queried
  } shared;
  // Loads that are under way while playing: NULL waits for them.
  struct {
    std::mutex mutex;
    std::condition_variable ended;
    int under_way = 0;
  } loading;
  // Sink pad's streaming thread only.
  struct {
    GstVideoInfo video;
    bool have_video = false;
    bool tensors_in = false, tensors_out = false;           // streams of tensors (dvinfercaps.cpp)
    std::unique_ptr<dvnn::gst::TensorInput> tensor_input;   // of one that comes
    std::shared_ptr<const dvnn::gst::TensorOutput> output;  // of one that leaves
    bool announced = false;  // groups of tensors, in the caps of the frames that leave
    // Converts frames that no dvconvert has converted.
    dvnn::gst::RegionConverters converters;
    LoadedPtr converters_of;
    GstSegment segment;
  } sink;
  // Source pad's task only.
  gint64 stats_posted_us = 0;
  dvnn::gst::LateResults late;
  std::weak_ptr<dvnn::gst::LoadedNetwork> late_of;  // the network whose results these are
  guint outputs_pushed = 0;  // frames with outputs, until the element has looked for readers
#ifdef DVNN_HAVE_TENSORS
  dvnn::image::Size out_size;  // of the frames that leave
  bool groups_asked = false;   // by a decoder's caps (tensorgroups.h)
  dvnn::gst::TensorExporter exporter;
  bool export_failed = false;  // which has been told
#endif
  // Valid from the start on.
  int64_t first_run_us = 0;                // 0: not known
  std::atomic<guint> fps_n{30}, fps_d{1};  // the stream's frame rate, or a guess
  // Valid from PAUSED on. Code outside the sink pad's stream lock, and outside the threads that the
  // stop waits for, gets it from gst_dv_infer_queue().
  std::shared_ptr<dvnn::gst::InferQueue> queue;
  std::vector<GstDvInferWorker*> workers;
  // Thread safe by itself; dvconvert uses it, too.
  std::shared_ptr<dvnn::gst::Intake> intake = std::make_shared<dvnn::gst::Intake>();
};

struct _GstDvInfer {
  GstElement parent;
  GstPad* sinkpad;
  GstPad* srcpad;
  GstDvInferPrivate* priv;
};

/// A copy of the settings, and of what frames need of them.
dvnn::gst::InferSettings gst_dv_infer_settings(GstDvInfer* self);
dvnn::gst::InferRules gst_dv_infer_rules(GstDvInfer* self);
/// The queue, or null below PAUSED: queries and events come at any time.
std::shared_ptr<dvnn::gst::InferQueue> gst_dv_infer_queue(GstDvInfer* self);
/// The network that frames are run on now, or null.
LoadedPtr gst_dv_infer_loaded(GstDvInfer* self);
/// Posts `error` and says which settings it may be about.
void gst_dv_infer_post_error(GstDvInfer* self, dvnn::gst::Topic topic, const dvnn::Error& error);

// --- dvinfernetworks.cpp ---
/// Posts why a network cannot be loaded; a cancelled load is not reported, because whoever
/// cancelled it knows.
void gst_dv_infer_fail_to_load(GstDvInfer* self, dvnn::gst::Topic topic, const dvnn::Error& error);
/// Loads what the settings name, if it is not there already. Returns false once that was reported.
gboolean gst_dv_infer_open(GstDvInfer* self,
                           const std::shared_ptr<dvnn::Cancellation>& cancellation);
/// The network's slots.
dvnn::Result<std::shared_ptr<dvnn::gst::SlotPool>> gst_dv_infer_make_pool(
    const LoadedPtr& loaded, const dvnn::gst::InferSettings& settings,
    const std::shared_ptr<dvnn::Cancellation>& cancellation);
/// Lets go of what the device has to be told of. If it does not answer, a thread is left behind.
void gst_dv_infer_let_go(GstDvInfer* self, std::vector<std::shared_ptr<void>> held);
/// Waits for loads that are under way and lets go of the networks.
void gst_dv_infer_close(GstDvInfer* self);
/// Starts loading the network that was named while playing, if `specs` are about it and it is new.
void gst_dv_infer_follow_settings(GstDvInfer* self, guint count, GParamSpec** specs);

// --- dvinfercaps.cpp ---
// The caps of the sink pad (`sink`) or the source pad that the other side and the network allow.
// The spelling of dimensions follows `filter`, which may be null. (transfer full)
GstCaps* gst_dv_infer_get_caps(GstDvInfer* self, bool sink, const GstCaps* filter);
/// Takes the sink pad's new caps and decides what leaves; kMalformed if they do not fit. `out` are
/// the caps of the source pad.
dvnn::Status gst_dv_infer_take_caps(GstDvInfer* self, GstCaps* caps, dvnn::gst::CapsPtr* out);
/// Answers a CAPS query of the sink pad (`sink`) or the source pad.
gboolean gst_dv_infer_answer_caps(GstDvInfer* self, GstQuery* query, bool sink);
/// The same for an ACCEPT_CAPS query of the sink pad.
gboolean gst_dv_infer_answer_accept_caps(GstDvInfer* self, GstQuery* query);
/// Switches to another network, given the sink pad's caps, or says why that is impossible. `out`
/// receives new caps of the source pad, or null if the caps stay.
dvnn::Status gst_dv_infer_take_swap(GstDvInfer* self, const dvnn::gst::LoadedNetwork& to,
                                    dvnn::gst::CapsPtr* out);

// --- dvinfersink.cpp, dvinfersrc.cpp ---
/// From the first run and the caps: what latency is likely to be, before frames have told.
void gst_dv_infer_estimate_latency(GstDvInfer* self);
void gst_dv_infer_init_sink_pad(GstDvInfer* self);
void gst_dv_infer_init_src_pad(GstDvInfer* self);
void gst_dv_infer_add_sink_template(GstElementClass* klass);
void gst_dv_infer_add_src_template(GstElementClass* klass);
/// Runs a region of an item and takes its outputs: what workers do.
dvnn::Status gst_dv_infer_run(GstDvInfer* self, dvnn::gst::InferItem* item, size_t region);
/// Posts the statistics as an element message.
void gst_dv_infer_post_stats(GstDvInfer* self);
/// Starts or pauses the source pad's task.
void gst_dv_infer_set_task(GstDvInfer* self, bool run);

/// Sees to it that a region has a slot. It is waited for, as slotpool.h says, unless the frame may
/// leave before its results: without a slot, the region has none.
dvnn::Status gst_dv_infer_fill(GstDvInfer* self, GstBuffer* frame, const dvnn::gst::FrameView& view,
                               dvnn::gst::InferItem* item, size_t index);

// --- dvinferlate.cpp ---
/// Whether a frame of those regions may leave before its results; notes by when, and whose they
/// are.
bool gst_dv_infer_may_leave(GstDvInfer* self, GstBuffer* frame, dvnn::gst::InferItem* item);
/// Fills the regions of such a frame for which there are slots, and leaves the others out.
dvnn::Status gst_dv_infer_fill_at_once(GstDvInfer* self, GstBuffer* frame,
                                       const dvnn::gst::FrameView& view,
                                       dvnn::gst::InferItem* item);
/// Adds late results to a frame that leaves, as regions of its own.
void gst_dv_infer_join_late(GstDvInfer* self, const dvnn::gst::InferRules& rules,
                            dvnn::gst::InferItem* item);
/// Drops late results, because they belong to no frame that will come.
void gst_dv_infer_forget_late(GstDvInfer* self);

// --- dvinferworkers.cpp ---
/// Worker threads as GstTasks, announced by STREAM_STATUS messages, so that an application can set
/// their priority as it does for other streaming threads.
void gst_dv_infer_start_workers(GstDvInfer* self, guint count);
/// Ends and joins the workers. A worker that waits for a device that does not answer is left
/// behind; it ends by itself, or never.
void gst_dv_infer_stop_workers(GstDvInfer* self);
