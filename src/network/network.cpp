// SPDX-License-Identifier: Apache-2.0
#include "network/network.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "base/result.h"
#include "device/call_watch.h"
#include "layers/bound_layer.h"
#include "layers/workspace.h"
#include "network/dvn_file.h"
#include "network/generated_network.h"
#include "network/model_network.h"

namespace dvnn::network {
namespace {

// A network that is in use or being loaded.
struct Entry {
  std::mutex mutex;  // of what follows; never held while anything is loaded
  std::condition_variable loaded;
  bool loading = false;  // those that want the same network wait; others do not
  const device::CallWatch* loader = nullptr;  // of the thread that loads it, while it does
  std::weak_ptr<Network> network;

  bool expired() {
    const std::lock_guard<std::mutex> lock(mutex);
    return network.expired();
  }
};

// The entries, by file, version of the file, and device. An entry dies with its last user. Lock
// order: the registry's lock, then an entry's.
struct Registry {
  std::mutex mutex;  // guards only the map; never held while a network is loaded
  std::map<std::string, std::shared_ptr<Entry>> entries;

  std::shared_ptr<Entry> entry(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex);
    for (auto it = entries.begin(); it != entries.end();) {
      // An entry that only the map holds is neither loading nor waited for.
      const bool unused = it->second.use_count() == 1 && it->second->expired();
      it = unused ? entries.erase(it) : std::next(it);
    }
    std::shared_ptr<Entry>& found = entries[key];
    if (!found) found = std::make_shared<Entry>();
    return found;
  }
};

Registry& registry() {
  static Registry instance;
  return instance;
}

std::string version_of(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return {};
  return format("%lld.%09ld %lld %lld:%lld", static_cast<long long>(st.st_mtim.tv_sec),
                st.st_mtim.tv_nsec, static_cast<long long>(st.st_size),
                static_cast<long long>(st.st_dev), static_cast<long long>(st.st_ino));
}

// Empty: not to be shared.
std::string registry_key(const NetworkSource& source, const std::string& selector) {
  std::string key = version_of(source.path);
  if (key.empty()) return {};
  return key + " " + (source.weights.empty() ? "" : version_of(source.weights)) + " " +
         source.custom_layers + " " + version_of(source.custom_layers) + " " +
         format("%dx%d ", source.width, source.height) + selector;
}

Result<std::shared_ptr<Network>> load_unshared(const NetworkSource& source,
                                               const std::string& device_selector) {
  const int64_t start = now_us();
  const auto passed_ms = [&] { return static_cast<long long>((now_us() - start) / 1000); };
  const bool generated = is_generated(source.path);
  Model model;
  if (!generated) {
    DVNN_ASSIGN(model, read_dvn(source.path, source.cancellation));
    if (!source.weights.empty()) {
      return invalid_argument("network file '" + source.path +
                              "' holds its weights: weights file '" + source.weights +
                              "' does not go with it");
    }
  }
  if (source.width > 0) {
    if (generated || !source.replan) {
      return unsupported(
          "'" + source.path +
          "' is generated for one size of input: only .dvn files can be planned for another");
    }
    auto replanned = source.replan(model, source.width, source.height, source.cancellation);
    if (!replanned.ok()) return replanned.error().within("network file '" + source.path + "'");
    model = std::move(replanned.value());
    DVNN_LOG(kNetwork, kDebug, "'%s' is planned for %dx%d after %lld ms", source.path.c_str(),
             source.width, source.height, passed_ms());
  }
  std::shared_ptr<const layers::CustomLibrary> library;
  if (!source.custom_layers.empty()) {
    DVNN_ASSIGN(library, layers::CustomLibrary::open(source.custom_layers));
  }
  DVNN_ASSIGN(std::shared_ptr<device::Device> dev, device::Device::open(device_selector));
  DVNN_TRY(check_cancelled(source.cancellation));
  if (generated) return load_generated(source, std::move(dev));
  auto network = Network::create(std::move(model), std::move(dev), source.cancellation, library);
  if (!network.ok()) return network.error().within("network file '" + source.path + "'");
  DVNN_LOG(kNetwork, kInfo, "network '%s' of '%s': %zu steps, loaded in %lld ms",
           network.value()->model().name.c_str(), source.path.c_str(),
           network.value()->model().steps.size(), passed_ms());
  return network;
}

// One caller's turn to load an entry's network. Its end wakes the others, whether it succeeded or
// not.
class Turn {
 public:
  explicit Turn(Entry* entry) : entry_(*entry) {}
  ~Turn() {
    const std::lock_guard<std::mutex> lock(entry_.mutex);
    entry_.loading = false;
    entry_.loader = nullptr;
    entry_.loaded.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Entry& entry_;
};

// Loads the entry's network, once for several elements that start together. Each caller may cancel
// its own wait.
Result<std::shared_ptr<Network>> load_shared(Entry* entry, const NetworkSource& source,
                                             const std::string& selector) {
  {
    std::unique_lock<std::mutex> lock(entry->mutex);
    device::CallWatch* const watch = device::CallWatch::current();
    while (entry->loading) {
      DVNN_TRY(check_cancelled(source.cancellation));
      constexpr std::chrono::milliseconds kLook{20};
      entry->loaded.wait_for(lock, kLook);
      // If the device does not answer the loading thread, it does not answer this one either.
      if (watch) watch->follow(entry->loader);
    }
    if (auto network = entry->network.lock()) {
      DVNN_LOG(kNetwork, kDebug, "network '%s' is loaded already, and shared",
               network->model().name.c_str());
      return network;
    }
    entry->loading = true;
    entry->loader = watch;
  }
  const Turn turn(entry);
  DVNN_ASSIGN(auto network, load_unshared(source, selector));
  const std::lock_guard<std::mutex> lock(entry->mutex);
  entry->network = network;
  return network;
}

}  // namespace

Result<std::shared_ptr<Network>> Network::load(const NetworkSource& source,
                                               const std::string& device_selector) {
  const std::string what = "network file '" + source.path + "'";
  return guarded(what, [&]() -> Result<std::shared_ptr<Network>> {
    const std::string key = registry_key(source, device_selector);
    if (key.empty()) return load_unshared(source, device_selector);
    return load_shared(registry().entry(key).get(), source, device_selector);
  });
}

Result<std::shared_ptr<Network>> Network::create(
    Model model, std::shared_ptr<device::Device> dev, const Cancellation* cancellation,
    std::shared_ptr<const layers::CustomLibrary> library) {
  return guarded("making the network", [&] {
    return ModelNetwork::create(std::move(model), std::move(dev), cancellation, std::move(library));
  });
}

bool Slot::has_finite_outputs() const {
  for (size_t i = 0; i < network_->model().outputs.size(); ++i) {
    if (!all_finite(output(i))) return false;
  }
  return has_finite_states();
}

bool Slot::has_finite_states() const {
  const auto& inputs = network_->model().extra_inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_state() && !all_finite(next_state(i))) return false;
  }
  return true;
}

