// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/sourceside.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "elements/neighbours.h"
#include "errors.h"
#include "frames/caps.h"
#include "frames/tensoroutput.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "infer/deviceturns.h"
#include "meta/tensordesc.h"
#ifdef DVNN_HAVE_TENSORS
#include "meta/exchange/tensorexport.h"
#endif
#include "refs.h"
#include "times.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_infer_debug

namespace dvnn::gst {

Followed followed_object(const GstDvObject& object) {
  return {object.track_id, object.class_id, {object.x0, object.y0, object.x1, object.y1}};
}

void SourceSide::start() {
  late_.reset();
  stats_posted_us_ = g_get_monotonic_time();
#ifdef DVNN_HAVE_TENSORS
  exporter_.reset();
  export_failed_ = false;
#endif
}

// --- the run -----------------------------------------------------------------------------------

// Returns the memory of one output: a view that keeps the slot, or a copy.
static Result<MemoryPtr> output_memory(const SlotPtr& slot, size_t i, bool as_view) {
  const ConstTensorView view = (*slot)->output(i);
  const size_t size = view.desc.bytes();
  if (as_view) {
    return MemoryPtr(gst_memory_new_wrapped(
        GST_MEMORY_FLAG_READONLY, const_cast<uint8_t*>(view.data), size, 0, size, new SlotPtr(slot),
        [](gpointer held) { delete static_cast<SlotPtr*>(held); }));
  }
  MemoryPtr copy = allocate_memory(size);
  GstMapInfo map;
  if (!copy || !gst_memory_map(copy.get(), &map, GST_MAP_WRITE)) {
    return Error{ErrorCode::kNoMemory, format("no memory for an output of %zu bytes", size)};
  }
  std::memcpy(map.data, view.data, size);
  gst_memory_unmap(copy.get(), &map);
  GST_MINI_OBJECT_FLAG_SET(copy.get(), GST_MEMORY_FLAG_READONLY);
  return copy;
}

// Takes the outputs from the slot: as views if enough slots are free (slotpool.h), else as copies.
static Status take_outputs(const InferItem& item, Region* region) {
  const network::Model& model = item.network->network->model();
  const TensorOutput* stream = item.tensors.get();
  // A late result waits for an unknown time, so it does not hold a slot.
  const bool as_views = item.leave_by_us == 0 && region->slot->pool->plenty();
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    const ConstTensorView output = (*region->slot)->output(i);
    const bool as_it_is = !stream || stream->is_as_it_is(i, output.desc);
    DVNN_ASSIGN(auto memory,
                as_it_is ? output_memory(region->slot, i, as_views) : stream->write(i, output));
    region->outputs.push_back(std::move(memory));
  }
  region->slot.reset();
  return {};
}

Status SourceSide::run(InferItem* item, size_t index) const {
  InferStats& stats = context_.intake()->stats;
  const InferRules rules = context_.rules();
  LoadedNetwork& loaded = *item->network;
  Region& region = item->regions[index];
  const int64_t ready = std::max(item->times.admitted, region.ready_us);
  // Waiting for a turn must not look like a device that does not answer.
  const std::chrono::milliseconds half(rules.watchdog_ms / 2);
  auto turn = DeviceTurns::of_process().take(
      loaded.network->device().library_path(), context_.element(), rules.priority,
      rules.watchdog_ms > 0 ? std::min(half, DeviceTurns::kPatience) : DeviceTurns::kPatience);
  const int64_t waited = g_get_monotonic_time() - ready;
  network::RunTimes times;
  stats.run_begins();
  std::string warning;
  if (item->begins_anew) loaded.memory->begin_anew();
  const Status status = loaded.watch.run(region.slot->slot.get(), loaded.memory.get(), &times,
                                         &warning, item->live.get());
  stats.run_ends(times.queued_us);
  turn.took(std::chrono::microseconds(times.device_us + times.cpu_us));
  stats.time(InferStats::Time::kWaiting, waited + times.queued_us);
  if (!warning.empty()) {
    context_.post_warning(Topic::kData,
                          invalid_argument("network '" + loaded.network->model().name +
                                           "': the results are " + warning));
  }
  region.slot->pool->finished(region.slot);
  if (!status.ok()) return status;
  DVNN_TRY(take_outputs(*item, &region));
  stats.time(InferStats::Time::kDevice, times.device_us);
  stats.time(InferStats::Time::kCpu, times.cpu_us);
  return {};
}

// --- the task ----------------------------------------------------------------------------------

