// SPDX-License-Identifier: Apache-2.0
// A network on a device (shared, immutable) and its slots (one frame in flight each).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/cancel.h"
#include "base/span.h"
#include "device/device.h"
#include "layers/custom_library.h"
#include "network/model.h"

namespace dvnn::network {

/// Microseconds that one run spent in each place.
struct RunTimes {
  int64_t device_us = 0;  // without the wait for others there, where the device tells its own time
  int64_t cpu_us = 0;
  int64_t queued_us = 0;  // that wait
  /// Receives each step's time, nanoseconds, if it is not empty; zero if the device does not
  /// measure single commands. A layer that follows a command counts in the command's time.
  Span<int64_t> step_ns = {};
};

class Slot;

/// The contents of a slot's input.
enum class InputKind : uint8_t {
  kTensor,  // the network's input tensor
  kPixels,  // 8-bit pixels in the same order; the device makes the tensor from them
};

/// Names the source of a network: a file, or a model in memory.
struct NetworkSource {
  std::string path;     // a .dvn file, or a library of generated sources (include/dmp_network.h)
  std::string weights;  // the library's packed weights; not for .dvn files, which hold them
  int width = 0, height = 0;  // of the input instead of the file's own; 0: the file's
  /// Plans a .dvn file's model for another size: plan::replan(), from a folder above this one.
  Result<Model> (*replan)(const Model& model, int width, int height,
                          const Cancellation* cancellation) = nullptr;
  std::string custom_layers = {};  // a library of CPU layers (include/dvnn_layer.h), or empty
  /// Cancels the loading; may be null.
  const Cancellation* cancellation = nullptr;
};

/// A network with its weights in device memory. Thread safe.
class Network : public std::enable_shared_from_this<Network> {
 public:
  /// Loads `source` on the device that `device_selector` names (device.h). Callers with the same
  /// source and device share one Network as long as any of them keeps it. A caller that wants a
  /// network that is being loaded waits for it, until its own cancellation; one caller's kCancelled
  /// does not reach the others.
  static Result<std::shared_ptr<Network>> load(const NetworkSource& source,
                                               const std::string& device_selector);
  /// Creates a network from an in-memory model. `library` has the model's custom CPU layers; it may
  /// be null, as may `cancellation`.
  static Result<std::shared_ptr<Network>> create(
      Model model, std::shared_ptr<device::Device> dev, const Cancellation* cancellation = nullptr,
      std::shared_ptr<const layers::CustomLibrary> library = nullptr);
  virtual ~Network() = default;

  const Model& model() const { return model_; }
  const device::Device& device() const { return *device_; }
  const TensorDesc& input_desc() const { return model_.tensor(model_.input.tensor).desc; }
  /// Returns whether slots take InputKind::kPixels: the device must have a lookup table for them,
  /// and only convolutions may read the input, of three channels. The lookup table applies mean and
  /// scale, so results match those of the input tensor bit for bit.
  virtual bool takes_pixels() const { return false; }
  /// Returns whether pixels cost less than a tensor. The software device looks their values up on
  /// the CPU, which takes longer than making numbers of them at once.
  bool prefers_pixels() const { return takes_pixels() && !device_->is_software(); }
  /// Creates a slot: an I/O buffer and committed command lists. `cancellation` may be null.
  Result<std::unique_ptr<Slot>> create_slot(const Cancellation* cancellation = nullptr);

 protected:
  Network(Model model, std::shared_ptr<device::Device> device)
      : model_(std::move(model)), device_(std::move(device)) {}
  virtual Result<std::unique_ptr<Slot>> make_slot(const Cancellation* cancellation) = 0;
  Model model_;
  std::shared_ptr<device::Device> device_;
};

/// Bytes that a run moves between CPU and device if their caches are not coherent.
struct HandoverCount {
  uint64_t to_device = 0, to_cpu = 0;  // handed over
  uint64_t crossing = 0;   // of these, what one of the two has written and the other reads
  uint64_t by_layers = 0;  // read and written by CPU layers
  int calls = 0;           // of the driver
};

/// One I/O buffer and everything needed to run the network in it. For one thread at a time.
class Slot {
 public:
  virtual ~Slot() = default;
  /// Returns the input tensor's bytes, mapped, to be written before run().
  virtual Span<uint8_t> input() const = 0;
  /// Returns extra input i of the model, mapped, to be written before each run().
  virtual TensorView extra_input(size_t /*i*/) const { return {}; }
  /// Returns the tensor that state i will be in the next run, valid until the next run(). `i`
  /// counts the model's extra inputs.
  virtual ConstTensorView next_state(size_t /*i*/) const { return {}; }
  /// Makes input() hold a tensor from now on, as it does at first.
  virtual void expect_tensor() {}
  /// Makes input() hold pixels from now on. Only for networks with takes_pixels().
  virtual void expect_pixels() {}
  /// Runs all steps and waits. On error the slot stays usable.
  virtual Status run(RunTimes* times = nullptr) = 0;
  /// Runs step by step what input() holds, which stays, and returns the first layer with a result
  /// that is not finite: "" if all are, or where steps cannot be told apart. Takes longer than
  /// run().
  virtual Result<std::string> first_not_finite() { return std::string(); }
  /// Runs what input() holds step by step, each command in a list of its own, and writes the steps'
  /// times to `step_ns`, which has room for all: for devices that do not measure single commands.
  /// Zeros where steps cannot be told apart. Takes memory for another slot meanwhile, as
  /// first_not_finite() does.
  virtual Status time_apart(Span<int64_t> step_ns) {
    std::fill(step_ns.begin(), step_ns.end(), 0);
    return {};
  }
  /// The step whose command computes the layer `step` on its results before they are rounded;
  /// nothing if the layer runs by itself.
  virtual std::optional<size_t> command_of(size_t /*step*/) const { return std::nullopt; }
  /// Returns whether no output or next state of the last run holds infinities or NaN.
  bool has_finite_outputs() const;
  bool has_finite_states() const;
  /// Output i of the model, valid until the next run().
  virtual ConstTensorView output(size_t i) const = 0;
  /// Returns what a run of a tensor (not pixels) hands over; zeros if that is unknown.
  virtual HandoverCount handed_over() const { return {}; }
  const std::shared_ptr<Network>& network() const { return network_; }

 protected:
  explicit Slot(std::shared_ptr<Network> network) : network_(std::move(network)) {}

 private:
  std::shared_ptr<Network> network_;
};

}  // namespace dvnn::network