Result<std::unique_ptr<Slot>> Network::create_slot(const Cancellation* cancellation) {
  const int64_t start = now_us();
  auto slot = guarded("making a slot", [&] { return make_slot(cancellation); });
  if (!slot.ok()) return slot.error().within("network '" + model_.name + "'");
  DVNN_LOG(kNetwork, kDebug, "network '%s': a slot is made in %lld us", model_.name.c_str(),
           static_cast<long long>(now_us() - start));
  return slot;
}

Result<std::shared_ptr<Network>> ModelNetwork::create(
    Model model, std::shared_ptr<device::Device> dev, const Cancellation* cancellation,
    std::shared_ptr<const layers::CustomLibrary> library) {
  DVNN_TRY(validate(model));
  DVNN_TRY(check_cancelled(cancellation));
  std::shared_ptr<ModelNetwork> network(new ModelNetwork(std::move(model), std::move(dev)));
  network->library_ = std::move(library);
  auto& weights = network->model_.weights;
  // Device memory cannot be empty; a network of CPU layers alone has no weights.
  DVNN_ASSIGN(network->weights_, network->device_->allocate(std::max<size_t>(weights.size(), 16)));
  if (!weights.empty()) {
    std::memcpy(network->weights_.data(), weights.data(), weights.size());
    DVNN_TRY(network->weights_.to_device(0, weights.size()));
    // The device's copy is the one in use. An empty list in braces would leave the memory.
    weights = std::vector<uint8_t>();
  }
  network->weights_.unmap();
  DVNN_TRY(network->make_pixel_table());
  network->constants_.resize(network->model_.constant_bytes);
  DVNN_TRY(network->run_once_layers(cancellation));
  return std::shared_ptr<Network>(std::move(network));
}

