// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "base/json.h"
#include "decode/custom_decoders.h"
#include "network/dvn_file.h"
#include "network/generated_network.h"
#include "network/model_decoder.h"
#include "network/model_json.h"
#include "tools/commands.h"
#include "tools/inspect/dot.h"
#include "tools/inspect/inspect_estimate.h"
#include "tools/inspect/step_text.h"
#include "tools/inspect/work_share.h"
#include "tools/options.h"
#include "tools/page/page.h"
#include "tools/page/step_times.h"

namespace dvnn::tools {
namespace {

using network::Model;
using network::Step;
using network::StepKind;

// Prints ASCII only: labels and parameters may be unprintable.
void print_json(const Json& json) {
  std::printf("%s\n", json.dump(1, true).c_str());
}

// Names the library that a decoder is of, if the file says so.
std::string library_text(const network::DecoderInfo& decoder) {
  const auto library = decoder.params.find("library");
  if (library == decoder.params.end() || !library->is_string()) return "";
  return " of library " + printable(library->get<std::string>());
}

// Says how many labels there are, and the first ones.
std::string labels_text(const std::vector<std::string>& labels) {
  constexpr size_t kShown = 5;
  if (labels.empty()) return "no labels";
  std::string text =
      std::to_string(labels.size()) + (labels.size() == 1 ? " label: " : " labels: ");
  for (size_t i = 0; i < std::min(labels.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + printable(labels[i]);
  }
  return text + (labels.size() > kShown ? ", ..." : "");
}

void print_head(const Model& model) {
  const auto& picture = model.input.picture;
  const auto& input = model.tensor(model.input.tensor);
  // validate() has made sure that names are printable. Generated sources tell no producer.
  const std::string producer = model.producer.empty() ? "" : " (" + model.producer + ")";
  std::printf("network   %s%s\nsource    %s\n", model.name.c_str(), producer.c_str(),
              model.source.c_str());
  std::printf("input     %s %s %s, %s, mean %g,%g,%g scale %g,%g,%g, %s\n",
              input.desc.shape.to_string().c_str(), to_string(input.desc.type),
              to_string(input.desc.layout), to_string(picture.order), picture.mean[0],
              picture.mean[1], picture.mean[2], picture.scale[0], picture.scale[1],
              picture.scale[2], to_string(picture.resize));
  if (picture.transposed)
    std::printf("             rows of the picture are columns of the input\n");
  for (const auto& output : model.outputs) {
    const TensorDesc& desc = model.tensor(output.tensor).desc;
    std::printf("output    %s: %s %s %s\n", output.name.c_str(), desc.shape.to_string().c_str(),
                to_string(desc.type), to_string(desc.layout));
  }
  std::printf("decoder   %s%s; %s\n",
              model.decoder.name.empty() ? "none" : model.decoder.name.c_str(),
              library_text(model.decoder).c_str(), labels_text(model.labels).c_str());
}

void print_steps(const Model& model) {
  std::printf("\n%4s %-6s %-28s %-26s %-16s %-16s %10s %10s\n", "step", "where", "name", "what",
              "in", "out", "MACs", "weights B");
  int64_t macs = 0;
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const Step& step = model.steps[i];
    auto shape = [&](const std::vector<int>& list) {
      return list.empty() ? std::string("-") : model.tensor(list[0]).desc.shape.to_string();
    };
    const bool on_device = step.kind == StepKind::kDevice;
    const int64_t step_macs = network::step_macs(model, step);
    macs += step_macs;
    std::printf("%4zu %-6s %-28.28s %-26s %-16s %-16s %10lld %10zu\n", i,
                on_device ? "device" : "cpu", step.name.c_str(), describe(step).c_str(),
                shape(step.inputs).c_str(), shape(step.outputs).c_str(),
                static_cast<long long>(step_macs), on_device ? weight_bytes(step) : size_t{0});
  }
  std::printf("\ntotal     %.1f MMAC, weights %zu bytes, I/O buffer %llu bytes per slot\n",
              static_cast<double>(macs) / 1e6, model.weights.size(),
              static_cast<unsigned long long>(model.io_bytes));
  std::printf("share     %s\n", to_text(share_of(model, device::Hardware())).c_str());
}

// The sources' layers: what a layer costs is in commands that only the device's driver reads.
void print_layers(const Model& model, const network::Network& network) {
  std::printf("\n%5s %-6s %-28s %-26s %-16s %s\n", "layer", "where", "name", "what", "in", "out");
  size_t i = 0;
  for (const network::GeneratedLayer& layer : network::generated_layers(network)) {
    std::printf("%5zu %-6s %-28.28s %-26s %-16s %s\n", i++, layer.on_device ? "device" : "cpu",
                layer.name.c_str(), layer.kind, layer.input.c_str(), layer.output.c_str());
  }
  std::printf("\ntotal     I/O buffer %llu bytes per slot\n",
              static_cast<unsigned long long>(model.io_bytes));
}

void print_table(const Model& model, const network::Network* network) {
  print_head(model);
  if (network && !network::generated_layers(*network).empty()) {
    print_layers(model, *network);
  } else {
    print_steps(model);
  }
}

// The network or model that is inspected. A network is loaded, onto a device, only where that is
// needed.
struct Inspected {
  Model model;
  std::shared_ptr<network::Network> network;  // null: only the file was read
};

Result<Inspected> open_inspected(const network::NetworkSource& source, const std::string& device,
                                 bool load) {
  Inspected inspected;
  const bool generated = network::is_generated(source.path);
  if (load || generated) {
    DVNN_ASSIGN(inspected.network, network::Network::load(source, device));
  }
  if (generated) {
    inspected.model = inspected.network->model();
  } else {  // as it is in the file: on a device it has no use for all of it
    DVNN_ASSIGN(inspected.model, network::read_dvn(source.path));
  }
  return inspected;
}

}  // namespace

int inspect_command(int argc, char** argv) {
  gboolean as_json = FALSE, as_dot = FALSE, estimate = FALSE, measure = FALSE;
  OptionText board, decoder_library, html, weights, custom_layers, device;
  const GOptionEntry entries[] = {
      {"html", 0, 0, G_OPTION_ARG_FILENAME, html.out(),
       "Write one page for a browser: graph, memory over time, times, weights, warnings", "FILE"},
      {"measure", 0, 0, G_OPTION_ARG_NONE, &measure,
       "For --html: run the network here, too, and show what each step takes", nullptr},
      {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the file's description as JSON", nullptr},
      {"dot", 0, 0, G_OPTION_ARG_NONE, &as_dot, "Print the steps as a Graphviz graph", nullptr},
      {"estimate", 0, 0, G_OPTION_ARG_NONE, &estimate,
       "Print what each command would take on a board; with --json as JSON", nullptr},
      {"board", 0, 0, G_OPTION_ARG_STRING, board.out(),
       "For --estimate and --html: "
       "clock=MHZ,macs=N,bus=BYTES_PER_CLOCK,ub=BYTES,command=US,cpu=MILLIONS, any "
       "of them",
       "BOARD"},
      {"weights", 0, 0, G_OPTION_ARG_FILENAME, weights.out(),
       "Packed weights, where the network is a library of generated sources", "FILE"},
      {"custom-layers", 0, 0, G_OPTION_ARG_FILENAME, custom_layers.out(),
       "For --measure: a library of CPU layers that the network names", "LIBRARY"},
      {"decoder-library", 0, 0, G_OPTION_ARG_FILENAME, decoder_library.out(),
       "A library with the decoder that the network names", "LIBRARY"},
      {"device", 'd', 0, G_OPTION_ARG_STRING, device.out(),
       "For --measure and libraries: auto, fpga, soft or a library (default: $DVNN_DEVICE, or "
       "auto)",
       "DEVICE"},
      {nullptr, 0, 0, G_OPTION_ARG_NONE, nullptr, nullptr, nullptr}};
  auto args =
      parse_options("NETWORK.dvn|NETWORK.so", "Shows a network: its steps, shapes, work and sizes.",
                    entries, argc, argv);
  if (!args.ok()) return wrong_usage("inspect", args.error().message);
  if (args.value().size() != 1) return wrong_usage("inspect", "needs one network file");
  if (board.given() && !estimate && !html.given()) {
    return wrong_usage("inspect", "--board goes with --estimate or --html");
  }
  if (!measure && !network::is_generated(args.value()[0])) {
    for (const auto& [name, text] : {std::pair<const char*, const OptionText&>("--device", device),
                                     {"--custom-layers", custom_layers},
                                     {"--weights", weights}}) {
      if (!text.given()) continue;
      return wrong_usage("inspect", std::string(name) +
                                        " goes with --measure: a .dvn file is only read otherwise");
    }
  }
  if (measure && !html.given()) return wrong_usage("inspect", "--measure goes with --html");
  if (as_json + as_dot + estimate + html.given() > 1 && !(as_json && estimate)) {
    return wrong_usage("inspect", "shows one thing: --html, --json, --dot or --estimate");
  }
  const auto hardware = device::parse_hardware(board.text());
  if (!hardware.ok()) return wrong_usage("inspect", "--board: " + hardware.error().message);
  network::NetworkSource source;
  source.path = args.value()[0];
  source.weights = weights.text();
  source.custom_layers = custom_layers.text();
  auto inspected = open_inspected(source, device.text(), measure);
  if (!inspected.ok()) return fail(inspected.error());
  const Model& model = inspected.value().model;
  const bool generated = network::is_generated(source.path);
  if (generated && (as_dot || estimate)) {
    return fail({ErrorCode::kUnsupported,
                 "'" + source.path +
                     "' is C++ code: its commands are not known before they run, so "
                     "--estimate and --dot take .dvn files only"});
  }
  // The errors that creating the network's decoder would give are told, too.
  std::shared_ptr<const decode::CustomDecoders> library;
  if (decoder_library.given()) {
    auto opened = decode::CustomDecoders::open(decoder_library.text());
    if (!opened.ok()) return fail(opened.error());
    library = std::move(opened.value());
  }
  const auto decoder = network::create_decoder(model, library.get());
  if (html.given()) {
    PageFacts facts;
    facts.hardware = hardware.value();
    facts.generated = generated;
    if (!decoder.ok()) facts.decoder_error = decoder.error().message;
    if (measure) {
      auto times = measure_steps(inspected.value().network);
      if (!times.ok()) return fail(times.error());
      facts.step_ms = std::move(times.value());
      facts.measured_on = base_name(inspected.value().network->device().library_path());
    }
    if (Status s = write_text(html.text(), page_of(model, facts)); !s.ok()) return fail(s.error());
    std::printf("%s: open it in a browser\n", printable(html.text()).c_str());
  } else if (estimate) {
    if (as_json) {
      print_json(estimate_to_json(model, hardware.value()));
    } else {
      print_estimate(model, hardware.value());
    }
  } else if (as_json) {
    print_json(network::model_to_json(model));
  } else if (as_dot) {
    std::printf("%s", dot_of(model).c_str());
  } else {
    print_table(model, inspected.value().network.get());
  }
  if (decoder.ok()) return 0;
  return fail(decoder.error().within("network file '" + source.path + "'"));
}

}  // namespace dvnn::tools
