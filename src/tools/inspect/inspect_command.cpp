// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "decode/custom_decoders.h"
#include "decode/decoder.h"
#include "network/dvn_file.h"
#include "network/generated_network.h"
#include "network/model_decoder.h"
#include "tools/board/board_report.h"
#include "tools/commands.h"
#include "tools/inspect/estimates.h"
#include "tools/inspect/steps.h"
#include "tools/options.h"
#include "tools/page/page.h"
#include "tools/page/step_times.h"

namespace dvnn::tools {
namespace {

using network::Model;
using network::Step;
using network::StepKind;

// Prints ASCII only, because labels and parameters may be unprintable.
void print_json(const Json& json) {
  std::printf("%s\n", json_text(json, 1, true).c_str());
}

// Names the library of a decoder, if the file gives one.
std::string library_text(const network::DecoderInfo& decoder) {
  const auto library = decoder.params.find("library");
  if (library == decoder.params.end() || !library->is_string()) return "";
  return " of library " + printable(library->get<std::string>());
}

// Returns the confidences that the network demands of single classes, in the form of dvdecode's
// property.
std::string thresholds_text(const network::DecoderInfo& decoder) {
  std::string text;
  const auto thresholds = decode::read_class_thresholds(decoder.params);
  if (!thresholds.ok()) return text;  // the decoder's error says it
  for (const auto& [label, threshold] : thresholds.value()) {
    text += format("%s%s:%g", text.empty() ? "" : ",", printable(label).c_str(), double{threshold});
  }
  return text;
}

// Tells the number of labels, and the first ones.
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
  // validate() has checked that names are printable. Generated sources have no producer.
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
  for (const auto& extra : model.extra_inputs) {
    const TensorDesc& desc = model.tensor(extra.tensor).desc;
    const std::string next =
        extra.is_state() ? ", then '" + model.tensor(extra.next).name + "' of the frame before"
                         : "";
    std::printf("%s %s: %s %s %s%s\n", extra.is_state() ? "state    " : "live     ",
                extra.name.c_str(), desc.shape.to_string().c_str(), to_string(desc.type),
                to_string(desc.layout),
                extra.is_state() ? (": zeros at first" + next).c_str() : "");
  }
  for (const auto& output : model.outputs) {
    const TensorDesc& desc = model.tensor(output.tensor).desc;
    std::printf("output    %s: %s %s %s\n", output.name.c_str(), desc.shape.to_string().c_str(),
                to_string(desc.type), to_string(desc.layout));
  }
  std::printf("decoder   %s%s; %s\n",
              model.decoder.name.empty() ? "none" : model.decoder.name.c_str(),
              library_text(model.decoder).c_str(), labels_text(model.labels).c_str());
  const std::string thresholds = thresholds_text(model.decoder);
  if (!thresholds.empty()) std::printf("             thresholds %s\n", thresholds.c_str());
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

// Prints the layers of generated sources. Their costs are in commands that only the device's driver
// reads.
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

// The inspected network or model. A network is loaded onto a device only if that is needed.
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
  } else {  // as in the file; a device may not need all of it
    DVNN_ASSIGN(inspected.model, network::read_dvn(source.path));
  }
  return inspected;
}

// Returns the error of a command line, or an empty string.
std::string mistake_in(const Arguments& arguments) {
  const auto given = [&](const char* name) { return arguments.given(name); };
  if (arguments.files().size() != 1) return "needs one network file";
  if (given("board") && !given("estimate") && !given("html")) {
    return "--board goes with --estimate or --html";
  }
  if (!given("measure") && !network::is_generated(arguments.files()[0])) {
    for (const char* name : {"device", "custom-layers", "weights"}) {
      if (!given(name)) continue;
      return std::string("--") + name + " goes with --measure: a .dvn file is only read otherwise";
    }
  }
  if (given("measure") && !given("html")) return "--measure goes with --html";
  const bool one_json = given("json") && given("estimate");  // the estimate, as JSON
  if (given("json") + given("dot") + given("estimate") + given("html") - one_json > 1) {
    return "shows one thing: --html, --json, --dot or --estimate";
  }
  return "";
}

