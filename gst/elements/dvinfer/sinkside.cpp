// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/sinkside.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "infer/slotmeta.h"
#include "meta/metas.h"
#include "meta/movedmeta.h"
#include "times.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_infer_debug

namespace dvnn::gst {

void SinkSide::start() {
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  negotiation_.reset();
  const std::string from = context_.settings().input_from;
  results_ = from.empty() ? std::nullopt : std::make_optional<ResultInput>(from);
  interrupt();
  latency_.estimate(nullptr);
}

void SinkSide::stop() {
  converters_.reset();
  converters_of_.reset();
  results_.reset();
  results_for_.reset();
}

// --- the frame's way ---------------------------------------------------------------------------

GstFlowReturn SinkSide::take(BufferPtr buffer) {
  const auto queue = context_.queue();
  auto item = std::make_shared<InferItem>();
  const GstClockTime time = running_time(segment_, buffer.get());
  GST_LOG_OBJECT(context_.element(), "%" GST_PTR_FORMAT " comes", buffer.get());
  item->object.reset(GST_MINI_OBJECT_CAST(buffer.release()));
  item->times.arrived = g_get_monotonic_time();
  if (!negotiation_.has_caps()) return GST_FLOW_NOT_NEGOTIATED;
  if (const GstFlowReturn flow = queue->flow(); flow != GST_FLOW_OK) return flow;
  if (GST_BUFFER_IS_DISCONT(GST_BUFFER_CAST(item->object.get()))) interrupt();
  networks_.swap(&negotiation_);
  item->network = networks_.loaded();
  item->tensors = negotiation_.output();
  if (!item->tensors && stands_aside()) return pass(item.get());
  item->upstream_us = latency_.upstream_wait(time);
  FrameView view;
  item->status = guarded("the frame cannot be converted", [&]() -> Status {
    DVNN_TRY(results_                      ? choose_of_results(item.get())
             : negotiation_.tensor_input() ? choose_of_tensors(item.get())
                                           : choose(item.get(), &view));
    return item->regions.empty() ? Status() : take_live_inputs(item.get());
  });
  GstBuffer* frame = GST_BUFFER_CAST(item->object.get());
  if (item->status.ok() && !item->regions.empty()) {
    item->status = fill_first(frame, view, item.get());
  }
  const bool first = item->status.ok() && !item->regions.empty() && item->regions[0].slot;
  if (!first) item->regions.clear();
  if (first) continue_stream(item.get());
  // If tensors leave, nothing can be sent in place of results.
  const bool passes = item->regions.empty() && item->status.ok();
  if (passes && item->tensors) return queue->flow();
  const int64_t arrived = item->times.arrived;
  const bool more = item->regions.size() > 1 && item->leave_by_us == 0;
  auto others = more ? ref(frame) : nullptr;
  GstFlowReturn flow =
      queue->push_frame(more ? item : std::move(item), more ? 1 : InferQueue::kAll);
  if (more && flow == GST_FLOW_OK) {
    fill_others(std::move(others), view, item);
    flow = queue->flow();
  }
  queue->wait_while_full();
  context_.intake()->latency.occupied(arrived, g_get_monotonic_time());
  return flow;
}

// What comes next does not follow what came before.
void SinkSide::interrupt() {
  is_continued_ = false;
  if (results_) results_->begin_anew();
}

// Says whether the item's run continues the stream, for a network with a memory. Frames that are
// not inferred change nothing.
void SinkSide::continue_stream(InferItem* item) {
  item->has_memory = network::has_states(item->network->network->model());
  item->begins_anew = !std::exchange(is_continued_, true);
  if (item->has_memory && item->begins_anew) {
    GST_DEBUG_OBJECT(context_.element(), "the stream begins anew: the network's states are zeros");
  }
}

// Reads what the frame brings for the network's live inputs.
Status SinkSide::take_live_inputs(InferItem* item) {
  const network::Model& model = item->network->network->model();
  if (network::live_inputs_text(model).empty()) return {};
  GstBuffer* frame = GST_BUFFER_CAST(item->object.get());
  auto inputs = std::make_shared<network::LiveInputs>(model);
  if (TensorInput* tensors = negotiation_.tensor_input()) {
    DVNN_TRY(tensors->read_live(frame, inputs.get()));
  }
  DVNN_TRY(read_live_inputs(frame, context_.settings().live_numbers, model, inputs.get()));
  item->live = std::move(inputs);
  return {};
}

// Returns whether frames and events pass in the thread that brings them: the element is not active,
// and what was queued before has left. False if they must be queued: it is active, or stops.
bool SinkSide::stands_aside() const {
  return !context_.rules().active && context_.queue()->stand_aside();
}

GstFlowReturn SinkSide::pass(InferItem* item) {
  GstBuffer* frame = gst_buffer_make_writable(GST_BUFFER_CAST(item->object.release()));
  item->object.reset(GST_MINI_OBJECT_CAST(frame));
  if (results_) {
    results_->begin_anew();  // results that pass are missing from the windows
  } else {
    remove_frame_view(frame);
  }
  strip_slots(frame);
  count_passed(Verdict::kPass);
  return source_.push(item);
}

// --- choice of regions -------------------------------------------------------------------------

// Makes the item's regions, with the slots that dvconvert has filled for them. Returns false if
// there is no such slot.
static bool take_slots(GstBuffer* frame, const FrameView& view, InferItem* item) {
  bool any = false;
  item->regions.resize(view.regions ? view.regions->size() : 1);
  while (auto filled = take_slot(frame, item->network->network.get())) {
    const bool ours = filled->slot->pool == item->network->pool.get();
    if (!ours || filled->region >= item->regions.size()) continue;
    Region& region = item->regions[filled->region];
    region.shown = filled->shown;
    region.slot = std::move(filled->slot);
    any = true;
  }
  // No slot leaves with the frame, even one that was not used because it belongs to another
  // network.
  strip_slots(frame);
  for (size_t i = 0; view.regions && i < item->regions.size(); ++i) {
    item->regions[i].tag = (*view.regions)[i].tag;
  }
  return any;
}

// Chooses what to run for a video frame: the regions that `view` receives, in dvconvert's slots or
// in slots that are filled here, or nothing.
Status SinkSide::choose(InferItem* item, FrameView* view) {
  GstBuffer* frame = gst_buffer_make_writable(GST_BUFFER_CAST(item->object.release()));
  item->object.reset(GST_MINI_OBJECT_CAST(frame));
  *view = get_frame_view(frame).value_or(FrameView{});
  if (is_still(frame)) view->verdict = Verdict::kPass;
  remove_frame_view(frame);
  if (view->regions && item->tensors) {
    return unsupported(
        "a buffer of other/tensors is of one region: lists of regions (dvconvert's property "
        "regions) need frames downstream of dvinfer");
  }
  if (view->regions && network::has_states(item->network->network->model())) {
    return unsupported("network '" + item->network->network->model().name +
                       "' has a memory: it looks at one part of each frame, and lists of regions "
                       "(dvconvert's property regions) would mix what it remembers of them");
  }
  if (take_slots(frame, *view, item)) {
    GST_LOG_OBJECT(context_.element(), "the frame comes with tensors: %zu regions",
                   item->regions.size());
    return {};
  }
  item->nothing_to_see = item->regions.empty() && !view->verdict;
  if (item->nothing_to_see) {
    GST_LOG_OBJECT(context_.element(), "the frame passes: it has no regions to look at");
    return {};
  }
  const Verdict verdict = decide(frame, *view, *item->network->pool);
  if (verdict == Verdict::kInfer) {
    GST_LOG_OBJECT(context_.element(),
                   "the frame is to be inferred: %zu regions are converted here",
                   item->regions.size());
    return {};
  }
  item->regions.clear();
  count_passed(verdict);
  if (verdict == Verdict::kLate) post_qos(frame);
  return {};
}

// Chooses what to run for a buffer of a stream of tensors: the buffer's memory if that is a slot,
// or a slot that it is written into, or nothing.
Status SinkSide::choose_of_tensors(InferItem* item) {
  GstBuffer* tensor = GST_BUFFER_CAST(item->object.get());
  const LoadedNetwork& loaded = *item->network;
  TensorInput& input = *negotiation_.tensor_input();
  const auto add_region = [item](SlotPtr slot) {
    item->regions.emplace_back();
    item->regions.back().slot = std::move(slot);
  };
  std::optional<SlotPtr> slot;
  if (input.is_own()) slot = take_slot_memory(tensor, loaded.network.get());
  if (slot && (*slot)->pool == loaded.pool.get()) {
    add_region(std::move(*slot));
    // The tensor would keep the slot beyond its run: pass on only its times and flags.
    GstBuffer* times = gst_buffer_new();
    gst_buffer_copy_into(times, tensor, GST_BUFFER_COPY_METADATA, 0, static_cast<gsize>(-1));
    item->object.reset(GST_MINI_OBJECT_CAST(times));
    return {};
  }
  slot.reset();
  const Verdict verdict = decide(tensor, {}, *loaded.pool);
  if (verdict != Verdict::kInfer) {
    count_passed(verdict);
    return {};
  }
  DVNN_ASSIGN(SlotPtr own, own_slot(*item, true));
  if (!own) return {};
  const gint64 start = g_get_monotonic_time();
  DVNN_TRY(input.read(tensor, (*own)->input().data()));
  context_.intake()->stats.time(InferStats::Time::kConversion, g_get_monotonic_time() - start);
  (*own)->expect_tensor();
  add_region(std::move(own));
  return {};
}

// Returns whether the network upstream has run and had nothing to look at.
static bool saw_nothing(GstBuffer* frame) {
  const GstDvPass* newest = newest_pass(frame);
  return newest && newest->state == GST_DV_PASS_INFERRED && newest->regions == 0;
}

// Chooses what to run for a frame with results of networks upstream: the inputs that these
// complete, in the order of their regions, or nothing. A view is left to the next dvinfer.
Status SinkSide::choose_of_results(InferItem* item) {
  GstBuffer* frame = gst_buffer_make_writable(GST_BUFFER_CAST(item->object.release()));
  item->object.reset(GST_MINI_OBJECT_CAST(frame));
  strip_slots(frame);
  const network::Model& model = item->network->network->model();
  if (results_for_ != item->network) results_->begin_anew();
  results_for_ = item->network;
  DVNN_ASSIGN(item->regions, results_->take(frame, model));
  if (item->regions.size() > 1 && (item->tensors || network::has_states(model))) {
    return unsupported(format(
        "the network upstream looks at %zu regions of a frame, and %s is of one",
        item->regions.size(), item->tensors ? "a buffer of other/tensors" : "a network's memory"));
  }
  item->nothing_to_see = item->regions.empty() && saw_nothing(frame);
  if (item->nothing_to_see) return {};
  const Verdict verdict =
      item->regions.empty() ? Verdict::kPass : decide(frame, {}, *item->network->pool);
  if (verdict == Verdict::kInfer) return {};
  item->regions.clear();
  count_passed(verdict);
  if (verdict == Verdict::kLate) post_qos(frame);
  return {};
}

// Decides whether to infer a frame that brings no tensor.
Verdict SinkSide::decide(GstBuffer* frame, const FrameView& view, const SlotPool& pool) const {
  if (view.verdict && *view.verdict != Verdict::kInfer) return *view.verdict;
  const bool busy = pool.busy() || !context_.queue()->has_room();
  return context_.intake()->admission.decide(running_time(segment_, frame), busy,
                                             view.verdict.has_value());
}

void SinkSide::count_passed(Verdict verdict) const {
  GST_LOG_OBJECT(context_.element(), "the frame passes: %s",
                 verdict == Verdict::kLate ? "the sink would drop its results as late"
                                           : "the rules, or a busy network, leave it out");
  context_.intake()->stats.count(verdict == Verdict::kLate ? InferStats::Count::kLate
                                                           : InferStats::Count::kPassed);
}

// Posts the message as GstBaseTransform does: this frame was skipped, because the sink would drop
// the result.
void SinkSide::post_qos(GstBuffer* frame) const {
  const Intake& intake = *context_.intake();
  const GstClockTime running = running_time(segment_, frame);
  GstMessage* message = gst_message_new_qos(GST_OBJECT(context_.element()), FALSE, running,
                                            stream_time(segment_, frame), GST_BUFFER_PTS(frame),
                                            GST_BUFFER_DURATION(frame));
  const GstClockTime earliest = intake.admission.earliest();
  const gint64 jitter =
      GST_CLOCK_TIME_IS_VALID(earliest) ? GST_CLOCK_DIFF(running, earliest) : gint64{0};
  gst_message_set_qos_values(message, jitter, intake.admission.proportion(), 1000000);
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS,
                            intake.stats.get(InferStats::Count::kInferred),
                            intake.stats.get(InferStats::Count::kLate));
  context_.post(message);
}

