// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/networks.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "base/format.h"
#include "errors.h"
#include "infer/tensorrequest.h"
#include "infer/watchdog.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_infer_debug

namespace dvnn::gst {
namespace {

// Slots beyond those in flight: one that dvconvert fills, and one that downstream may keep.
constexpr guint kSpareSlots = 2;

SlotCounts slot_counts(const InferSettings& settings) {
  SlotCounts counts;
  counts.shared = settings.max_in_flight + kSpareSlots;
  counts.reserve = settings.max_in_flight;
  counts.busy_limit = settings.max_in_flight;
  counts.watchdog_ms = settings.watchdog_ms;
  return counts;
}

// Loads a network under the watchdog: reading a file may take any time, a device call may not.
Result<LoadedPtr> load_watched(const InferSettings& settings,
                               const std::shared_ptr<Cancellation>& cancellation) {
  return within_watchdog<LoadedPtr>(settings.watchdog_ms,
                                    [wanted = settings.network_settings(), cancellation] {
                                      return load_network(wanted, cancellation.get());
                                    });
}

Result<PoolPtr> make_pool_watched(const LoadedPtr& loaded, const InferSettings& settings,
                                  const std::shared_ptr<Cancellation>& cancellation) {
  const SlotCounts counts = slot_counts(settings);
  return within_watchdog<PoolPtr>(settings.watchdog_ms, [loaded, counts, cancellation] {
    return make_pool(*loaded, counts, cancellation.get());
  });
}

Result<LoadedPtr> load_with_slots(const InferSettings& settings,
                                  const std::shared_ptr<Cancellation>& cancellation) {
  DVNN_ASSIGN(LoadedPtr loaded, load_watched(settings, cancellation));
  DVNN_ASSIGN(loaded->pool, make_pool_watched(loaded, settings, cancellation));
  return loaded;
}

// Runs the network once, so that latency is known before the first frame. If the device does not
// answer, the watchdog will report it with the first frame.
void try_out(GstElement* element, const LoadedPtr& loaded, guint watchdog_ms,
             const Cancellation& cancellation) {
  auto taken = loaded->pool->take(SlotPool::Taker::kUpstream, std::chrono::milliseconds(0));
  if (!taken.ok() || !taken.value().slot) return;
  std::packaged_task<gint64()> run([slot = std::move(taken.value().slot)] {
    const gint64 start = g_get_monotonic_time();
    const Status status = (*slot)->run();
    return status.ok() ? g_get_monotonic_time() - start : gint64{0};
  });
  std::future<gint64> took = run.get_future();
  std::thread thread(std::move(run));
  constexpr guint kLongest = 5000;
  const guint limit = watchdog_ms == 0 ? kLongest : std::min(watchdog_ms, kLongest);
  constexpr std::chrono::milliseconds kLook{20};
  const gint64 until = g_get_monotonic_time() + gint64{limit} * 1000;
  std::future_status status = std::future_status::timeout;
  while (status != std::future_status::ready && g_get_monotonic_time() < until &&
         !cancellation.is_cancelled()) {
    status = took.wait_for(kLook);
  }
  if (status == std::future_status::ready) {
    thread.join();
    loaded->first_run_us = took.get();
  } else {
    GST_WARNING_OBJECT(element, "the device has not answered a first run for %u ms", limit);
    thread.detach();
  }
}

// Releases objects that call the device when they are destroyed. If it does not answer, a thread is
// left behind.
void let_go(const InferContext& context, std::vector<std::shared_ptr<void>> held) {
  const guint watchdog_ms = context.rules().watchdog_ms;
  if (watchdog_ms == 0) return;
  const bool answered =
      run_watched(watchdog_ms, [held = std::move(held)]() mutable { held.clear(); });
  if (answered) return;
  GST_WARNING_OBJECT(context.element(), "the device does not answer: what it has is left behind");
}

// Releases the arguments, which are the last owners. A braced list would keep copies of them.
template <typename... Owner>
void let_go_of(const InferContext& context, Owner... last) {
  std::vector<std::shared_ptr<void>> held;
  (held.push_back(std::move(last)), ...);
  let_go(context, std::move(held));
}

// Posts why a network could not be loaded.
void fail_to_load(const InferContext& context, Topic topic, const Error& error) {
  if (error.code == ErrorCode::kCancelled) {
    GST_INFO_OBJECT(context.element(), "loading was cancelled");
    return;
  }
  const InferSettings s = context.settings();
  const std::string who = named_settings(context.element(), {{"network", s.network},
                                                             {"weights-file", s.weights_file},
                                                             {"input-size", s.input_size},
                                                             {"custom-layers", s.custom_layers},
                                                             {"device", s.device},
                                                             {"live-inputs", s.live_inputs}});
  context.post_error(topic, error.within(who));
}

// Posts a message if a library is installed but did not work; a missing one is not worth one.
void tell_of_device(const InferContext& context, const device::Device& device) {
  g_object_notify(G_OBJECT(context.element()), "active-device");
  for (const device::PassedOver& passed : device.passed_over()) {
    context.post_warning(
        Topic::kSettings,
        Error{ErrorCode::kDevice, "the network runs on the device '" + device.name() + "', as " +
                                      passed.library + " does not work: " + passed.why},
        "`dvnet doctor` looks for the cause; device=" + device.name() +
            " chooses this device without a warning");
  }
}

}  // namespace

LoadedPtr Networks::loaded() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return loaded_;
}

