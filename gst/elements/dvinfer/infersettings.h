// SPDX-License-Identifier: Apache-2.0
// dvinfer's settings.
#pragma once

#include "infer/admission.h"
#include "infer/liveinputs.h"
#include "infer/networkloader.h"
#include "properties.h"
#ifdef DVNN_HAVE_TENSORS
#include "meta/exchange/tensorexport.h"
#endif

namespace dvnn::gst {

/// What happens to a result that is not ready when its frame is due to leave.
enum class LateWhat { kAttach, kDrop, kWait };

enum class OnError { kError, kPass, kDrop };

/// The settings that are read for each frame: a small copy, without strings.
struct InferRules {
  guint max_in_flight = 2;
  guint max_held = 0;  // frames; 0: as many as the latency needs
  // These choose the frames that are inferred.
  bool active = true;
  WhenBusy when_busy = WhenBusy::kWait;
  LateWhat late_results = LateWhat::kAttach;
  guint late_after_ms = 0;
  guint interval_ms = 0;
  guint interval_frames = 1;
  double max_rate = 0;
  bool skip_late = true;
  guint priority = 10;
  // These say what happens if something goes wrong.
  OnError on_error = OnError::kError;
  guint watchdog_ms = 10000;
  gint latency_ms = -1;  // -1: measured
  guint stats_interval_ms = 0;
#ifdef DVNN_HAVE_TENSORS
  TensorExport tensor_meta = TensorExport::kAuto;
#endif

  AdmissionRules admission() const;
  /// Returns whether frames with tracked objects leave before their results.
  bool results_may_be_late() const {
    return when_busy == WhenBusy::kPass && late_results != LateWhat::kWait;
  }
};

struct InferSettings : InferRules {
  // The network; the first three may change while playing.
  std::string network, weights_file, input_size;
  std::string custom_layers, device;
  std::string live_inputs;
  LiveNumbers live_numbers;  // what it says
  std::string input_from;    // the output that the input is made of; empty: the frame is the input

  NetworkSettings network_settings() const {
    return {network, weights_file, input_size, custom_layers, device};
  }
  /// Sets the settings that may change while playing back to those of `of`, after a failed load.
  void restore_network(const NetworkSettings& of);
};

/// Largest number of frames in flight.
constexpr guint kMaxInFlight = 16;

/// Property rows of all settings.
struct InferProperties {
  Properties<InferSettings> rows;
  // Ids of the properties that change the pipeline's latency, or how many frames are held.
  guint latency = 0, active = 0, max_held = 0;
};
InferProperties infer_properties();

}  // namespace dvnn::gst