// Returns whether the frame may leave before its results; stores by when, and the objects that they
// belong to. Only objects with tracks are found again in later frames.
bool SinkSide::may_leave(GstBuffer* frame, InferItem* item) const {
  const InferRules rules = context_.rules();
  if (!rules.results_may_be_late() || item->tensors) return false;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  if (!meta) return false;
  bool any = false;
  for (Region& region : item->regions) {
    const GstDvObject* object = region.tag.kind == GST_DV_REGION_OBJECT
                                    ? gst_dv_objects_meta_find_object(meta, region.tag.object)
                                    : nullptr;
    if (!object || object->track_id == 0) continue;
    region.followed = followed_object(*object);
    any = true;
  }
  if (any) item->leave_by_us = item->times.arrived + int64_t{rules.late_after_ms} * 1000;
  return any;
}

// --- slots and conversions ---------------------------------------------------------------------

// Fills the first region before the frame is queued. If the frame may leave before its results,
// fills all regions for which there are slots, and leaves out the others.
Status SinkSide::fill_first(GstBuffer* frame, const FrameView& view, InferItem* item) {
  if (!may_leave(frame, item)) return fill(frame, view, item, 0);
  std::vector<Region>& regions = item->regions;
  for (size_t i = 0; i < regions.size(); ++i) {
    // The result of an object without a track would join no later frame.
    if (regions[i].followed.track == 0) {
      regions[i].slot.reset();
    } else {
      DVNN_TRY(fill(frame, view, item, i));
    }
  }
  const auto is_left_out = [](const Region& region) { return !region.slot; };
  regions.erase(std::remove_if(regions.begin(), regions.end(), is_left_out), regions.end());
  if (regions.empty()) context_.intake()->stats.count(InferStats::Count::kPassed);
  return {};
}

