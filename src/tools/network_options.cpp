// SPDX-License-Identifier: Apache-2.0
#include "tools/network_options.h"

#include "plan/replan.h"

namespace dvnn::tools {

Result<std::unique_ptr<Session>> open_session(const std::string& path, const Arguments& arguments) {
  return open_session(path, arguments.text("device"), arguments);
}

Result<std::unique_ptr<Session>> open_session(const std::string& path, const std::string& device,
                                              const Arguments& arguments) {
  network::NetworkSource source;
  source.custom_layers = arguments.text("custom-layers");
  source.path = path;
  source.weights = arguments.text("weights");
  if (arguments.given("size")) {
    auto parsed = plan::parse_size(arguments.text("size"));
    if (!parsed.ok()) return parsed.error().within("--size");
    source.width = parsed.value().width;
    source.height = parsed.value().height;
    source.replan = plan::replan;
  }
  std::shared_ptr<const decode::CustomDecoders> decoders;
  if (arguments.given("decoder-library")) {
    DVNN_ASSIGN(decoders, decode::CustomDecoders::open(arguments.text("decoder-library")));
  }
  return Session::open(source, device, decoders.get());
}

}  // namespace dvnn::tools