gboolean SourceSide::activate(bool active) {
  const auto queue = context_.queue();
  if (!queue) return !active;  // as in SinkSide::take_event()
  networks_.set_flushing(!active);
  if (active) {
    queue->stop_flush(true);
    return TRUE;
  }
  queue->start_flush();
  return gst_pad_stop_task(context_.srcpad());
}

void SourceSide::set_task(bool run) {
  if (run) {
    gst_pad_start_task(
        context_.srcpad(), [](gpointer self) { static_cast<SourceSide*>(self)->push_next(); }, this,
        nullptr);
  } else {
    gst_pad_pause_task(context_.srcpad());
  }
}

void SourceSide::push_next() {
  GstElement* const element = context_.element();
  const auto queue = context_.queue();
  const ItemPtr item = guard(element, "a frame cannot be given up", ItemPtr(),
                             [&] { return queue->pop(context_.rules().watchdog_ms); });
  if (!item) return;
  const bool is_late = item->late;
  const bool is_event = !is_late && !item->is_frame();
  bool told = true;  // an exception was posted already
  const GstFlowReturn flow = guard(element, "a frame cannot be handed on", GST_FLOW_ERROR, [&] {
    const GstFlowReturn pushed = is_late ? tell_of_late(*item) : push(item.get());
    told = false;
    return pushed;
  });
  const bool ours = told || (flow == GST_FLOW_ERROR && !is_event && !item->status.ok());
  const auto stopped = queue->finish(is_event, flow, ours);
  if (!stopped.stopped) return;
  GST_DEBUG_OBJECT(element, "source pad stops: %s", gst_flow_get_name(stopped.flow));
  // Upstream learns of the stop from its next frame; the application needs a message if none comes.
  if (stopped.fatal) GST_ELEMENT_FLOW_ERROR(element, stopped.flow);
  if (stopped.fatal || ours) gst_pad_push_event(context_.srcpad(), gst_event_new_eos());
}

GstFlowReturn SourceSide::push(InferItem* item) {
  return item->is_frame() ? push_frame(item) : push_event(item);
}

// --- frames ------------------------------------------------------------------------------------

static void attach_region(InferItem* item, guint index, GstBuffer* frame) {
  Region& region = item->regions[index];
  const network::Model& model = item->network->network->model();
  const Shape& input = item->network->network->input_desc().shape;
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, region.outputs.size());
  for (size_t i = 0; i < region.outputs.size(); ++i) {
    const auto& output = model.outputs[i];
    describe_tensor(model.tensor(output.tensor).desc, output.name.c_str(), &meta->tensors[i]);
    meta->tensors[i].data = gst_buffer_new();
    gst_buffer_append_memory(meta->tensors[i].data, region.outputs[i].release());
  }
  meta->network = gst_dv_network_info_ref(item->network->info.get());
  meta->transform = to_public(region.shown.transform);
  const bool own = region.input.width == 0 || region.input.height == 0;
  meta->input_width = static_cast<guint>(own ? input.w() : region.input.width);
  meta->input_height = static_cast<guint>(own ? input.h() : region.input.height);
  meta->region = index;
  meta->region_kind = region.tag.kind;
  meta->region_name = region.tag.name;
  meta->object = region.tag.object;
  meta->predicted = region.predicted;
  const image::Corners& part = region.shown.part;
  meta->x0 = part.x0, meta->y0 = part.y0, meta->x1 = part.x1, meta->y1 = part.y1;
}

// Marks on the frame whether the network has run on it.
static void mark_frame(const InferItem& item, GstBuffer* frame) {
  const auto own = std::count_if(item.regions.begin(), item.regions.end(),
                                 [](const Region& region) { return !region.predicted; });
  const bool inferred = own > 0 || item.nothing_to_see;
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  const guint index =
      gst_dv_objects_meta_add_pass(meta, gst_dv_network_info_get_name(item.network->info.get()),
                                   inferred ? GST_DV_PASS_INFERRED : GST_DV_PASS_SKIPPED);
  gst_dv_objects_meta_get_pass(meta, index)->regions = static_cast<guint>(own);
}

// Returns the frame with its outputs, or a buffer of tensors.
static Result<BufferPtr> finish_frame(InferItem* item) {
  BufferPtr frame(GST_BUFFER_CAST(item->object.release()));
  if (!item->tensors) {
    // A frame that was given up may still be read, for regions that are no longer wanted.
    frame.reset(gst_buffer_make_writable(frame.release()));
    for (guint i = 0; i < item->regions.size(); ++i) attach_region(item, i, frame.get());
    mark_frame(*item, frame.get());
    return frame;
  }
  std::vector<MemoryPtr> outputs;
  for (Region& region : item->regions) {
    for (auto& output : region.outputs) outputs.push_back(std::move(output));
  }
  DVNN_ASSIGN(BufferPtr tensors, stream_buffer(std::move(outputs), item->tensors->stream()));
  copy_times(frame.get(), tensors.get());
  return tensors;
}