// Fills all but the first region of a frame that is in the queue, while workers run those before.
void SinkSide::fill_others(BufferPtr frame, const FrameView& view, const ItemPtr& item) {
  const auto queue = context_.queue();
  const size_t count = item->regions.size();
  for (size_t i = 1; i < count; ++i) {
    Status status = fill(frame.get(), view, item.get(), i);
    // Drop this reference before the last region is done: the frame must then be the source pad's
    // alone.
    if (i + 1 == count || !status.ok()) frame.reset();
    if (!status.ok()) return queue->fail_regions(item, std::move(status));
    if (!item->regions[i].slot) return queue->abandon(item);
    if (!queue->push_region(item)) return;
  }
}

// Converts a region that comes without a tensor, as its view says. Waits for a slot as slotpool.h
// says, unless the frame may leave before its results. Leaves region.slot null if there is none.
Status SinkSide::fill(GstBuffer* frame, const FrameView& view, InferItem* item, size_t index) {
  if (item->regions[index].slot) return {};
  return guarded("the frame cannot be converted", [&] {
    if (results_) return fill_of_values(item, index);
    return convert(frame, view.regions ? (*view.regions)[index].view : view.view, item, index);
  });
}

// Writes results of a network upstream as a region's input.
Status SinkSide::fill_of_values(InferItem* item, size_t index) {
  DVNN_ASSIGN(SlotPtr slot, own_slot(*item, item->leave_by_us == 0));
  if (!slot) return {};
  Region& region = item->regions[index];
  ResultInput::write(std::exchange(region.values, {}), item->network->network->model(),
                     (*slot)->input().data());
  (*slot)->expect_tensor();
  region.ready_us = g_get_monotonic_time();
  region.slot = std::move(slot);
  return {};
}

