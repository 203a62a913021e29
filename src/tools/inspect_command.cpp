// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "decode/custom_decoders.h"
#include "network/dvn_file.h"
#include "network/model_decoder.h"
#include "network/model_json.h"
#include "tools/commands.h"
#include "tools/dot.h"
#include "tools/inspect_estimate.h"
#include "tools/options.h"
#include "tools/step_text.h"

namespace dvnn::tools {
namespace {

using network::Model;
using network::Step;
using network::StepKind;

// Prints ASCII only: labels and parameters may be unprintable.
void print_json(const nlohmann::json& json) {
  std::printf("%s\n", json.dump(1, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
}

// Which library a decoder is of, if the file says so.
std::string library_text(const network::DecoderInfo& decoder) {
  const auto library = decoder.params->find("library");
  if (library == decoder.params->end() || !library->is_string()) return "";
  return " of library " + printable(library->get<std::string>());
}

void print_table(const Model& model) {
  const auto& picture = model.input.picture;
  const auto& input = model.tensor(model.input.tensor);
  std::printf("network   %s (%s)\nsource    %s\n", model.name.c_str(), model.producer.c_str(),
              model.source.c_str());  // validate() has made sure that names are printable
  std::printf("input     %s %s %s, %s, mean %g,%g,%g scale %g,%g,%g, %s\n",
              input.desc.shape.to_string().c_str(), to_string(input.desc.type),
              to_string(input.desc.layout), to_string(picture.order), picture.mean[0],
              picture.mean[1], picture.mean[2], picture.scale[0], picture.scale[1],
              picture.scale[2], to_string(picture.resize));
  for (const auto& output : model.outputs) {
    const TensorDesc& desc = model.tensor(output.tensor).desc;
    std::printf("output    %s: %s %s %s\n", output.name.c_str(), desc.shape.to_string().c_str(),
                to_string(desc.type), to_string(desc.layout));
  }
  std::printf("decoder   %s%s; %zu labels\n",
              model.decoder.name.empty() ? "none" : model.decoder.name.c_str(),
              library_text(model.decoder).c_str(), model.labels.size());
  std::printf("\n%4s %-6s %-28s %-26s %-16s %-16s %10s %10s\n", "step", "where", "name", "what",
              "in", "out", "MACs", "weights B");
  int64_t macs = 0;
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const Step& step = model.steps[i];
    auto shape = [&](const std::vector<int>& list) {
      return list.empty() ? std::string("-") : model.tensor(list[0]).desc.shape.to_string();
    };
    const bool on_device = step.kind == StepKind::kDevice;
    const int64_t step_macs = network::step_macs(step);
    macs += step_macs;
    std::printf("%4zu %-6s %-28.28s %-26s %-16s %-16s %10lld %10zu\n", i,
                on_device ? "device" : "cpu", step.name.c_str(), describe(step).c_str(),
                shape(step.inputs).c_str(), shape(step.outputs).c_str(),
                static_cast<long long>(step_macs), on_device ? weight_bytes(step) : size_t{0});
  }
  std::printf("\ntotal     %.1f MMAC, weights %zu bytes, I/O buffer %llu bytes per slot\n",
              static_cast<double>(macs) / 1e6, model.weights.size(),
              static_cast<unsigned long long>(model.io_bytes));
}

}  // namespace

int inspect_command(int argc, char** argv) {
  gboolean as_json = FALSE, as_dot = FALSE, estimate = FALSE;
  OptionText board, decoder_library;
  const GOptionEntry entries[] = {
      {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the file's description as JSON", nullptr},
      {"dot", 0, 0, G_OPTION_ARG_NONE, &as_dot, "Print the steps as a Graphviz graph", nullptr},
      {"estimate", 0, 0, G_OPTION_ARG_NONE, &estimate,
       "Print what each command would take on a board; with --json as JSON", nullptr},
      {"board", 0, 0, G_OPTION_ARG_STRING, board.out(),
       "For --estimate: clock=MHZ,macs=N,bus=BYTES_PER_CLOCK,ub=BYTES,command=US, any of them",
       "BOARD"},
      {"decoder-library", 0, 0, G_OPTION_ARG_FILENAME, decoder_library.out(),
       "A library with the decoder that the network names", "LIBRARY"},
      {nullptr, 0, 0, G_OPTION_ARG_NONE, nullptr, nullptr, nullptr}};
  auto args = parse_options("NETWORK.dvn", "Shows a network: its steps, shapes, work and sizes.",
                            entries, argc, argv);
  if (!args.ok()) return wrong_usage("inspect", args.error().message);
  if (args.value().size() != 1) return wrong_usage("inspect", "needs one network file");
  if (board.given() && !estimate) return wrong_usage("inspect", "--board goes with --estimate");
  auto model = network::read_dvn(args.value()[0]);
  if (!model.ok()) return fail(model.error());
  if (estimate) {
    const auto hardware = device::parse_hardware(board.text());
    if (!hardware.ok()) return wrong_usage("inspect", "--board: " + hardware.error().message);
    if (as_json) {
      print_json(estimate_to_json(model.value(), hardware.value()));
    } else {
      print_estimate(model.value(), hardware.value());
    }
  } else if (as_json) {
    print_json(network::model_to_json(model.value()));
  } else if (as_dot) {
    std::printf("%s", dot_of(model.value()).c_str());
  } else {
    print_table(model.value());
  }
  // Reports the errors that creating the network's decoder would give.
  std::shared_ptr<const decode::CustomDecoders> library;
  if (decoder_library.given()) {
    auto opened = decode::CustomDecoders::open(decoder_library.text());
    if (!opened.ok()) return fail(opened.error());
    library = std::move(opened.value());
  }
  const auto decoder = network::create_decoder(model.value(), library.get());
  if (decoder.ok()) return 0;
  return fail(decoder.error().within("network file '" + args.value()[0] + "'"));
}

}  // namespace dvnn::tools