Status ModelNetwork::run_once_layers(const Cancellation* cancellation) {
  layers::Workspace workspace;
  const layers::Workspace::Loan loan(&workspace);
  for (const Step& step : model_.steps) {
    if (step.kind != StepKind::kCpu || !is_constant(step)) continue;
    DVNN_TRY(check_cancelled(cancellation));
    layers::BoundLayer layer;
    auto data = [&](const TensorInfo& t) { return constants_.data() + t.offset; };
    for (int i : step.inputs) layer.add_input({model_.tensor(i).desc, data(model_.tensor(i))});
    for (int i : step.outputs) layer.add_output({model_.tensor(i).desc, data(model_.tensor(i))});
    Status status = layer.create(*step.layer, library());
    if (status.ok()) status = layer.run();
    if (!status.ok()) return status.error().within("layer '" + step.name + "'");
  }
  return {};
}

bool ModelNetwork::reads_input(const Step& step) const {
  return std::count(step.inputs.begin(), step.inputs.end(), model_.input.tensor) > 0;
}

bool ModelNetwork::could_read_pixels() const {
  if (input_desc().type != ElementType::kFloat16 || input_desc().shape.c() != 3) return false;
  for (const Step& step : model_.steps) {
    if (!reads_input(step)) continue;
    const bool convolves = step.kind == StepKind::kDevice && !step.command.eltwise_add &&
                           step.command.runs.size() == 1 &&
                           step.command.runs[0].conv != device::ConvKind::kNone;
    if (!convolves) return false;
  }
  return true;
}

Status ModelNetwork::make_pixel_table() {
  if (!could_read_pixels()) return {};
  const device::PixelTableOrder order = device_->pixel_table_order();
  if (order == device::PixelTableOrder::kNone) return {};
  const InputSpec& picture = model_.input.picture;
  DVNN_ASSIGN(pixel_table_, device_->allocate(device::kPixelTableBytes));
  auto* table = reinterpret_cast<half_t*>(pixel_table_.data());
  for (size_t c = 0; c < 3; ++c) {
    for (size_t level = 0; level < 256; ++level) {
      const float value = (static_cast<float>(level) - picture.mean[c]) * picture.scale[c];
      const bool planar = order == device::PixelTableOrder::kPlanar;
      table[planar ? c * 256 + level : level * 3 + c] = float_to_half(value);
    }
  }
  DVNN_TRY(pixel_table_.to_device(0, device::kPixelTableBytes));
  pixel_table_.unmap();
  return {};
}

// All slots ask for the same number of bytes.
Result<const device::Memory*> ModelNetwork::transient_memory(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(shared_mutex_);
  if (!transient_) {
    DVNN_ASSIGN(transient_, device_->allocate_transient(bytes));
  }
  return &transient_;
}

std::unique_ptr<LayersMemory, ModelNetwork::Return> ModelNetwork::borrow_layers_memory(
    uint64_t bytes) {
  std::unique_ptr<LayersMemory> memory;
  {
    const std::lock_guard<std::mutex> lock(shared_mutex_);
    if (idle_) {
      memory = std::move(idle_);
      idle_ = std::move(memory->next);
    }
  }
  if (!memory) memory = std::make_unique<LayersMemory>();
  memory->tensors.resize(bytes);
  return {memory.release(), Return{this}};
}

void ModelNetwork::Return::operator()(LayersMemory* memory) const noexcept {
  const std::lock_guard<std::mutex> lock(to->shared_mutex_);
  memory->next = std::move(to->idle_);
  to->idle_.reset(memory);
}

bool ModelNetwork::is_constant(const Step& step) const {
  return model_.tensor(step.outputs[0]).storage == Storage::kConstant;
}

}  // namespace dvnn::network
