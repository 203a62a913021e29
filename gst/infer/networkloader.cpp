// SPDX-License-Identifier: Apache-2.0
#include "infer/networkloader.h"

#include <tuple>

#include "base/result.h"
#include "network/dvn_file.h"
#include "plan/replan.h"

namespace dvnn::gst {

bool NetworkSettings::operator==(const NetworkSettings& other) const {
  const auto all = [](const NetworkSettings& s) {
    return std::tie(s.path, s.weights, s.input_size, s.custom_layers, s.device);
  };
  return all(*this) == all(other);
}

Result<PoolPtr> make_pool(const LoadedNetwork& loaded, const SlotCounts& counts,
                          const Cancellation* cancellation) {
  auto pool = guarded("making slots",
                      [&] { return SlotPool::create(loaded.network, counts, cancellation); });
  if (pool.ok() || pool.error().code == ErrorCode::kCancelled) return pool;
  const Error& error = pool.error();
  return Error{error.code, error.message + "; if device memory is short, lower max-in-flight"};
}

static Result<LoadedPtr> load(const NetworkSettings& settings, const Cancellation* cancellation) {
  network::NetworkSource source;
  source.path = settings.path.empty() ? network::default_network() : settings.path;
  source.weights = settings.weights;
  source.cancellation = cancellation;
  source.custom_layers = settings.custom_layers;
  if (!settings.input_size.empty()) {
    auto size = plan::parse_size(settings.input_size);
    if (!size.ok()) return size.error().within("property input-size");
    source.width = size.value().width;
    source.height = size.value().height;
    source.replan = plan::replan;
  }
  auto loaded = std::make_shared<LoadedNetwork>();
  loaded->settings = settings;
  DVNN_ASSIGN(loaded->network, network::Network::load(source, settings.device));
  loaded->memory = std::make_unique<network::StreamMemory>(loaded->network);
  loaded->info = describe_network(loaded->network->model());
  return loaded;
}

Result<LoadedPtr> load_network(const NetworkSettings& settings, const Cancellation* cancellation) {
  return guarded("loading the network", [&] { return load(settings, cancellation); });
}

Topic load_topic(const NetworkSettings& settings, const Error& error) {
  const bool size = !settings.input_size.empty() && error.code != ErrorCode::kMalformed;
  return size ? Topic::kSettings : Topic::kFile;
}

}  // namespace dvnn::gst
