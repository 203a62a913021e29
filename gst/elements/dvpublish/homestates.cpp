// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/homestates.h"

#include <utility>

#include "elements/dvpublish/framefacts.h"
#include "publish/pictures.h"

namespace dvnn::gst {
namespace {

// Between two looks at the counts: sooner than anybody looks, and rarer than frames come.
constexpr GstClockTime kBetween = 200 * GST_MSECOND;

}  // namespace

void HomeStates::begin(const publish::Identity& identity, const PublishSettings& settings,
                       Broker broker) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool has_image = settings.snapshot != Snapshot::kNone;
  device_ = std::make_unique<publish::HomeDevice>(identity, settings.discovery_prefix, DVNN_VERSION,
                                                  has_image);
  broker_ = std::move(broker);
  recalls_ = shown_ = removed_ = false;
  untold_.reset();
  due_ = 0;
  config_.clear();
  state_.clear();
}

bool HomeStates::wants_views(const PublishSettings& settings) const {
  return device_ && settings.discovery == Discovery::kHomeAssistant &&
         settings.snapshot != Snapshot::kNone;
}

void HomeStates::see(GstBuffer* frame, GstClockTime time, const PublishSettings& settings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!device_) return;
  if (settings.discovery == Discovery::kRemove) remove();
  if (settings.discovery != Discovery::kHomeAssistant) return;
  auto counts = zone_counts(frame);
  if (counts) untold_ = std::move(*counts);
  const bool has_begun = shown_ && GST_CLOCK_TIME_IS_VALID(time);
  if (has_begun && time < due_ && due_ - time <= kBetween) return;
  if (GST_CLOCK_TIME_IS_VALID(time)) due_ = time + kBetween;
  tell();
}

void HomeStates::see_rest(const PublishSettings& settings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (device_ && shown_ && settings.discovery == Discovery::kHomeAssistant) tell();
}

// Called under the mutex.
void HomeStates::tell() {
  shown_ = true;
  removed_ = false;
  // Before the configuration is replaced.
  if (!std::exchange(recalls_, true)) broker_.recall(device_->config_topic());
  if (untold_) device_->see(*std::exchange(untold_, std::nullopt));
  std::string config = device_->config(), state = device_->state();
  if (config != config_) broker_.keep(device_->config_topic(), config);
  if (state != state_) broker_.keep(device_->state_topic(), state);
  config_ = std::move(config);
  state_ = std::move(state);
}

// Called under the mutex.
void HomeStates::remove() {
  if (std::exchange(removed_, true)) return;
  shown_ = false;
  newest_.reset();
  config_.clear();
  state_.clear();
  for (const auto& topic :
       {device_->config_topic(), device_->state_topic(), device_->image_topic()}) {
    broker_.keep(topic, "");
  }
}

// Of many tracks that end at once, the last one is shown: no queue grows.
void HomeStates::show(publish::Picture picture, const PublishSettings& settings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!device_ || settings.discovery != Discovery::kHomeAssistant) return;
  const bool waits = newest_.has_value();
  newest_ = std::move(picture);
  if (!waits) broker_.call_soon([this] { show_newest(); });
}

// The other thread. What was removed meanwhile is not shown.
void HomeStates::show_newest() {
  std::optional<publish::Picture> picture;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    picture = std::exchange(newest_, std::nullopt);
  }
  if (!picture) return;
  const Status status = publish::encode_picture(&*picture);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!device_ || removed_) return;
  if (!status.ok()) return broker_.tell(status.error());
  broker_.keep(device_->image_topic(), picture->jpeg);
}

void HomeStates::recalled(const std::string& body) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!device_ || removed_) return;
  device_->remember(body);
  if (shown_) tell();
}

void HomeStates::end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  device_.reset();
  newest_.reset();
  broker_ = {};
}

}  // namespace dvnn::gst