Status SinkSide::convert(GstBuffer* frame, const image::View& view, InferItem* item, size_t index) {
  const LoadedNetwork& loaded = *item->network;
  if (converters_of_ != item->network) {
    converters_.reset();
    converters_of_ = item->network;
  }
  DVNN_ASSIGN(FrameConverter * converter,
              converters_.get(index, *negotiation_.video(), {loaded.network->input_desc(), {}},
                              loaded.network->model().input.picture, view));
  DVNN_ASSIGN(SlotPtr slot, own_slot(*item, item->leave_by_us == 0));
  if (!slot) return {};
  const gint64 start = g_get_monotonic_time();
  DVNN_TRY(converter->convert(frame, slot->slot.get(), network::InputKind::kTensor));
  Region& region = item->regions[index];
  region.ready_us = g_get_monotonic_time();
  context_.intake()->stats.time(InferStats::Time::kConversion, region.ready_us - start);
  region.shown = converter->shown();
  region.slot = std::move(slot);
  return {};
}

// Takes a slot for a region of `item`. Null if the item is no longer wanted, or if none is free and
// `waits` is false.
Result<SlotPtr> SinkSide::own_slot(const InferItem& item, bool waits) const {
  constexpr std::chrono::milliseconds kTell{100};
  InferStats& stats = context_.intake()->stats;
  SlotPool& pool = *item.network->pool;
  const auto queue = context_.queue();
  const gint64 start = g_get_monotonic_time();
  bool waited = false;
  // An unwanted frame still holds the slots of its regions, perhaps all of the pool: stop waiting.
  while (queue->is_wanted(item)) {
    DVNN_ASSIGN(SlotPool::Taken taken,
                pool.take(SlotPool::Taker::kOwn, waits ? kTell : kTell.zero()));
    if (taken.outcome == SlotPool::Outcome::kFlushing) break;
    if (!waits) return std::move(taken.slot);
    if (taken.waited.count() > 1000 && !std::exchange(waited, true)) {
      stats.count(InferStats::Count::kWaits);
    }
    if (taken.slot) {
      stats.time(InferStats::Time::kWaiting, g_get_monotonic_time() - start);
      return std::move(taken.slot);
    }
    GST_DEBUG_OBJECT(context_.element(), "waiting for a slot for %lld ms; %zu of %zu are free",
                     static_cast<long long>((g_get_monotonic_time() - start) / 1000),
                     pool.free_count(), pool.size());
  }
  return SlotPtr();
}

}  // namespace dvnn::gst