GstFlowReturn SourceSide::push_frame(InferItem* item) {
  Intake& intake = *context_.intake();
  const InferRules rules = context_.rules();
  intake.latency.frame_ready(item->times, item->upstream_us);
  if (!item->status.ok() && !handle_failure(rules, item)) {
    return rules.on_error == OnError::kError ? GST_FLOW_ERROR : GST_FLOW_OK;
  }
  if (!item->regions.empty()) intake.stats.count(InferStats::Count::kInferred);
  if (!item->tensors) join_late(rules, item);
  latency_.report(rules);
  report_stats(rules);
  auto out = finish_frame(item);
  if (!out.ok()) {
    item->status = out.error();
    context_.post_error(Topic::kData, out.error());
    return GST_FLOW_ERROR;
  }
  if (!item->tensors) export_tensors(rules, *item, out.value().get());
  GST_LOG_OBJECT(context_.element(), "frame %" G_GUINT64_FORMAT " is pushed, with %zu regions",
                 item->number, item->regions.size());
  const gint64 start = g_get_monotonic_time();
  const GstFlowReturn flow = gst_pad_push(context_.srcpad(), out.value().release());
  intake.latency.blocked(start, g_get_monotonic_time());
  GST_LOG_OBJECT(context_.element(),
                 "frame %" G_GUINT64_FORMAT ": downstream says %s after %lld us", item->number,
                 gst_flow_get_name(flow), static_cast<long long>(g_get_monotonic_time() - start));
  return flow;
}

// Handles a failed frame as on-error says. Returns whether it goes on, without results.
bool SourceSide::handle_failure(const InferRules& rules, InferItem* item) const {
  const Error& error = item->status.error();
  GST_DEBUG_OBJECT(context_.element(), "the frame has failed: %s", error.message.c_str());
  item->regions.clear();
  if (rules.on_error == OnError::kError) {
    context_.post_error(Topic::kData, error);
    return false;
  }
  const bool drop = rules.on_error == OnError::kDrop;
  context_.post_warning(
      Topic::kData, error.within(drop ? "a frame is dropped" : "a frame passes without results"));
  context_.intake()->stats.count(drop ? InferStats::Count::kDropped : InferStats::Count::kPassed);
  // If tensors leave, nothing can be sent in place of results.
  return !drop && !item->tensors;
}

// Attaches the outputs for decoders of other elements, too. An error there does not affect
// dvdecode.
void SourceSide::export_tensors([[maybe_unused]] const InferRules& rules,
                                [[maybe_unused]] const InferItem& item,
                                [[maybe_unused]] GstBuffer* frame) {
#ifdef DVNN_HAVE_TENSORS
  const bool asked = groups_asked_ && rules.tensor_meta == TensorExport::kAuto;
  const TensorExport which = asked ? TensorExport::kAlways : rules.tensor_meta;
  const Status status = exporter_.run(which, item.network->info.get(), out_size_, frame);
  if (status.ok() || std::exchange(export_failed_, true)) return;
  context_.post_warning(Topic::kData,
                        status.error().within("outputs are not attached as GstTensorMeta"));
#endif
}

// --- late results ------------------------------------------------------------------------------

// Takes the late work that was done since the last frame left.
void SourceSide::take_late(const InferRules& rules, const LoadedPtr& network) {
  // Results of another network would be read as this one's.
  if (late_of_.lock() != network) late_.reset();
  late_of_ = network;
  for (const ItemPtr& work : context_.queue()->take_late()) {
    context_.intake()->stats.count(InferStats::Count::kInferred);
    const bool wanted = rules.late_results != LateWhat::kDrop && work->network == network;
    if (wanted) late_.add(work.get());
  }
}

// Adds late results to a frame that leaves, as regions of its own.
void SourceSide::join_late(const InferRules& rules, InferItem* item) {
  GstBuffer* frame = GST_BUFFER_CAST(item->object.get());
  take_late(rules, item->network);
  late_.begin_frame(GST_BUFFER_PTS(frame), *item);
  const GstDvObjectsMeta* meta = late_.empty() ? nullptr : gst_buffer_get_dv_objects_meta(frame);
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->kind != GST_DV_OBJECT_DETECTION || !gst_dv_object_has_box(object)) continue;
    auto region = late_.take(followed_object(*object));
    if (!region) continue;
    region->tag.object = object->id;
    item->regions.push_back(std::move(*region));
    context_.intake()->stats.count(InferStats::Count::kJoined);
  }
}

