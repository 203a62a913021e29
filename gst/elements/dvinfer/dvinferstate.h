// SPDX-License-Identifier: Apache-2.0
// The element's state, which dvinfer's files share, and what each of them asks it.
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
#include "errors.h"
#include "frames/frameconverter.h"
#include "frames/tensorinput.h"
#include "frames/tensoroutput.h"
#include "infer/inferqueue.h"
#include "infer/intake.h"
#include "infer/lateresults.h"
#include "infer/networkloader.h"

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
    bool tensors_in = false, tensors_out = false;           // streams of tensors (dvinfercaps.h)
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
void gst_dv_infer_post_error(GstDvInfer* self, dvnn::gst::Topic topic, const dvnn::Error& error,
                             const dvnn::gst::CodePlace& place = dvnn::gst::CodePlace::here());
/// The statistics with what the slots say. (transfer full)
GstStructure* gst_dv_infer_stats(GstDvInfer* self);
/// Posts them as an element message.
void gst_dv_infer_post_stats(GstDvInfer* self);