PoolPtr Networks::pool() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return loaded_ ? loaded_->pool : nullptr;
}

void Networks::set_flushing(bool flushing) const {
  if (const PoolPtr slots = pool()) slots->set_flushing(flushing);
}

// --- changes of state --------------------------------------------------------------------------

void Networks::set_opening(CancellationPtr now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  opening_ = std::move(now);
}

void Networks::cancel_opening() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (opening_) opening_->cancel();
}

bool Networks::open() {
  const auto cancellation = std::make_shared<Cancellation>();
  const InferSettings settings = context_.settings();
  set_opening(cancellation);
  const bool good = open_network(settings, cancellation) && has_live_inputs(settings) &&
                    open_pool(settings, cancellation);
  set_opening(nullptr);
  return good;
}

bool Networks::open_network(const InferSettings& settings, const CancellationPtr& cancellation) {
  const NetworkSettings wanted = settings.network_settings();
  {
    const LoadedPtr old = loaded();
    if (old && old->settings == wanted) return true;
  }
  auto opened = load_watched(settings, cancellation);
  if (!opened.ok()) {
    fail_to_load(context_, load_topic(wanted, opened.error()), opened.error());
    return false;
  }
  const network::Network& network = *opened.value()->network;
  GST_INFO_OBJECT(context_.element(), "network '%s' on %s (%s)", network.model().name.c_str(),
                  network.device().library_path().c_str(),
                  network.device().info().description.c_str());
  LoadedPtr replaced = opened.value();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    loaded_.swap(replaced);
  }
  tell_of_device(context_, network.device());
  if (replaced) let_go_of(context_, std::move(replaced));
  return true;
}

// Returns whether the network has the live inputs that the settings name; if not, posts the error.
bool Networks::has_live_inputs(const InferSettings& settings) const {
  const Status status = check_live_numbers(settings.live_numbers, loaded()->network->model());
  if (!status.ok()) fail_to_load(context_, Topic::kSettings, status.error());
  return status.ok();
}

void Networks::set_pool(const LoadedPtr& of, PoolPtr pool) {
  const std::lock_guard<std::mutex> lock(mutex_);
  of->pool = std::move(pool);
}

bool Networks::open_pool(const InferSettings& settings, const CancellationPtr& cancellation) {
  const LoadedPtr of = loaded();
  PoolPtr old = of->pool;
  if (old && old->counts() == slot_counts(settings)) return true;
  set_pool(of, nullptr);
  if (old) let_go_of(context_, std::move(old));
  auto made = make_pool_watched(of, settings, cancellation);
  if (!made.ok()) {
    fail_to_load(context_, Topic::kSettings, made.error());
    return false;
  }
  set_pool(of, std::move(made.value()));
  try_out(context_.element(), of, settings.watchdog_ms, *cancellation);
  return true;
}

void Networks::start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  started_ = true;
}

void Networks::stop(std::shared_ptr<InferQueue> queue, bool workers_ended) {
  LoadedPtr next;
  PoolPtr slots;  // released outside the lock
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    started_ = false;
    ++loads_;
    if (newest_load_) newest_load_->cancel();
    next.swap(next_);
    if (loaded_) {
      slots = loaded_->pool;
      if (!workers_ended) loaded_->pool.reset();
    }
  }
  if (slots) slots->set_flushing(true);
  guard(context_.element(), "the slots cannot be let go of",
        [&] { let_go_of(context_, std::move(queue), std::move(next), std::move(slots)); });
}