// Handles late work that has failed; its frame has left.
GstFlowReturn SourceSide::tell_of_late(const InferItem& work) const {
  const Error error = work.status.error().within("a result that was late");
  if (context_.rules().on_error == OnError::kError) {
    context_.post_error(Topic::kData, error);
    return GST_FLOW_ERROR;
  }
  context_.post_warning(Topic::kData, error);
  return GST_FLOW_OK;
}

// --- events that leave -------------------------------------------------------------------------

GstFlowReturn SourceSide::push_event(InferItem* item) {
  EventPtr event(GST_EVENT_CAST(item->object.release()));
  const GstEventType type = GST_EVENT_TYPE(event.get());
  const bool is_eos = type == GST_EVENT_EOS;
  if (is_eos || type == GST_EVENT_STREAM_START || type == GST_EVENT_SEGMENT ||
      type == GST_EVENT_CAPS) {
    // Late results fit no frame after this event.
    context_.queue()->forget_late();
    late_.reset();
  }
  if (type == GST_EVENT_CAPS) note_caps(event.get());
  gst_pad_push_event(context_.srcpad(), event.release());
  return is_eos ? GST_FLOW_EOS : GST_FLOW_OK;
}

void SourceSide::note_caps([[maybe_unused]] GstEvent* event) {
#ifdef DVNN_HAVE_TENSORS
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  out_size_ = frame_size(caps);
  groups_asked_ = has_tensor_groups(caps);
#endif
}

// --- statistics --------------------------------------------------------------------------------

GstStructure* SourceSide::stats() const {
  GstStructure* stats = context_.intake()->stats.to_structure();
  const PoolPtr pool = networks_.pool();
  gst_structure_set(stats, "slots", G_TYPE_UINT, pool ? static_cast<guint>(pool->size()) : 0U,
                    "slots-free", G_TYPE_UINT, pool ? static_cast<guint>(pool->free_count()) : 0U,
                    nullptr);
  return stats;
}

void SourceSide::report_stats(const InferRules& rules) {
  const gint64 now = g_get_monotonic_time();
  if (rules.stats_interval_ms == 0 ||
      now - stats_posted_us_ < gint64{rules.stats_interval_ms} * 1000) {
    return;
  }
  stats_posted_us_ = now;
  context_.post(stats());
}

// --- events and queries from downstream --------------------------------------------------------

gboolean SourceSide::take_event(EventPtr event) {
  if (GST_EVENT_TYPE(event.get()) == GST_EVENT_QOS) take_qos(event.get());
  if (GST_EVENT_TYPE(event.get()) == GST_EVENT_RECONFIGURE) {
    if (const auto queue = context_.queue()) queue->reconfigure();
    return gst_pad_push_event(context_.sinkpad(), event.release());
  }
  return gst_pad_event_default(context_.srcpad(), GST_OBJECT(context_.element()), event.release());
}

void SourceSide::take_qos(GstEvent* event) const {
  GstQOSType type;
  gdouble proportion;
  GstClockTimeDiff diff;
  GstClockTime timestamp;
  gst_event_parse_qos(event, &type, &proportion, &diff, &timestamp);
  // A throttled sink wants fewer frames; none of them is late.
  if (type == GST_QOS_TYPE_THROTTLE || !GST_CLOCK_TIME_IS_VALID(timestamp)) return;
  GST_LOG_OBJECT(context_.element(), "the sink says that a frame was %lld us %s",
                 static_cast<long long>(diff > 0 ? diff : -diff) / 1000,
                 diff > 0 ? "late" : "early");
  // Twice the lateness beyond the timestamp, as GstVideoDecoder does, to catch up.
  context_.intake()->admission.set_earliest(
      diff > 0 ? timestamp + 2 * static_cast<GstClockTime>(diff) : GST_CLOCK_TIME_NONE, proportion);
}

gboolean SourceSide::answer(GstQuery* query) {
  if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS) {
    return negotiation_.answer_caps(query, false, networks_.loaded().get());
  }
  if (asks(query, kInferredQuery)) return TRUE;
  if (!gst_pad_query_default(context_.srcpad(), GST_OBJECT(context_.element()), query)) {
    return FALSE;
  }
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY) latency_.answer(query);
  return TRUE;
}

}  // namespace dvnn::gst
