// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/infersettings.h"

namespace dvnn::gst {
namespace {

constexpr guint kLongestWait = 10000;  // milliseconds
constexpr guint kMostHeld = 1000;      // frames

const GEnumValue kOnErrors[] = {
    {static_cast<gint>(OnError::kError), "Stop the pipeline with an error", "error"},
    {static_cast<gint>(OnError::kPass), "Pass the frame without results, with a warning", "pass"},
    {static_cast<gint>(OnError::kDrop), "Drop the frame, with a warning", "drop"},
    {0, nullptr, nullptr}};

const GEnumValue kWhenBusy[] = {
    {static_cast<gint>(WhenBusy::kWait), "Wait: each frame is inferred", "wait"},
    {static_cast<gint>(WhenBusy::kPass), "Pass the frame without inference: video keeps its rate",
     "pass"},
    {0, nullptr, nullptr}};

const GEnumValue kLateResults[] = {
    {static_cast<gint>(LateWhat::kAttach),
     "Attach them to the next frame that has the object's track, moved with its box", "attach"},
    {static_cast<gint>(LateWhat::kDrop), "Drop them", "drop"},
    {static_cast<gint>(LateWhat::kWait), "None is late: frames wait for their results", "wait"},
    {0, nullptr, nullptr}};

#ifdef DVNN_HAVE_TENSORS
const GEnumValue kTensorMetas[] = {
    {static_cast<gint>(TensorExport::kNone), "None", "none"},
    {static_cast<gint>(TensorExport::kAuto),
     "The outputs, if all are row-major in memory, so that nothing is copied", "auto"},
    {static_cast<gint>(TensorExport::kAlways),
     "All outputs as row-major float32, and the tensors that ssdobjectdetector reads", "always"},
    {0, nullptr, nullptr}};
#endif

}  // namespace

void InferSettings::restore_network(const NetworkSettings& of) {
  network = of.path;
  weights_file = of.weights;
  input_size = of.input_size;
}

AdmissionRules InferRules::admission() const {
  AdmissionRules rules;
  rules.active = active;
  rules.when_busy = when_busy;
  rules.results_may_be_late = results_may_be_late();
  rules.interval = interval_ms * GST_MSECOND;
  rules.interval_frames = interval_frames;
  rules.max_rate = max_rate;
  rules.qos = skip_late;
  return rules;
}

InferProperties infer_properties() {
  using S = InferSettings;
  InferProperties p;
  Properties<S>& rows = p.rows;
  rows.text(&S::network, When::kPlaying,
            {"network", "Network",
             "A .dvn file of 'dvnet convert', or a library of generated C++ "
             "sources; empty for the plugin's own"});
  rows.text(&S::weights_file, When::kPlaying,
            {"weights-file", "Weights file",
             "The packed weights of a library of generated sources; .dvn files hold their own"});
  rows.text(
      &S::input_size, When::kPlaying,
      {"input-size", "Input size",
       "Size of the network's input in pixels, WIDTHxHEIGHT, for which the network is planned "
       "again; empty for the file's own"});
  rows.text(
      &S::live_inputs, When::kPlaying,
      {"live-inputs", "Live inputs",
       "Values of inputs beside the frame, NAME=NUMBER,NAME=NUMBER; a frame's own tensors of these "
       "names come first"},
      [](const std::string& text, S* settings) -> Status {
        DVNN_ASSIGN(settings->live_numbers, parse_live_numbers(text));
        return {};
      });
  rows.text(
      &S::input_from, When::kReady,
      {"input-from", "Input from",
       "The output of a network upstream that is the input, OUTPUT or NETWORK/OUTPUT, or whose "
       "newest results are; empty: the frame is the input"});
  rows.text(&S::custom_layers, When::kReady,
            {"custom-layers", "Custom layers",
             "A library of the network's own CPU layers (see dvnn_layer.h)"});
  rows.text(&S::device, When::kReady,
            {"device", "Device",
             "Where to run: auto, fpga, soft, or the path of a device library; empty for what "
             "DVNN_DEVICE says, or auto"});
  rows.number(&S::max_in_flight, When::kReady, 1, kMaxInFlight,
              {"max-in-flight", "Frames in flight",
               "How many frames are inferred at once; each takes one I/O buffer of device memory"});
  p.max_held = rows.number(
      &S::max_held, When::kPlaying, 0, kMostHeld,
      {"max-held", "Frames held",
       "How many frames are held at once, in flight or waiting for their turn; 0 for as many as "
       "the latency wants"});
  p.active = rows.boolean(&S::active, When::kPlaying,
                          {"active", "Active", "Infer; otherwise frames pass without inference"});
  rows.choice(&S::when_busy, When::kPlaying, register_enum("GstDvInferWhenBusy", kWhenBusy),
              {"when-busy", "When busy",
               "Fate of a frame that arrives while max-in-flight others are inferred"});
  rows.choice(&S::late_results, When::kPlaying,
              register_enum("GstDvInferLateResults", kLateResults),
              {"late-results", "Late results",
               "With when-busy=pass, the fate of results on tracked objects whose frame has left"});
  rows.number(&S::late_after_ms, When::kPlaying, 0, kLongestWait,
              {"late-after-ms", "Late after",
               "Milliseconds for which a frame that need not wait for its results (see "
               "late-results) waits all the same"});
  rows.number(&S::interval_ms, When::kPlaying, 0, kMostMilliseconds,
              {"interval-ms", "Interval",
               "Least time between two inferred frames, in milliseconds of the stream; 0 for every "
               "frame"});
  rows.number(&S::interval_frames, When::kPlaying, 1, kMostCount,
              {"interval-frames", "Interval in frames", "Infer one in this number of frames"});
  rows.number(&S::max_rate, When::kPlaying, 0.0, 1000.0,
              {"max-rate", "Highest rate",
               "Most inferences per second of the stream, evenly spaced; 0 for no limit"});
  rows.boolean(&S::skip_late, When::kPlaying,
               {"skip-late", "Skip late frames",
                "Pass frames without inference that the sink would find late (its QoS events)"});
  rows.number(&S::priority, When::kPlaying, 1, 100,
              {"priority", "Priority",
               "Share of the device's time beside the process's other dvinfers, where they want "
               "more than there is"});
  rows.choice(
      &S::on_error, When::kPlaying, register_enum("GstDvInferOnError", kOnErrors),
      {"on-error", "On error", "Action if a frame cannot be converted, or its inference fails"});
  rows.number(&S::watchdog_ms, When::kPlaying, 0, kMostMilliseconds,
              {"watchdog-ms", "Watchdog",
               "Milliseconds after which a call of the device that has not returned counts as "
               "failed; 0 for no limit"});
#ifdef DVNN_HAVE_TENSORS
  rows.choice(&S::tensor_meta, When::kPlaying, register_enum("GstDvInferTensorMeta", kTensorMetas),
              {"tensor-meta", "GstTensorMeta",
               "Outputs that are also attached as GstTensorMeta, for other elements' decoders"});
#endif
  p.latency = rows.number(&S::latency_ms, When::kPlaying, -1, G_MAXINT,
                          {"latency-ms", "Latency",
                           "Latency that is reported to the pipeline, in milliseconds; -1 for what "
                           "is measured"});
  rows.number(&S::stats_interval_ms, When::kPlaying, 0, kMostMilliseconds,
              {"stats-interval-ms", "Interval of statistics",
               "Milliseconds between element messages 'dvnn-stats' with the statistics; 0 for "
               "none"});
  return p;
}

}  // namespace dvnn::gst