// Writes the page for a browser, with times on this machine if `measure`.
Status write_page(const std::string& path, const Inspected& inspected, PageFacts facts,
                  bool measure) {
  if (measure) {
    DVNN_ASSIGN(facts.step_ms, measure_steps(inspected.network));
    facts.measured_on = base_name(inspected.network->device().library_path());
  }
  DVNN_TRY(replace_file(path, {page_of(inspected.model, facts)}));
  std::printf("%s: open it in a browser\n", printable(path).c_str());
  return {};
}

int inspect(const Arguments& arguments) {
  const std::string mistake = mistake_in(arguments);
  if (!mistake.empty()) return wrong_usage(arguments.command(), mistake);
  std::string about_board;
  const auto hardware = read_board(arguments.text("board"), &about_board);
  if (!hardware.ok()) {
    return wrong_usage(arguments.command(), "--board: " + hardware.error().message);
  }
  const bool as_json = arguments.given("json"), as_dot = arguments.given("dot");
  const bool estimate = arguments.given("estimate"), measure = arguments.given("measure");
  network::NetworkSource source;
  source.path = arguments.files()[0];
  source.weights = arguments.text("weights");
  source.custom_layers = arguments.text("custom-layers");
  auto inspected = open_inspected(source, arguments.text("device"), measure);
  if (!inspected.ok()) return fail(inspected.error());
  const Model& model = inspected.value().model;
  const bool generated = network::is_generated(source.path);
  if (generated && (as_dot || estimate)) {
    return fail({ErrorCode::kUnsupported,
                 "'" + source.path +
                     "' is C++ code: its commands are not known before they run, so "
                     "--estimate and --dot take .dvn files only"});
  }
  // Also reports errors in creating the network's decoder.
  std::shared_ptr<const decode::CustomDecoders> library;
  if (arguments.given("decoder-library")) {
    auto opened = decode::CustomDecoders::open(arguments.text("decoder-library"));
    if (!opened.ok()) return fail(opened.error());
    library = std::move(opened.value());
  }
  const auto decoder = network::create_decoder(model, library.get());
  if (arguments.given("html")) {
    PageFacts facts;
    facts.hardware = hardware.value();
    facts.generated = generated;
    if (!decoder.ok()) facts.decoder_error = decoder.error().message;
    const Status written = write_page(arguments.text("html"), inspected.value(), facts, measure);
    if (!written.ok()) return fail(written.error());
  } else if (estimate) {
    if (as_json) {
      print_json(estimate_to_json(model, hardware.value(), about_board));
    } else {
      print_estimate(model, hardware.value(), about_board);
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

constexpr Option kInspectOptions[] = {
    {"html", 0, Takes::kFile, "FILE",
     "Write one page for a browser: graph, memory over time, times, weights, warnings"},
    {"measure", 0, Takes::kNothing, nullptr,
     "For --html: run the network here, too, and show what each step takes"},
    {"json", 0, Takes::kNothing, nullptr, "Print the file's description as JSON"},
    {"dot", 0, Takes::kNothing, nullptr, "Print the steps as a Graphviz graph"},
    {"estimate", 0, Takes::kNothing, nullptr,
     "Print what each command would take on a board; with --json as JSON"},
    {"board", 0, Takes::kText, "BOARD",
     "For --estimate and --html: clock=MHZ,macs=N,bus=BYTES_PER_CLOCK,ub=BYTES,command=US,"
     "cpu=MILLIONS, any of them; or FILE.json, which `dvnet doctor --board-report` wrote on a "
     "board"},
    {"weights", 0, Takes::kFile, "FILE",
     "Packed weights, where the network is a library of generated sources"},
    {"custom-layers", 0, Takes::kFile, "LIBRARY",
     "For --measure: a library of CPU layers that the network names"},
    {"decoder-library", 0, Takes::kFile, "LIBRARY",
     "A library with the decoder that the network names"},
    {"device", 'd', Takes::kText, "DEVICE",
     "For --measure and libraries: device to run on, or its library (default: $DVNN_DEVICE, or "
     "auto)",
     nullptr, kDevices}};

}  // namespace

const Command kInspectCommand = {"inspect",
                                 "show a network's steps, shapes and sizes, also as a page",
                                 "NETWORK.dvn|NETWORK.so",
                                 "Shows a network: its steps, shapes, work and sizes.",
                                 kInspectOptions,
                                 inspect};

}  // namespace dvnn::tools
