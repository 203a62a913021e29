// SPDX-License-Identifier: Apache-2.0
#include "network/dvn_file.h"

#include <algorithm>
#include <climits>
#include <functional>

#include "base/format.h"
#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "device/limits.h"
#include "layers/attributes.h"
#include "network/model.h"
#include "tensor/tensor.h"

namespace dvnn::network {
namespace {

using device::ConvRun;
// --- writing ---------------------------------------------------------------------------------

Json pair(const device::Extent& e) {
  return {e.x, e.y};
}
Json sides(const device::Pad& p) {
  return {p.left, p.right, p.top, p.bottom};
}

// Names of the driver's enumerations; gaps in their numbering are empty.
constexpr const char* kConvNames[] = {"none", "conv",   "", "depthwise",
                                      "",     "deconv", "", "depthwise_deconv"};
constexpr const char* kPoolNames[] = {"none", "max", "average", "", "upsample"};
constexpr const char* kActivationNames[] = {"none",  "tanh", "relu", "sigmoid",
                                            "prelu", "elu",  "relu6"};
constexpr const char* kWeightNames[] = {"none", "float16", "", "quantised"};
constexpr const char* kStorageNames[] = {"io", "constant"};

template <typename Enum, size_t N>
const char* name_of(Enum value, const char* const (&names)[N]) {
  return nth(names, value);
}

}  // namespace

Json run_to_json(const ConvRun& run) {
  Json out = {{"m", run.m}};
  if (run.conv != device::ConvKind::kNone) {
    out["conv"] = {{"kind", name_of(run.conv, kConvNames)},
                   {"kernel", pair(run.kernel)},
                   {"stride", pair(run.stride)},
                   {"dilation", pair(run.dilation)},
                   {"pad", sides(run.conv_pad)},
                   {"weight_format", name_of(run.weight_format, kWeightNames)},
                   {"weight_offset", run.weight_offset}};
  }
  if (run.pool != device::PoolKind::kNone) {
    out["pool"] = {{"kind", name_of(run.pool, kPoolNames)},
                   {"size", pair(run.pool_size)},
                   {"stride", pair(run.pool_stride)},
                   {"pad", sides(run.pool_pad)},
                   {"scale", run.pool_scale}};
  }
  if (run.activation != device::Activation::kNone) {
    out["activation"] = {{"kind", name_of(run.activation, kActivationNames)},
                         {"param", run.activation_param}};
  }
  return out;
}

namespace {

Json step_to_json(const Step& step) {
  Json out = {{"name", step.name},
              {"layers", step.layers},
              {"inputs", step.inputs},
              {"outputs", step.outputs}};
  if (step.kind == StepKind::kCpu) {
    out["cpu"] = {{"type", layers::type_of(*step.layer)},
                  {"params", layers::params_of(*step.layer)}};
    return out;
  }
  const device::ConvCommand& cmd = step.command;
  Json runs = Json::array();
  for (const ConvRun& run : cmd.runs) runs.push_back(run_to_json(run));
  out["device"] = {{"w", cmd.w},
                   {"h", cmd.h},
                   {"c", cmd.c},
                   {"topo", cmd.topo},
                   {"hwc", cmd.hwc},
                   {"eltwise_add", cmd.eltwise_add},
                   {"runs", std::move(runs)}};
  return out;
}

Json tensor_to_json(const TensorInfo& tensor) {
  Json out = to_json(tensor.desc);
  out["name"] = tensor.name;
  out["storage"] = name_of(tensor.storage, kStorageNames);
  out["offset"] = tensor.offset;
  return out;
}

Json place_to_json(const WeightPlace& place) {
  Json out = {{"offset", place.offset}};
  if (place.quantised) out["quantised"] = true;
  if (place.prelu) out["prelu"] = true;
  if (place.dilated) out["dilated"] = true;
  if (place.fixed) out["fixed"] = true;
  for (const WeightPlace& part : place.rest) out["rest"].push_back(place_to_json(part));
  return out;
}

// In a file, the place of a node's weights is a member of the node.
Json saved_to_json(const SavedGraph& saved) {
  Json out = saved.graph;
  for (const auto& [node, place] : saved.weights) {
    nth(out["nodes"], node)["weights"] = place_to_json(place);
  }
  if (saved.quantised) out["quantised"] = *saved.quantised;
  return out;
}

// --- reading ---------------------------------------------------------------------------------

// Reads a string field through `parse`, and records its error.
template <typename T>
T parsed(JsonReader* in, const char* name,
         const std::function<Result<T>(std::string_view)>& parse) {
  const std::string text = in->text(name);
  if (!in->ok()) return T{};
  Result<T> value = parse(text);
  if (value.ok()) return value.value();
  in->fail(name, value.error().message);
  return T{};
}

template <typename Enum, size_t N>
Enum named(JsonReader* in, const char* name, const char* const (&names)[N]) {
  return parsed<Enum>(in, name, [&](std::string_view text) -> Result<Enum> {
    if (text.empty()) return malformed("must not be empty");
    return parse_name<Enum>(text, names, "name");
  });
}

device::Extent read_pair(JsonReader* in, const char* name) {
  const std::vector<int> v = in->integers(name, 1, device::kMaxStride, 2);
  if (v.size() != 2) {
    in->fail(name, "must be [x, y]");
    return {};
  }
  return {v[0], v[1]};
}

device::Pad read_sides(JsonReader* in, const char* name) {
  const std::vector<int> v = in->integers(name, 0, device::kMaxPadRightBottom, 4);
  if (v.size() != 4) {
    in->fail(name, "must be [left, right, top, bottom]");
    return {};
  }
  return {v[0], v[1], v[2], v[3]};
}

}  // namespace

Result<ConvRun> run_from_json(const Json& object) {
  ConvRun run;
  JsonReader in(object, "a run");
  run.m = static_cast<int>(in.integer("m", 1, device::kMaxChannels));
  if (const Json* conv = in.member("conv")) {
    JsonReader c(*conv, "'conv'");
    run.conv = named<device::ConvKind>(&c, "kind", kConvNames);
    run.kernel = read_pair(&c, "kernel");
    run.stride = read_pair(&c, "stride");
    run.dilation = read_pair(&c, "dilation");
    run.conv_pad = read_sides(&c, "pad");
    run.weight_format = named<device::WeightFormat>(&c, "weight_format", kWeightNames);
    run.weight_offset = static_cast<uint64_t>(c.integer("weight_offset", 0, INT64_MAX));
    DVNN_TRY(c.status());
  }
  if (const Json* pool = in.member("pool")) {
    JsonReader p(*pool, "'pool'");
    run.pool = named<device::PoolKind>(&p, "kind", kPoolNames);
    run.pool_size = read_pair(&p, "size");
    run.pool_stride = read_pair(&p, "stride");
    run.pool_pad = read_sides(&p, "pad");
    run.pool_scale = static_cast<float>(p.number("scale", 1.0));
    DVNN_TRY(p.status());
  }
  if (const Json* activation = in.member("activation")) {
    JsonReader a(*activation, "'activation'");
    run.activation = named<device::Activation>(&a, "kind", kActivationNames);
    run.activation_param = static_cast<float>(a.number("param", 0.0));
    DVNN_TRY(a.status());
  }
  DVNN_TRY(in.status());
  return run;
}

namespace {

Result<device::ConvCommand> command_from_json(const Json& object) {
  device::ConvCommand cmd;
  JsonReader in(object, "'device'");
  cmd.w = static_cast<int>(in.integer("w", 1, device::kMaxExtent));
  cmd.h = static_cast<int>(in.integer("h", 1, device::kMaxExtent));
  cmd.c = static_cast<int>(in.integer("c", 1, device::kMaxChannels));
  cmd.topo = static_cast<uint32_t>(in.integer("topo", 1, UINT32_MAX));
  cmd.hwc = in.boolean("hwc", false);
  cmd.eltwise_add = in.boolean("eltwise_add", false);
  const Json* runs = in.member("runs");
  if (!runs || !runs->is_array() || runs->size() > device::kMaxRuns) {
    in.fail("runs", format("must be an array of at most %zu runs", device::kMaxRuns));
  }
  DVNN_TRY(in.status());
  for (const Json& item : *runs) {
    DVNN_ASSIGN(ConvRun run, run_from_json(item));
    cmd.runs.push_back(run);
  }
  return cmd;
}

Result<Step> step_from_json(const Json& object) {
  Step step;
  JsonReader in(object, "a step");
  step.name = in.text("name");
  step.layers = in.texts("layers", kMaxListEntries);
  step.inputs = in.integers("inputs", 0, INT_MAX, kMaxListEntries);
  step.outputs = in.integers("outputs", 0, INT_MAX, kMaxListEntries);
  const Json* device = in.member("device");
  const Json* cpu = in.member("cpu");
  if (!device == !cpu) in.fail("device", "a step has either 'device' or 'cpu'");
  DVNN_TRY(in.status());
  if (device) {
    step.kind = StepKind::kDevice;
    DVNN_ASSIGN(step.command, command_from_json(*device));
    return step;
  }
  JsonReader c(*cpu, "'cpu'");
  const std::string type = c.text("type");
  const Json* params = c.member("params");
  DVNN_TRY(c.status());
  auto layer = layers::read_layer(type, params);
  if (!layer.ok()) return layer.error().within("layer '" + printable(step.name) + "'");
  step.layer = std::move(layer.value());
  return step;
}

Result<TensorInfo> tensor_from_json(const Json& object) {
  TensorInfo tensor;
  JsonReader in(object, "a tensor");
  tensor.name = in.text("name");
  tensor.desc = read_desc(&in);
  tensor.storage = named<Storage>(&in, "storage", kStorageNames);
  tensor.offset = static_cast<uint64_t>(in.integer("offset", 0, kMaxBufferBytes));
  DVNN_TRY(in.status());
  return tensor;
}

Result<InputSpec> read_picture(JsonReader* in) {
  InputSpec picture;
  picture.order = parsed<ChannelOrder>(in, "color", parse_channel_order);
  picture.resize = parsed<ResizeRule>(in, "resize", parse_resize_rule);
  const std::vector<float> mean = in->numbers("mean", 3), scale = in->numbers("scale", 3);
  const std::vector<int> pad = in->integers("pad_value", 0, 255, 3);
  if (mean.size() != 3) in->fail("mean", "needs 3 values");
  if (scale.size() != 3) in->fail("scale", "needs 3 values");
  if (pad.size() != 3) in->fail("pad_value", "needs 3 values");
  DVNN_TRY(in->status());
  std::copy(mean.begin(), mean.end(), picture.mean.begin());
  std::copy(scale.begin(), scale.end(), picture.scale.begin());
  for (size_t i = 0; i < 3; ++i) picture.pad_value[i] = static_cast<uint8_t>(pad[i]);
  picture.transposed = in->boolean("transposed", false);
  DVNN_TRY(in->status());
  return picture;
}

Result<InputInfo> input_from_json(const Json& object) {
  InputInfo input;
  JsonReader in(object, "'input'");
  input.tensor = static_cast<int>(in.integer("tensor", 0, INT_MAX));
  DVNN_ASSIGN(input.picture, read_picture(&in));
  input.folded_scale = in.numbers("folded_scale", 3);
  input.folded_bias = in.numbers("folded_bias", 3);
  if (input.folded_scale.size() != input.folded_bias.size()) {
    in.fail("folded_scale", "needs as many values as folded_bias");
  }
  DVNN_TRY(in.status());
  return input;
}

Status read_decoder(JsonReader* in, DecoderInfo* decoder) {
  const Json* object = in->member("decoder");
  if (!object) return {};
  JsonReader d(*object, "'decoder'");
  decoder->name = d.text("name", "");
  if (const Json* params = d.member("params")) decoder->params = *params;
  return d.status();
}

Result<OutputInfo> output_from_json(const Json& object) {
  OutputInfo output;
  JsonReader in(object, "an output");
  output.name = in.text("name");
  output.tensor = static_cast<int>(in.integer("tensor", 0, INT_MAX));
  DVNN_TRY(in.status());
  return output;
}

Result<ExtraInput> extra_input_from_json(const Json& object) {
  ExtraInput input;
  JsonReader in(object, "an extra input");
  input.name = in.text("name");
  input.tensor = static_cast<int>(in.integer("tensor", 0, INT_MAX));
  input.next = static_cast<int>(in.integer("next", 0, INT_MAX, -1));
  DVNN_TRY(in.status());
  return input;
}

// Reads the place of a node's weights, or with `inner` that of one of its further parts.
Result<WeightPlace> place_from_json(const Json& object, bool inner = false) {
  WeightPlace place;
  JsonReader in(object, "'weights'");
  place.offset = static_cast<uint64_t>(in.integer("offset", 0, INT64_MAX));
  place.quantised = in.boolean("quantised", false);
  place.prelu = in.boolean("prelu", false);
  place.dilated = in.boolean("dilated", false);
  place.fixed = in.boolean("fixed", false);
  const Json* rest = inner ? nullptr : in.member("rest");
  if (rest && (!rest->is_array() || rest->size() > kMostWeightParts)) {
    in.fail("rest", format("must be an array of at most %zu places", kMostWeightParts));
  }
  DVNN_TRY(in.status());
  for (size_t i = 0; rest && i < rest->size(); ++i) {
    DVNN_ASSIGN(WeightPlace part, place_from_json((*rest)[i], true));
    place.rest.push_back(std::move(part));
  }
  return place;
}

// Reads `quantised` and the places of weights, and removes them from the graph. The graph itself is
// only checked when it is planned again, by load_graph().
Status read_saved(Json graph, const Cancellation* cancellation, SavedGraph* saved) {
  if (graph.is_object()) {
    JsonReader in(graph, "'graph'");
    if (in.member("quantised")) saved->quantised = in.boolean("quantised", false);
    DVNN_TRY(in.status());
    graph.erase("quantised");
  }
  const auto nodes = graph.is_object() ? graph.find("nodes") : graph.end();
  if (nodes != graph.end() && nodes->is_array()) {
    int index = 0;
    for (Json& node : *nodes) {
      DVNN_TRY(check_cancelled(cancellation));
      const int own = index++;
      const auto weights = node.is_object() ? node.find("weights") : node.end();
      if (weights == node.end()) continue;
      auto place = place_from_json(*weights);
      if (!place.ok()) return place.error().within(format("graph node %d", own));
      saved->weights[own] = place.value();
      let_go(&*weights);
      node.erase(weights);
    }
  }
  saved->graph = std::move(graph);
  return {};
}

// Reads a required array, one element at a time; errors name the entry.
template <typename T>
Status read_list(JsonReader* in, const char* name, Result<T> (*read)(const Json&),
                 const Cancellation* cancellation, std::vector<T>* out) {
  const Json* list = in->member(name);
  if (!list || !list->is_array() || list->size() > kMaxListEntries) {
    in->fail(name, format("must be an array of at most %zu entries", kMaxListEntries));
    return in->status();
  }
  for (const Json& item : *list) {
    DVNN_TRY(check_cancelled(cancellation));
    Result<T> entry = read(item);
    if (!entry.ok()) {
      return entry.error().within(std::string(name) + "[" + std::to_string(out->size()) + "]");
    }
    out->push_back(std::move(entry.value()));
  }
  return {};
}

}  // namespace

Json model_to_json(const Model& model) {
  Json tensors = Json::array(), steps = Json::array(), outputs = Json::array();
  for (const TensorInfo& tensor : model.tensors) tensors.push_back(tensor_to_json(tensor));
  for (const Step& step : model.steps) steps.push_back(step_to_json(step));
  for (const OutputInfo& o : model.outputs) {
    outputs.push_back({{"name", o.name}, {"tensor", o.tensor}});
  }
  Json extra = Json::array();
  for (const ExtraInput& input : model.extra_inputs) {
    extra.push_back({{"name", input.name}, {"tensor", input.tensor}});
    if (input.is_state()) extra.back()["next"] = input.next;
  }
  const InputSpec& picture = model.input.picture;
  Json out = {{"name", model.name},
              {"producer", model.producer},
              {"source", model.source},
              {"input",
               {{"tensor", model.input.tensor},
                {"color", to_string(picture.order)},
                {"mean", picture.mean},
                {"scale", picture.scale},
                {"resize", to_string(picture.resize)},
                {"pad_value", picture.pad_value}}},
              {"io_bytes", model.io_bytes},
              {"constant_bytes", model.constant_bytes},
              {"tensors", std::move(tensors)},
              {"steps", std::move(steps)},
              {"outputs", std::move(outputs)},
              {"decoder", {{"name", model.decoder.name}, {"params", model.decoder.params}}},
              {"labels", model.labels}};
  if (!extra.empty()) out["extra_inputs"] = std::move(extra);
  if (picture.transposed) out["input"]["transposed"] = true;
  if (!model.input.folded_scale.empty()) {
    out["input"]["folded_scale"] = model.input.folded_scale;
    out["input"]["folded_bias"] = model.input.folded_bias;
  }
  if (!model.saved.graph.is_null()) out["graph"] = saved_to_json(model.saved);
  return out;
}

Result<Model> model_from_json(Json object, const Cancellation* cancellation) {
  Model model;
  const JsonEnd end(&object);
  JsonReader in(object, "the description");
  model.name = in.text("name", "");
  model.producer = in.text("producer", "");
  model.source = in.text("source", "");
  model.io_bytes = static_cast<uint64_t>(in.integer("io_bytes", 1, kMaxBufferBytes));
  model.constant_bytes = static_cast<uint64_t>(in.integer("constant_bytes", 0, kMaxBufferBytes, 0));
  model.labels = in.texts("labels", kMaxListEntries);
  const Json* input = in.member("input");
  if (!input) in.fail("input", "required but missing");
  DVNN_TRY(in.status());
  DVNN_ASSIGN(model.input, input_from_json(*input));
  DVNN_TRY(read_list(&in, "tensors", tensor_from_json, cancellation, &model.tensors));
  DVNN_TRY(read_list(&in, "steps", step_from_json, cancellation, &model.steps));
  DVNN_TRY(read_list(&in, "outputs", output_from_json, cancellation, &model.outputs));
  if (in.member("extra_inputs")) {
    DVNN_TRY(
        read_list(&in, "extra_inputs", extra_input_from_json, cancellation, &model.extra_inputs));
  }
  DVNN_TRY(read_decoder(&in, &model.decoder));
  if (const auto graph = object.find("graph"); graph != object.end()) {
    DVNN_TRY(read_saved(std::move(*graph), cancellation, &model.saved));
  }
  return model;
}

Status use_from_json(const Json& object, Model* model) {
  JsonReader in(object, "the network's information");
  model->labels = in.texts("labels", kMaxListEntries);
  DVNN_TRY(in.status());
  if (const Json* input = in.member("input")) {
    JsonReader picture(*input, "'input'");
    DVNN_ASSIGN(model->input.picture, read_picture(&picture));
  }
  return read_decoder(&in, &model->decoder);
}

}  // namespace dvnn::network
