// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "network/dvn_file.h"
#include "network/model_json.h"
#include "tools/commands.h"
#include "tools/inspect_estimate.h"
#include "tools/options.h"

namespace dvnn::tools {
namespace {

using network::Model;
using network::Step;
using network::StepKind;

size_t weight_bytes(const Step& step) {
  size_t bytes = 0;
  device::Dims at = {step.command.w, step.command.h, step.command.c};
  for (size_t i = 0; i < step.command.runs.size(); ++i) {
    const device::ConvRun& run = step.command.runs[i];
    if (run.conv != device::ConvKind::kNone) {
      bytes += packed_weights_size(device::run_geometry(run, at.c));
    }
    at = (step.command.topo >> i) & 1 ? device::Dims{step.command.w, step.command.h, step.command.c}
                                      : device::run_output(run, at);
  }
  return bytes;
}

// "conv 3x3/2+relu, max 2x2/2": what the device does in a step.
std::string describe(const Step& step) {
  if (step.kind == StepKind::kCpu) return step.type;
  static constexpr const char* kConv[] = {"", "conv",   "", "depthwise",
                                          "", "deconv", "", "dw-deconv"};
  static constexpr const char* kPool[] = {"", "max", "avg", "", "upsample"};
  static constexpr const char* kAct[] = {"", "tanh", "relu", "sigmoid", "prelu", "elu", "relu6"};
  std::string text;
  for (const device::ConvRun& run : step.command.runs) {
    if (!text.empty()) text += " | ";
    if (run.conv != device::ConvKind::kNone) {
      text += format("%s %dx%d", kConv[static_cast<int>(run.conv)], run.kernel.x, run.kernel.y);
      if (run.stride.x > 1 || run.stride.y > 1) text += format("/%d", run.stride.x);
      if (run.dilation.x > 1 || run.dilation.y > 1) text += format(" dil%d", run.dilation.x);
    }
    if (step.command.eltwise_add) text += "+add";
    if (run.pool != device::PoolKind::kNone) {
      text += format("%s%s %dx%d/%d", text.empty() || text.back() == ' ' ? "" : "+",
                     kPool[static_cast<int>(run.pool)], run.pool_size.x, run.pool_size.y,
                     run.pool_stride.x);
    }
    if (run.activation != device::Activation::kNone) {
      text += format("+%s", kAct[static_cast<int>(run.activation)]);
    }
  }
  return text;
}

void print_table(const Model& model) {
  const auto& picture = model.input.picture;
  const auto& input = model.tensors[static_cast<size_t>(model.input.tensor)];
  std::printf("network   %s (%s)\nsource    %s\n", model.name.c_str(), model.producer.c_str(),
              model.source.c_str());
  std::printf("input     %s %s %s, %s, mean %g,%g,%g scale %g,%g,%g, %s\n",
              input.desc.shape.to_string().c_str(), to_string(input.desc.type),
              to_string(input.desc.layout), to_string(picture.order), picture.mean[0],
              picture.mean[1], picture.mean[2], picture.scale[0], picture.scale[1],
              picture.scale[2], to_string(picture.resize));
  for (const auto& output : model.outputs) {
    const TensorDesc& desc = model.tensors[static_cast<size_t>(output.tensor)].desc;
    std::printf("output    %s: %s %s %s\n", output.name.c_str(), desc.shape.to_string().c_str(),
                to_string(desc.type), to_string(desc.layout));
  }
  std::printf("decoder   %s; %zu labels\n",
              model.decoder.name.empty() ? "none" : model.decoder.name.c_str(),
              model.labels.size());
  std::printf("\n%4s %-6s %-28s %-26s %-16s %-16s %10s %10s\n", "step", "where", "name", "what",
              "in", "out", "MACs", "weights B");
  int64_t macs = 0;
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const Step& step = model.steps[i];
    auto shape = [&](const std::vector<int>& list) {
      return list.empty() ? std::string("-")
                          : model.tensors[static_cast<size_t>(list[0])].desc.shape.to_string();
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

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_dot(const Model& model) {
  std::printf("digraph %s {\n  node [shape=box];\n", quoted(model.name).c_str());
  // A tensor is known by the bytes it occupies: a step reads whatever last wrote them.
  auto overlaps = [&](int a, int b) {
    const auto& x = model.tensors[static_cast<size_t>(a)];
    const auto& y = model.tensors[static_cast<size_t>(b)];
    const uint64_t x_end = x.offset + static_cast<uint64_t>(x.desc.bytes());
    const uint64_t y_end = y.offset + static_cast<uint64_t>(y.desc.bytes());
    return x.storage == y.storage && x.offset < y_end && y.offset < x_end;
  };
  std::printf("  input [label=\"input\", shape=ellipse];\n");
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const Step& step = model.steps[i];
    std::printf("  s%zu [label=%s%s];\n", i, quoted(step.name + "\n" + describe(step)).c_str(),
                step.kind == StepKind::kCpu ? ", style=dashed" : "");
    for (int in : step.inputs) {
      bool found = false;
      uint64_t covered = 0;
      const uint64_t wanted =
          static_cast<uint64_t>(model.tensors[static_cast<size_t>(in)].desc.bytes());
      for (size_t k = i; k-- > 0 && covered < wanted;) {
        for (int out : model.steps[k].outputs) {
          if (!overlaps(in, out)) continue;
          std::printf("  s%zu -> s%zu;\n", k, i);
          covered += static_cast<uint64_t>(model.tensors[static_cast<size_t>(out)].desc.bytes());
          found = true;
        }
      }
      if (!found) std::printf("  input -> s%zu;\n", i);
    }
  }
  std::printf("}\n");
}

}  // namespace

int inspect_command(int argc, char** argv) {
  gboolean as_json = FALSE, as_dot = FALSE, estimate = FALSE;
  OptionText board;
  const GOptionEntry entries[] = {
      {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the file's description as JSON", nullptr},
      {"dot", 0, 0, G_OPTION_ARG_NONE, &as_dot, "Print the steps as a Graphviz graph", nullptr},
      {"estimate", 0, 0, G_OPTION_ARG_NONE, &estimate,
       "Print what each command would take on a board; with --json as JSON", nullptr},
      {"board", 0, 0, G_OPTION_ARG_STRING, board.out(),
       "For --estimate: clock=MHZ,macs=N,bus=BYTES_PER_CLOCK,ub=BYTES,command=US, any of them",
       "BOARD"},
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
      std::printf("%s\n", estimate_to_json(model.value(), hardware.value()).dump(1).c_str());
    } else {
      print_estimate(model.value(), hardware.value());
    }
  } else if (as_json) {
    std::printf("%s\n", network::model_to_json(model.value()).dump(1).c_str());
  } else if (as_dot) {
    print_dot(model.value());
  } else {
    print_table(model.value());
  }
  return 0;
}

}  // namespace dvnn::tools
