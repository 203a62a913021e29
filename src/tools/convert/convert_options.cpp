// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/convert_options.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "convert/presets.h"
#include "decode/decoder_table.h"
#include "objects/label_file.h"
#include "plan/replan.h"
#include "tools/npy.h"

namespace dvnn::tools {
namespace {

constexpr const char* kKinds[] = {"caffe", "keras", "onnx", "tflite", "dvn"};
constexpr const char* kOrders[] = {"bgr", "rgb", "gray"};
constexpr const char* kResizes[] = {"stretch", "letterbox", "letterbox-top-left", "crop"};
constexpr const char* kLayouts[] = {"whc", "hwc"};
#define DVNN_NAME(name, create, image) name,
constexpr const char* kDecoders[] = {DVNN_DECODERS(DVNN_NAME)};
#undef DVNN_NAME

constexpr Option kConvertOptions[] = {
    {"from", 0, Takes::kText, "KIND", "Kind of model (default: by the files' names)", nullptr,
     kKinds},
    {"output", 'o', Takes::kFile, "FILE.dvn", "The file to write"},
    {"name", 0, Takes::kText, "NAME", "Name of the network"},
    {"mean", 0, Takes::kText, "M[,M,M]", "Taken off each channel, in pixel values 0..255", "0"},
    {"scale", 0, Takes::kText, "S[,S,S]", "Multiplies each channel after the mean is off", "1"},
    {"order", 0, Takes::kText, "ORDER", "Channels of the input", "bgr", kOrders},
    {"resize", 0, Takes::kText, "RULE", "How a picture becomes the input", "stretch", kResizes},
    {"transposed", 0, Takes::kNothing, nullptr,
     "The network wants pictures whose rows are columns, as those of MATLAB are"},
    {"pad-value", 0, Takes::kText, "P[,P,P]", "Pixel value beside a letterboxed picture", "0"},
    {"labels", 0, Takes::kFile, "FILE", "Text file with a label per line, class 0 first"},
    {"preset", 0, Takes::kText, "NAME",
     "Picture, decoder and labels of a family of models, see dvnet presets; other options stand "
     "above it"},
    {"decoder", 0, Takes::kText, "NAME", "Decoder of the outputs", nullptr, kDecoders},
    {"decoder-params", 0, Takes::kText, "JSON", "Its parameters: a JSON file, or the JSON itself"},
    {"decoder-library", 0, Takes::kFile, "LIBRARY",
     "The library that has it, where it is none of ours"},
    {"layout", 0, Takes::kText, "ORDER",
     "Order of the device's buffers, hwc with transposed weights", "whc", kLayouts},
    {"size", 0, Takes::kText, "WxH", "Size of the input in pixels instead of the model's own"},
    {"outputs", 0, Takes::kText, "NAME[,NAME]",
     "Stop at these results, by name: what others need is left out"},
    {"set", 0, Takes::kTexts, "NAME=VALUE|FILE.npy",
     "The values of an input that is no picture: a number for all of it, or an array; once for "
     "each "
     "input"},
    {"state", 0, Takes::kTexts, "OUT=IN[:DIMS]",
     "An output of an ONNX model that the next frame takes as this input; once for each. Usual "
     "names are found without it. DIMS such as 1x16x36x64: of the input, if the model leaves them "
     "open"},
    {"live", 0, Takes::kTexts, "NAME",
     "An input beside the picture that each frame brings, as dvnet run takes it; once for each"},
    {"quantize", 0, Takes::kNothing, nullptr,
     "Weights of 8 bits, by k-means per layer: half the bytes. Layers that would cost the outputs "
     "too much (cosine below 0.999) keep 16"},
    {"no-rounding", 0, Takes::kNothing, nullptr,
     "Of a quantised ONNX model: leave values between layers as they are computed, instead of "
     "rounding them to its few bits on the CPU"},
    {"no-rescale", 0, Takes::kNothing, nullptr,
     "Leave values beyond 16 bits as they are, instead of keeping a power of two of them"},
    {"layer-types", 0, Takes::kFile, "FILE",
     "Layer types of your own: a JSON file with their parameters and output shapes"},
    {"custom-layers", 0, Takes::kFile, "LIBRARY", "For --check: the library that has them"},
    {"emit-cpp", 0, Takes::kFile, "FOLDER",
     "Write C++ sources and NAME_weights.bin, too, as the dv-sdk converter does"},
    {"dot", 0, Takes::kFile, "FILE", "Write the steps as a Graphviz graph, too"},
    {"svg", 0, Takes::kFile, "FILE", "Write them as a picture, too (with Graphviz)"},
    {"json", 0, Takes::kFile, "FILE", "Write the network's description as JSON, too"},
    {"report", 0, Takes::kFile, "FILE",
     "Write what was decided as JSON: steps, reasons, MACs, bytes, what --check finds"},
    {"check", 0, Takes::kFile, "FOLDER",
     "Tell what the device's 16 bits (or 8) lose against FP32 on a folder of pictures, and measure "
     "values with them"},
    {"verbose", 'v', Takes::kNothing, nullptr, "Print which layers run where, and why"}};

// "NAME=VALUE" or "NAME=FILE.npy". Names of inputs may contain '=', values do not.
Result<import::GivenInput> parse_given(const std::string& text) {
  const size_t equals = text.rfind('=');
  import::GivenInput given;
  given.name = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (ends_with(value, ".npy")) {
    DVNN_ASSIGN(NpyArray array, read_npy(value));
    given.dims = array.dims;
    given.values.assign(array.values.begin(), array.values.end());
    return given;
  }
  char* end = nullptr;
  given.values = {g_ascii_strtod(value.c_str(), &end)};
  if (!value.empty() && *end == '\0' && std::isfinite(given.values[0]) && !given.name.empty()) {
    return given;
  }
  return invalid_argument("--set '" + text + "' is not NAME=NUMBER or NAME=FILE.npy");
}

// "OUT=IN" or "OUT=IN:1x16x36x64". Names may contain ':', if dimensions do not follow it.
Result<import::StateOption> parse_state(const std::string& text) {
  const size_t equals = text.find('=');
  import::StateOption state;
  state.output = text.substr(0, equals);
  state.input = equals == std::string::npos ? "" : text.substr(equals + 1);
  const size_t colon = state.input.rfind(':');
  const std::string dims = colon == std::string::npos ? "" : state.input.substr(colon + 1);
  const bool are_dims = dims.find_first_not_of("0123456789x") == std::string::npos &&
                        dims.find('x') != std::string::npos;
  if (are_dims) {
    std::istringstream in(dims);
    for (std::string part; std::getline(in, part, 'x');) {
      constexpr size_t kMostDigits = 9;
      const bool good = !part.empty() && part.size() <= kMostDigits && std::stoi(part) > 0;
      state.dims.push_back(good ? std::stoi(part) : -1);
    }
    if (dims.back() == 'x') state.dims.push_back(-1);
    state.input.resize(colon);
  }
  const bool good = !state.output.empty() && !state.input.empty() &&
                    std::all_of(state.dims.begin(), state.dims.end(), [](auto d) { return d > 0; });
  if (good) return state;
  return invalid_argument(
      "--state '" + text +
      "' is not OUT=IN, the names of an output and of the input that it becomes, or OUT=IN:1x2x3");
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

Status fill_ends(const Arguments& arguments, import::ImportOptions* options) {
  options->outputs = parts_of(arguments.text("outputs"));
  for (const std::string& text : arguments.texts("set")) {
    DVNN_ASSIGN(import::GivenInput given, parse_given(text));
    options->inputs.push_back(std::move(given));
  }
  for (const std::string& text : arguments.texts("state")) {
    DVNN_ASSIGN(import::StateOption state, parse_state(text));
    options->states.push_back(std::move(state));
  }
  options->live = arguments.texts("live");
  if (!arguments.given("size")) return {};
  auto size = plan::parse_size(arguments.text("size"));
  if (!size.ok()) return size.error().within("--size");
  options->width = size.value().width;
  options->height = size.value().height;
  return {};
}

Status take_preset(const std::string& name, convert::ConvertOptions* options) {
  DVNN_ASSIGN(convert::Preset preset, convert::find_preset(name));
  options->preset = name;
  options->picture = preset.picture;
  options->labels = std::move(preset.labels);
  options->preset_labels = !options->labels.empty();
  options->decoder = std::move(preset.decoder);
  options->decoder_params = std::move(preset.params);
  return {};
}

// Options of the command line take precedence over a preset.
Status fill_picture(const Arguments& arguments, InputSpec* picture) {
  const bool plain = !arguments.given("preset");
  if (plain || arguments.given("order")) {
    DVNN_ASSIGN(picture->order, parse_channel_order(arguments.text("order")));
  }
  if (plain || arguments.given("resize")) {
    DVNN_ASSIGN(picture->resize, parse_resize_rule(arguments.text("resize")));
  }
  DVNN_ASSIGN(const auto mean, parse_triple("--mean", arguments.text("mean")));
  DVNN_ASSIGN(const auto scale, parse_triple("--scale", arguments.text("scale")));
  DVNN_ASSIGN(const auto pad, parse_triple("--pad-value", arguments.text("pad-value")));
  for (size_t i = 0; i < 3; ++i) {
    if (pad[i] < 0 || pad[i] > 255) {
      return invalid_argument(format("--pad-value %g is not 0..255", pad[i]));
    }
    if (scale[i] == 0) return invalid_argument("--scale 0 would make every pixel the same");
    if (plain || arguments.given("mean")) picture->mean[i] = mean[i];
    if (plain || arguments.given("scale")) picture->scale[i] = scale[i];
    if (plain || arguments.given("pad-value")) picture->pad_value[i] = static_cast<uint8_t>(pad[i]);
  }
  return {};
}

// The file keeps only the library's name, because its folder may differ on another machine.
Status take_decoder_library(const std::string& path, convert::ConvertOptions* options) {
  if (options->decoder.empty() || !options->decoder_params.is_object()) {
    return invalid_argument("--decoder-library '" + path +
                            "' goes with --decoder, the name of one in it");
  }
  DVNN_ASSIGN(options->decoder_library, decode::CustomDecoders::open(path));
  options->decoder_params["library"] = base_name(path);
  return {};
}

}  // namespace

Span<const Option> convert_option_table() {
  return kConvertOptions;
}

Status fill_options(const Arguments& arguments, convert::ConvertOptions* options) {
  if (arguments.given("preset")) DVNN_TRY(take_preset(arguments.text("preset"), options));
  DVNN_TRY(fill_picture(arguments, &options->picture));
  options->picture.transposed |= arguments.given("transposed");
  const bool preset = arguments.given("preset");
  options->given = {arguments.given("order") || preset, arguments.given("resize") || preset,
                    arguments.given("mean") || preset, arguments.given("scale") || preset,
                    arguments.given("pad-value") || preset};
  options->name = arguments.text("name");
  if (arguments.given("labels")) {
    DVNN_ASSIGN(options->labels, objects::read_labels(arguments.text("labels")));
    options->preset_labels = false;
  }
  if (arguments.given("decoder")) {
    options->decoder = arguments.text("decoder");
    options->decoder_params = Json::object();
  }
  if (arguments.given("decoder-params")) {
    if (options->decoder.empty()) {
      return invalid_argument(
          "--decoder-params are those of a decoder: name it by --decoder, or by --preset");
    }
    DVNN_ASSIGN(const std::string json, json_argument(arguments.text("decoder-params")));
    DVNN_ASSIGN(Json params, parse_written_json(json, "--decoder-params"));
    // Options of the command line override single parameters of a preset.
    options->decoder_params.merge_patch(params);
  }
  if (arguments.given("decoder-library")) {
    DVNN_TRY(take_decoder_library(arguments.text("decoder-library"), options));
  }
  const std::string layout = arguments.text("layout");
  if (layout != "whc" && layout != "hwc") {
    return invalid_argument("--layout '" + layout + "' is not whc or hwc");
  }
  options->hwc = layout == "hwc";
  options->quantise = arguments.given("quantize");
  options->rescale = !arguments.given("no-rescale");
  options->import.unrounded = arguments.given("no-rounding");
  if (arguments.given("layer-types")) {
    constexpr size_t kMaxBytes = 1 << 20;
    DVNN_ASSIGN(const std::string text, read_file(arguments.text("layer-types"), kMaxBytes));
    auto declared = import::parse_custom_layers(text);
    if (!declared.ok()) return declared.error().within("'" + arguments.text("layer-types") + "'");
    options->import.custom_layers = std::move(declared.value());
  }
  return fill_ends(arguments, &options->import);
}

}  // namespace dvnn::tools
