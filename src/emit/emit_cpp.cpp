// SPDX-License-Identifier: Apache-2.0
#include "emit/emit_cpp.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/format.h"
#include "base/json.h"
#include "device/raw_command.h"
#include "layers/attributes.h"
#include "network/dvn_file.h"
#include "tensor/tensor.h"

namespace dvnn::emit {
namespace {

using network::Model;
using network::Step;
using network::StepKind;
using network::Storage;
using network::TensorInfo;

constexpr const char* kHead =
    "// Written by dvnet convert --emit-cpp.\n"
    "// Compile against include/dmp_network.h of gst-dvnn.\n";

std::string identifier(const std::string& name) {
  std::string out;
  for (char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    out += plain ? c : '_';
  }
  return out.empty() ? "network" : out;
}

// Makes a name safe within a comment: letters, digits and harmless marks. A backslash, or its
// trigraph, would continue the comment on the next line.
std::string remark(const std::string& name) {
  std::string out;
  for (char c : name) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\' && c != '?' && c != '*';
    out += plain ? c : c == '\\' ? '/' : '_';
  }
  return out;
}

// Returns an ASCII literal of exactly the string's bytes. Octal escapes end after three digits.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~' && c != '?') {
      out += c;
    } else {
      out += format("\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return out + "\"";
}

std::string raw_string(const Json& json) {
  const std::string text = json_text(json, -1, true);
  constexpr size_t kLongestMark = 16;  // the limit of C++
  std::string mark = "json";
  while (text.find(")" + mark + "\"") != std::string::npos) mark += '_';
  if (mark.size() > kLongestMark) return quoted(text);
  return "R\"" + mark + "(" + text + ")" + mark + "\"";
}

// Returns dimensions as the runtime has them: width, height and channels of a picture, else one
// number.
std::vector<int> dims_of(const TensorDesc& desc) {
  const Shape& s = desc.shape;
  const bool picture = s.rank == 4 && s.n() == 1 && desc.layout != Layout::kNchw;
  if (picture) return {s.w(), s.h(), s.c()};
  if (s.rank == 3 && s[0] == 1 && s[2] > 1) return {s[1], s[2]};
  return {static_cast<int>(s.elements())};
}

class Emitter {
 public:
  explicit Emitter(const Model& model) : model_(model), name_(identifier(model.name)) {}

  Result<CppSources> run() {
    DVNN_TRY(find_outputs());
    if (model_.steps.empty() || !reads_input(model_.steps[0])) add_input_layer();
    for (size_t i = 0; i < model_.steps.size(); ++i) {
      if (Status s = add_step(i); !s.ok()) {
        return s.error().within("layer '" + model_.steps[i].name + "'");
      }
    }
    add_joined_outputs();
    return CppSources{name_, header(), source(), glue()};
  }

 private:
  const TensorInfo& tensor(int index) const { return model_.tensor(index); }

  bool reads_input(const Step& step) const {
    return !step.inputs.empty() && step.inputs[0] == model_.input.tensor;
  }

  // Finds the last step that writes each output.
  Status find_outputs() {
    for (const auto& output : model_.outputs) {
      const TensorInfo& info = tensor(output.tensor);
      if (info.storage == Storage::kConstant) {
        return unsupported("output '" + output.name +
                           "' is a constant, which C++ sources cannot give");
      }
      int maker = -1;
      for (size_t i = 0; i < model_.steps.size(); ++i) {
        const TensorInfo& made = tensor(model_.steps[i].outputs[0]);
        const bool same = made.storage == Storage::kIo && made.offset == info.offset &&
                          made.desc.bytes() == info.desc.bytes();
        if (same) maker = static_cast<int>(i);
      }
      makers_.push_back(maker);
    }
    return {};
  }

  // --- layers ----------------------------------------------------------------------------------

  void begin_layer(const char* kind, const std::vector<std::string>& names) {
    const size_t i = bodies_.size();
    std::string body = format("\n// Layer %zu: %s\n", i, remark(kind).c_str());
    for (const std::string& name : names) body += "//   " + remark(name) + "\n";
    body += format("void C%s::Layer_%zu() {\n", name_.c_str(), i);
    bodies_.push_back(body);
  }

  void line(const std::string& text) { bodies_.back() += "  " + text + "\n"; }

  void put_dims(const char* field, const std::vector<int>& dims) {
    for (size_t i = 0; i < dims.size(); ++i) {
      line(format("layer.%s[%zu] = %d;", field, i, dims[i]));
    }
    line(format("layer.%s_size = %zu;", field, dims.size()));
  }

  void describe_layer(const std::string& name, const char* type, const TensorInfo& in,
                      const TensorInfo& out, bool from_device) {
    line(format("fpga_layer& layer = get_layer(%zu);", bodies_.size() - 1));
    line("layer.name = " + quoted(name) + ";");
    line(format("layer.type = %s;", type));
    line(format("layer.input_offs = %llu;", static_cast<unsigned long long>(in.offset)));
    line(format("layer.output_offs = %llu;", static_cast<unsigned long long>(out.offset)));
    line(format("layer.output_size = %zu;", out.desc.bytes()));
    put_dims("input_dim", dims_of(in.desc));
    put_dims("output_dim", dims_of(out.desc));
    line(format("layer.is_f32_output = %s;",
                out.desc.type == ElementType::kFloat32 ? "true" : "false"));
    line(format("layer.is_input_hw_layout = %s;", from_device ? "true" : "false"));
  }

  void end_layer(int step) {
    for (size_t k = 0; k < makers_.size(); ++k) {
      if (step < 0 || makers_[k] != step) continue;
      mark_output(k);
    }
    bodies_.back() += "}\n";
  }

  void mark_output(size_t k) {
    line("layer.is_output = true;");
    line(format("output_layers_[%zu] = &layer;", k));
  }

  void add_input_layer() {
    begin_layer("the input", {});
    const TensorInfo& in = tensor(model_.input.tensor);
    describe_layer("input", "LT_INPUT", in, in, false);
    end_layer(-1);
  }

  Status add_step(size_t i) {
    const Step& step = model_.steps[i];
    const TensorInfo& out = tensor(step.outputs[0]);
    const TensorInfo& in = step.inputs.empty() ? out : tensor(step.inputs[0]);
    const bool from_device = !step.inputs.empty() && step.inputs[0] != model_.input.tensor &&
                             in.desc.layout != Layout::kNchw;
    if (step.kind == StepKind::kDevice) {
      begin_layer("a command", step.layers);
      put_command(step);
      describe_layer(step.name, "LT_CONV", in, out, from_device);
    } else if (is_plain_softmax(step)) {
      begin_layer("softmax", step.layers);
      describe_layer(step.name, "LT_SOFTMAX", in, out, false);
      line("layer.softmax_axis = 0;");
    } else if (is_custom(step)) {
      begin_layer(("custom layer " + layers::type_of(*step.layer)).c_str(), step.layers);
      DVNN_TRY(put_custom(step, in, out, from_device));
    } else {
      begin_layer(("CPU layer " + layers::type_of(*step.layer)).c_str(), step.layers);
      describe_layer(step.name, "LT_CPU", in, out, from_device);
      line(format("set_cpu_layer(%zu, %s);", bodies_.size() - 1,
                  raw_string(cpu_description(step)).c_str()));
    }
    end_layer(static_cast<int>(i));
    return {};
  }

  // --- custom layers ---------------------------------------------------------------------------

  bool is_custom(const Step& step) const {
    return step.layer->as<layers::CustomAttributes>() != nullptr;
  }

  static Result<std::string> cpp_type(const Json& value) {
    if (value.is_boolean()) return std::string("bool");
    if (value.is_number_integer()) return std::string("int");
    if (value.is_number()) return std::string("float");
    return unsupported(shown(value) + " has no C++ type");
  }

  // Returns the members of a custom layer's struct, in which all layers of the type must agree.
  static Result<std::string> members_of(const Json& params) {
    std::string members;
    std::set<std::string> names;
    for (const auto& [name, value] : params.items()) {
      const bool list = value.is_array() && !value.empty();
      DVNN_ASSIGN(const std::string type, cpp_type(list ? value.at(0) : value));
      if (!names.insert(identifier(name)).second) {
        return unsupported("two parameters are called '" + identifier(name) + "' in C++");
      }
      members += "  " + type + " " + identifier(name) +
                 (list ? format("[%zu]", value.size()) : "") + ";\n";
    }
    return members;
  }

  // Accepts only numbers and booleans, because strings in a list would reach C++ unquoted.
  static Result<std::string> initializer_of(const Json& params) {
    std::string text;
    for (const auto& [name, value] : params.items()) {
      std::string one;
      const Json list = value.is_array() ? value : Json::array({value});
      for (const Json& item : list) {
        DVNN_TRY(cpp_type(item));
        one += (one.empty() ? "" : ",") + json_text(item);
      }
      text += (text.empty() ? "" : ", ") + (value.is_array() ? "{" + one + "}" : one);
    }
    return "{" + text + "}";
  }

  // The runtime gives callbacks binary16 input as floats. It takes floats, or what the device
  // reads.
  Status put_custom(const Step& step, const TensorInfo& in, const TensorInfo& out,
                    bool from_device) {
    const auto& custom = *step.layer->as<layers::CustomAttributes>();
    const bool fits = step.inputs.size() == 1 && step.outputs.size() == 1 &&
                      in.desc.type == ElementType::kFloat16 && in.storage == Storage::kIo &&
                      out.storage == Storage::kIo;
    const Shape& shape = out.desc.shape;
    const bool plain_picture = out.desc.layout == Layout::kNchw && shape.rank == 4 &&
                               shape.c() > 1 && shape.h() * shape.w() > 1;
    if (!fits || plain_picture) {
      return unsupported(
          "C++ sources can have a custom layer (" + custom.type +
          ") of one input, from the device, whose output is no picture or goes to the device");
    }
    const std::string type = identifier(custom.type);
    DVNN_ASSIGN(const std::string members, members_of(custom.params));
    const auto [it, fresh] = custom_.emplace(type, members);
    if (!fresh && it->second != members) {
      return unsupported("its parameters are not of the same types as another " + custom.type +
                         "'s");
    }
    describe_layer(step.name, "LT_CUSTOM", in, out, from_device);
    DVNN_ASSIGN(const std::string initializer, initializer_of(custom.params));
    line("static custom_param_" + type + " custom_param = " + initializer + ";");
    line("layer.custom_proc_ptr = &custom_callback_" + type + ";");
    line("layer.custom_param = &custom_param;");
    return {};
  }

  // Whether softmax runs over all elements of a binary16 vector, as the vendor's runtime does.
  bool is_plain_softmax(const Step& step) const {
    const auto* softmax = step.layer ? step.layer->as<layers::SoftmaxAttributes>() : nullptr;
    if (!softmax || step.inputs.empty()) return false;
    const TensorDesc& in = tensor(step.inputs[0]).desc;
    return softmax->axis.value_or(1) == 1 && in.type == ElementType::kFloat16 &&
           in.shape.rank >= 2 && in.shape.elements() == in.shape[1] &&
           tensor(step.inputs[0]).storage == Storage::kIo;
  }

  Json cpu_description(const Step& step) const {
    auto list = [&](const std::vector<int>& indices) {
      auto tensors = Json::array();
      for (int index : indices) {
        const TensorInfo& info = tensor(index);
        Json entry = to_json(info.desc);
        entry["storage"] = info.storage == Storage::kConstant ? "constant" : "io";
        entry["offset"] = info.offset;
        tensors.push_back(std::move(entry));
      }
      return tensors;
    };
    return {{"type", layers::type_of(*step.layer)},
            {"params", layers::params_of(*step.layer)},
            {"inputs", list(step.inputs)},
            {"outputs", list(step.outputs)}};
  }

  // Adds outputs that are concatenations in memory, which have no step of their own.
  void add_joined_outputs() {
    for (size_t k = 0; k < makers_.size(); ++k) {
      if (makers_[k] >= 0) continue;
      begin_layer("an output that others have made", {model_.outputs[k].name});
      const TensorInfo& info = tensor(model_.outputs[k].tensor);
      describe_layer(model_.outputs[k].name, "LT_CONCAT", info, info, true);
      mark_output(k);
      end_layer(-1);
    }
  }

  // --- commands --------------------------------------------------------------------------------

  void put_buffer(const char* field, const char* memory, uint64_t offset) {
    line(format("conf.%s.mem = %s;", field, memory));
    line(format("conf.%s.offs = %llu;", field, static_cast<unsigned long long>(offset)));
  }

  void put_command(const Step& step) {
    const dmp_dv_cmdraw_conv_v0 raw = device::to_raw(step.command);
    const size_t i = bodies_.size() - 1;
    if (step.command.hwc) {
      line(format("dmp_dv_cmdraw_conv_v1& conf_v1 = get_layer(%zu).conv_conf_v1;", i));
      line("conf_v1.header.size = sizeof(conf_v1);");
      line("conf_v1.header.device_type = DMP_DV_DEV_CONV;");
      line("conf_v1.header.version = 1;");
      line("dmp_dv_cmdraw_conv_v0& conf = conf_v1.conv_cmd;");
    } else {
      line(format("dmp_dv_cmdraw_conv_v0& conf = get_layer(%zu).conv_conf;", i));
    }
    line("conf.header.size = sizeof(conf);");
    line("conf.header.device_type = DMP_DV_DEV_CONV;");
    line("conf.header.version = 0;");
    line(format("conf.topo = 0x%x;", raw.topo));
    line(format("conf.w = %u;", raw.w));
    line(format("conf.h = %u;", raw.h));
    line(format("conf.z = %u;", raw.z));
    line(format("conf.c = %u;", raw.c));
    line(format("conf.input_circular_offset = 0x%x;", raw.input_circular_offset));
    line(format("conf.output_mode = %u;", raw.output_mode));
    put_buffer("input_buf", "io_mem_", tensor(step.inputs[0]).offset);
    put_buffer("output_buf", "io_mem_", tensor(step.outputs[0]).offset);
    if (step.command.eltwise_add)
      put_buffer("eltwise_buf", "io_mem_", tensor(step.inputs[1]).offset);
    for (size_t r = 0; r < step.command.runs.size(); ++r)
      put_run(step.command.runs[r], raw.run[r], r);
    bodies_.back() += "\n";
  }

  void put_run(const device::ConvRun& run, const dmp_dv_cmdraw_conv_v0_run& raw, size_t index) {
    const std::string prefix = format("run[%zu].", index);
    auto number = [&](const char* field, unsigned value) {
      line(format("conf.%s%s = %u;", prefix.c_str(), field, value));
    };
    auto bits = [&](const char* field, unsigned value) {
      line(format("conf.%s%s = 0x%x;", prefix.c_str(), field, value));
    };
    number("m", raw.m);
    number("conv_enable", raw.conv_enable);
    bits("p", raw.p);
    number("pz", raw.pz);
    put_buffer((prefix + "weight_buf").c_str(), "weights_mem_", run.weight_offset);
    number("weight_fmt", raw.weight_fmt);
    bits("conv_pad", raw.conv_pad);
    bits("conv_stride", raw.conv_stride);
    bits("conv_dilation", raw.conv_dilation);
    number("pool_enable", raw.pool_enable);
    bits("pool_size", raw.pool_size);
    bits("pool_stride", raw.pool_stride);
    bits("pool_pad", raw.pool_pad);
    bits("pool_avg_param", raw.pool_avg_param);
    number("actfunc", raw.actfunc);
    bits("actfunc_param", raw.actfunc_param);
  }

  // --- files -----------------------------------------------------------------------------------

  std::string header() const {
    std::string text = std::string(kHead) + "#pragma once\n\n#include \"dmp_network.h\"\n\n";
    for (const auto& [type, members] : custom_) {
      text += "struct custom_param_" + type + " {\n" + members + "};\n\n";
      text += "// To be written: reads get_layer_input(), ends with put_layer_output().\n";
      text += "void custom_callback_" + type +
              "(fpga_layer& layer, void* custom_param, uint8_t* io_ptr);\n\n";
    }
    text += "class C" + name_ + " : public CDMP_Network {\n private:\n";
    for (size_t i = 0; i < bodies_.size(); ++i) text += format("  void Layer_%zu();\n", i);
    text += "\n public:\n  virtual bool Initialize();\n";
    text += "  C" + name_ + "();\n  virtual ~C" + name_ + "();\n};\n";
    return text;
  }

  bool is_row_major() const {
    return std::any_of(model_.steps.begin(), model_.steps.end(),
                       [](const Step& s) { return s.kind == StepKind::kDevice && s.command.hwc; });
  }

  std::string source() const {
    const std::string cls = "C" + name_;
    std::string text = std::string(kHead) + "#include \"" + name_ + "_gen.h\"\n\n";
    text += cls + "::" + cls + "() {}\n\n" + cls + "::~" + cls + "() {}\n\n";
    text += "bool " + cls + "::Initialize() {\n";
    if (is_row_major()) text += "  is_weight_transposed = true;\n";
    text += format("  if (!ReserveMemory(%zu, %llu)) {\n    return false;\n  }\n\n",
                   model_.weights.size(), static_cast<unsigned long long>(model_.io_bytes));
    text += format("  set_num_layers(%zu);\n  set_num_output_layers(%zu);\n\n", bodies_.size(),
                   model_.outputs.size());
    for (size_t i = 0; i < bodies_.size(); ++i) text += format("  Layer_%zu();\n", i);
    text += "\n  return true;\n}\n";
    for (const std::string& body : bodies_) text += body;
    return text;
  }

  std::string glue() const {
    Json info = network::model_to_json(model_);
    auto outputs = Json::array();
    for (const auto& output : model_.outputs) {
      Json entry = to_json(tensor(output.tensor).desc);
      entry["name"] = output.name;
      outputs.push_back(std::move(entry));
    }
    info["input"].erase("tensor");
    const Json use = {{"name", info["name"]},
                      {"input", info["input"]},
                      {"decoder", info["decoder"]},
                      {"labels", info["labels"]},
                      {"outputs", outputs}};
    return std::string(kHead) + "#include \"" + name_ + "_gen.h\"\n\nDVNN_NETWORK(C" + name_ +
           ", " + raw_string(use) + ")\n";
  }

  const Model& model_;
  std::string name_;
  std::vector<std::string> bodies_;            // code of each layer's function
  std::map<std::string, std::string> custom_;  // members of custom layers' structs, by type
  std::vector<int> makers_;                    // step that makes each output, or -1
};

}  // namespace

Result<CppSources> emit_cpp(const Model& model) {
  DVNN_TRY(network::validate(model));
  if (!model.extra_inputs.empty()) {
    return unsupported("C++ sources have one input and no states: '" + model.extra_inputs[0].name +
                       "' would be one more");
  }
  return Emitter(model).run();
}

}  // namespace dvnn::emit