void Networks::close() {
  LoadedPtr last, next;  // released outside the lock
  {
    std::unique_lock<std::mutex> lock(mutex_);
    load_ended_.wait(lock, [&] { return under_way_ == 0; });
    last.swap(loaded_);
    next.swap(next_);
  }
  if (!last) return;
  g_object_notify(G_OBJECT(context_.element()), "active-device");
  guard(context_.element(), "the network cannot be let go of",
        [&] { let_go_of(context_, std::move(last), std::move(next)); });
}

// --- while playing -----------------------------------------------------------------------------

struct Networks::AsyncLoad {
  Networks* networks;  // the call keeps the element, and so these
  guint ticket;
};

void Networks::follow_settings(guint count, GParamSpec** specs) {
  const auto is_about_it = [](const GParamSpec* spec) {
    const std::string name = spec->name;
    return name == "network" || name == "weights-file" || name == "input-size";
  };
  if (std::none_of(specs, specs + count, is_about_it)) return;
  auto cancellation = std::make_shared<Cancellation>();
  auto load = std::make_unique<AsyncLoad>(AsyncLoad{this, 0});
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const NetworkSettings wanted = context_.settings().network_settings();
    const LoadedPtr& newest = next_ ? next_ : loaded_;
    if (!started_ || !newest) return;
    // A load under way is for older settings, even if the new ones name the network in use.
    load->ticket = ++loads_;
    if (newest_load_) newest_load_->cancel();
    newest_load_ = std::move(cancellation);
    if (newest->settings == wanted) return;
    ++under_way_;
  }
  const auto run = [](GstElement* element, gpointer data) {
    const AsyncLoad& asked = *static_cast<AsyncLoad*>(data);
    guard(element, "another network cannot be loaded",
          [&] { asked.networks->load_next(asked.ticket); });
    asked.networks->end_load();
  };
  gst_element_call_async(context_.element(), run, load.release(),
                         [](gpointer data) { delete static_cast<AsyncLoad*>(data); });
}

void Networks::end_load() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --under_way_;
  load_ended_.notify_all();
}

// Loads the network that the settings name now, beside the one in use.
void Networks::load_next(guint ticket) {
  CancellationPtr cancellation;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ticket != loads_) return;  // a newer one is on its way
    cancellation = newest_load_;
  }
  const InferSettings settings = context_.settings();
  auto result = load_with_slots(settings, cancellation);
  LoadedPtr replaced;  // released outside the lock
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ticket != loads_ || !started_) return;  // a newer one is on its way
    if (result.ok()) {
      replaced = std::exchange(next_, result.value());
    } else if (loaded_) {
      context_.restore_network(loaded_->settings);
    }
  }
  if (result.ok()) return;
  context_.post_warning(load_topic(settings.network_settings(), result.error()),
                        result.error().within("the network stays as it was"));
  g_object_notify(G_OBJECT(context_.element()), "network");
}

void Networks::swap(Negotiation* negotiation) {
  LoadedPtr next, old;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!next_) return;
    next = std::exchange(next_, nullptr);
    old = loaded_;
  }
  auto caps = negotiation->take_network(*next);
  if (!caps.ok()) {
    context_.restore_network(old->settings);
    return context_.post_warning(Topic::kSettings,
                                 caps.error().within("the network stays as it was"));
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    loaded_ = next;
  }
  // Tells dvconvert of the new slots; it gets none of the old network any more. The caps of frames
  // do not depend on the network, those of tensors do.
  old->pool->set_flushing(true);
  if (caps.value()) {
    context_.queue()->push_event(EventPtr(gst_event_new_caps(caps.value().get())));
  }
  gst_pad_push_event(context_.sinkpad(), negotiation->tensor_input() ? gst_event_new_reconfigure()
                                                                     : new_request_changed_event());
  if (next->network->device().name() != old->network->device().name()) {
    g_object_notify(G_OBJECT(context_.element()), "active-device");
  }
  const std::string& name = next->network->model().name;
  GST_INFO_OBJECT(context_.element(), "network '%s' takes over", name.c_str());
  context_.post(gst_structure_new("network-changed", "network", G_TYPE_STRING,
                                  printable(next->settings.path).c_str(), "name", G_TYPE_STRING,
                                  name.c_str(), nullptr));
}

}  // namespace dvnn::gst
