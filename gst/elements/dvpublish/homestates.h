// SPDX-License-Identifier: Apache-2.0
// Shows a stream in Home Assistant (publish/home_device.h): has the broker retain the device's
// configuration, its values and the last track's best view. Used by the streaming thread, but for
// recalled().
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "elements/dvpublish/publishsettings.h"
#include "publish/home_device.h"

namespace dvnn::gst {

class HomeStates {
 public:
  using Keep = std::function<void(const std::string& topic, const std::string& body)>;
  using Recall = std::function<void(const std::string& topic)>;
  using Job = std::function<void()>;
  using CallSoon = std::function<void(Job)>;

  /// Where it tells.
  struct Broker {
    Keep keep;
    Recall recall;                           // asks for what recalled() is told
    CallSoon call_soon;                      // calls jobs on another thread, while this lives
    std::function<void(const Error&)> tell;  // of a problem with pictures
  };
  /// Begins a session.
  void begin(const publish::Identity& identity, const PublishSettings& settings, Broker broker);
  /// Returns whether somebody wants the best views of tracks.
  bool wants_views(const PublishSettings& settings) const;
  /// Looks at a frame of this running time.
  void see(GstBuffer* frame, GstClockTime time, const PublishSettings& settings);
  /// Tells the last values; at the stream's end.
  void see_rest(const PublishSettings& settings);
  /// Shows the best view of a track that has ended.
  void show(publish::Picture picture, const PublishSettings& settings);
  /// Takes what the broker has retained so far. Any thread.
  void recalled(const std::string& body);
  void end();

 private:
  void tell();
  void remove();
  void show_newest();

  std::mutex mutex_;  // of all
  std::unique_ptr<publish::HomeDevice> device_;
  Broker broker_;
  bool recalls_ = false, shown_ = false, removed_ = false;
  std::optional<publish::ZoneCounts> untold_;
  std::optional<publish::Picture> newest_;  // that is not shown yet
  GstClockTime due_ = 0;
  std::string config_, state_;  // as last told
};

}  // namespace dvnn::gst
