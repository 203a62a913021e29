// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/whole_graph.h"

#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/nth.h"
#include "import/options.h"

namespace dvnn::import {
namespace {

bool is_channels(int64_t count) {
  return count == 1 || count == 3 || count == 4;
}

constexpr int64_t kLeastPicture = 16;  // smallest number of rows and columns of a picture

bool is_side(int64_t size) {
  return size < 0 || size >= kLeastPicture;  // -1: open
}

// Returns whether the dimensions are a picture's with channels last.
bool is_nhwc(const std::vector<int64_t>& dims) {
  return dims.size() == 4 && is_channels(dims[3]) && !is_channels(dims[1]) && is_side(dims[1]) &&
         is_side(dims[2]);
}

// Sets the size that --size gives: an image's rows and columns, whatever the model says; for other
// inputs the last two dimensions, if they are open.
void set_size(const ImportOptions& options, size_t rows, std::vector<int64_t>* dims) {
  const bool picture = dims->size() == 4;
  const int64_t sides[] = {options.height, options.width};
  for (size_t i = 0; i < 2; ++i) {
    const size_t axis = rows + i;  // wraps around if there is only one dimension
    if (axis < dims->size() && (picture || (*dims)[axis] < 0)) (*dims)[axis] = sides[i];
  }
}

// Refuses texts, complex numbers, and unknown types.
Status check_type(const onnx::ValueInfoProto& info) {
  constexpr int64_t kNotSaid = 0;
  const int64_t type = info.type().tensor_type().elem_type();
  if (type == kNotSaid || is_onnx_real(type) || is_onnx_integer(type)) return {};
  return unsupported(format("input '%s' is of data type %lld, which is none of numbers",
                            info.name().c_str(), static_cast<long long>(type)));
}

Status import_input(const onnx::ValueInfoProto& info, OnnxImporter* importer) {
  const ImportOptions& options = importer->options;
  DVNN_TRY(check_type(info));
  std::vector<int64_t> dims = onnx_input_dims(info);
  if (dims.empty()) dims = {1};  // a number
  const bool nhwc = is_nhwc(dims);
  const size_t rows = nhwc ? 1 : 2, channels = nhwc ? 3 : 1;
  if (options.width > 0) set_size(options, dims.size() == 4 ? rows : dims.size() - 2, &dims);
  const bool open = dims.size() == 4 && dims[rows] < 0 && dims[rows + 1] < 0;
  if (open && options.open_width > 0) {
    dims[rows] = options.open_height, dims[rows + 1] = options.open_width;
  }
  // One picture at a time, whatever the batch was in training. Other inputs stay as they are.
  const bool pictures = dims.size() == 4 && is_channels(dims[channels]) && is_side(dims[rows]) &&
                        is_side(dims[rows + 1]);
  if (pictures && dims[0] > 1) importer->batch = dims[0];
  if (dims[0] < 0 || pictures) dims[0] = 1;
  for (int64_t d : dims) {
    if (d > 0) continue;
    return unsupported("input '" + info.name() + "' has no fixed size (" + given_shape_text(dims) +
                       (dims.size() < 3 ? "): give its length N with --size Nx1"
                                        : "): give one with --size WxH, the last two dimensions"));
  }
  GraphBuilder& b = importer->builder;
  const bool whole = is_onnx_integer(info.type().tensor_type().elem_type());
  if (!nhwc) {
    DVNN_ASSIGN(const int value, b.input(info.name(), dims));
    importer->set(info.name(), value, whole);
    return {};
  }
  // The input is the picture with its channels first; the model's own transposition undoes this.
  DVNN_ASSIGN(const int value, b.input(info.name(), {dims[0], dims[3], dims[1], dims[2]}));
  DVNN_ASSIGN(const int moved, b.permute(info.name() + "_nhwc", value, {0, 2, 3, 1}));
  importer->set(info.name(), moved, whole);
  return {};
}

// Makes an input beside the first.
Status import_extra(const onnx::ValueInfoProto& info, std::vector<int64_t> dims,
                    OnnxImporter* importer) {
  DVNN_TRY(check_type(info));
  const bool scalar = dims.empty();
  if (scalar) dims = {1};
  if (dims[0] < 0) dims[0] = 1;
  for (int64_t d : dims) {
    if (d > 0) continue;
    return unsupported("input '" + info.name() + "' has no fixed size (" + given_shape_text(dims) +
                       "): fix it in the model before it is converted");
  }
  DVNN_ASSIGN(const int value, importer->builder.extra_input(info.name(), dims));
  importer->set(info.name(), value, is_onnx_integer(info.type().tensor_type().elem_type()));
  importer->entries[info.name()].scalar = scalar;
  return {};
}

Status import_states(const onnx::GraphProto& proto, OnnxImporter* importer) {
  for (const OnnxState& state : importer->states) {
    for (const onnx::ValueInfoProto& info : proto.input()) {
      if (info.name() == state.input) DVNN_TRY(import_extra(info, state.dims, importer));
    }
  }
  return {};
}

// Refuses names that are no inputs, or have given values.
Status check_live(const ImportOptions& options, const std::vector<std::string>& names) {
  for (const std::string& live : options.live) {
    const bool known = std::find(names.begin(), names.end(), live) != names.end();
    if (known && !find_given(options, live)) continue;
    return invalid_argument("--live " + live +
                            (known ? ": --set gives the same input a value"
                                   : ": the model has no such input, it has " + some_names(names)));
  }
  return {};
}

// Makes an input whose values are given a constant.
Status set_input(const onnx::ValueInfoProto& info, const GivenInput& given,
                 OnnxImporter* importer) {
  OnnxConstant constant;
  constant.dims = onnx_input_dims(info);
  DVNN_ASSIGN(constant.values, fill_given(given, &constant.dims));
  constant.integral = is_onnx_integer(info.type().tensor_type().elem_type());
  importer->set(info.name(), std::move(constant));
  return {};
}

constexpr const char* kNoStates =
    "; it looks like a network with a state, which each run takes from the one before: --state "
    "names it";

// Returns whether an input beside the first is also an output, with the same dimensions as far as
// they are known, as in recurrent networks for sound.
bool has_state(const onnx::GraphProto& proto) {
  const auto alike = [](const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    constexpr size_t kLeast = 2;
    if (a.size() != b.size() || a.size() < kLeast) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i] && a[i] > 0 && b[i] > 0) return false;
    }
    return a.size() > kLeast || (a[0] > 0 && a[1] > 0);
  };
  for (int i = 1; i < proto.input_size(); ++i) {
    const std::vector<int64_t> dims = onnx_input_dims(proto.input(i));
    if (dims.size() == 4 && is_channels(dims[1])) continue;  // another picture
    for (int k = 1; k < proto.output_size(); ++k) {
      if (alike(dims, onnx_input_dims(proto.output(k)))) return true;
    }
  }
  return false;
}

// Adds an output for each state whose next value is not wanted itself.
Status set_next_states(const std::vector<std::string>& wanted, OnnxImporter* importer) {
  Graph& graph = importer->builder.graph;
  for (size_t i = 0; i < importer->states.size(); ++i) {
    const std::string& name = importer->states[i].output;
    const auto shown = std::find(wanted.begin(), wanted.end(), name);
    graph.extra_inputs[i].next =
        static_cast<int>(shown != wanted.end() ? shown - wanted.begin()
                                               : static_cast<std::ptrdiff_t>(graph.outputs.size()));
    if (shown != wanted.end()) continue;
    const auto it = importer->entries.find(name);
    if (it == importer->entries.end() || it->second.value < 0) {
      return unsupported("state '" + importer->states[i].input + "': its next value '" + name +
                         "' is not computed from an input");
    }
    graph.outputs.push_back(it->second.value);
    graph.output_names.push_back(name);
    ++graph.hidden_outputs;
  }
  return {};
}

// Appends the names that a node reads. Nodes of its branches may read those of the graph around it.
void add_names(const onnx::NodeProto& node, std::vector<std::string>* names) {
  names->insert(names->end(), node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const onnx::NodeProto& inner : attribute.g().node()) add_names(inner, names);
    for (const onnx::ValueInfoProto& made : attribute.g().output()) names->push_back(made.name());
  }
}

}  // namespace

std::vector<int64_t> onnx_input_dims(const onnx::ValueInfoProto& info) {
  std::vector<int64_t> dims;
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    dims.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : -1);
  }
  return dims;
}

std::vector<std::string> onnx_names_read(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  add_names(node, &names);
  return names;
}

Result<std::vector<std::string>> wanted_outputs(const onnx::GraphProto& proto,
                                                const ImportOptions& options) {
  std::vector<std::string> own;
  for (const onnx::ValueInfoProto& info : proto.output()) own.push_back(info.name());
  if (options.outputs.empty()) return own;
  std::set<std::string> made(own.begin(), own.end());
  std::map<std::string, std::string> by_node;
  std::vector<std::string> last;
  for (const onnx::NodeProto& node : proto.node()) {
    made.insert(node.output().begin(), node.output().end());
    if (node.output_size() > 0) last.push_back(node.output(0));
    if (node.output_size() > 0 && !node.name().empty()) by_node[node.name()] = node.output(0);
  }
  std::vector<std::string> wanted;
  for (const std::string& name : options.outputs) {
    if (made.count(name) > 0) {
      wanted.push_back(name);
    } else if (by_node.count(name) > 0) {
      wanted.push_back(by_node[name]);
    } else {
      return invalid_argument("--outputs " + name + ": the model makes no such result; it makes " +
                              some_names(last));
    }
  }
  return wanted;
}

OnnxNeeds needs_of(const onnx::GraphProto& proto, const std::vector<std::string>& wanted) {
  OnnxNeeds needs;
  needs.names.insert(wanted.begin(), wanted.end());
  needs.nodes.resize(static_cast<size_t>(proto.node_size()));
  // Nodes stand after those that they read: sort_onnx().
  for (int i = proto.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = proto.node(i);
    const bool is_needed =
        std::any_of(node.output().begin(), node.output().end(),
                    [&](const std::string& name) { return needs.names.count(name) > 0; });
    if (!is_needed) continue;
    nth(needs.nodes, i) = true;
    const std::vector<std::string> read = onnx_names_read(node);
    needs.names.insert(read.begin(), read.end());
  }
  return needs;
}

void leave_out_states(const std::vector<OnnxState>& states, std::vector<std::string>* wanted) {
  const auto is_state = [&](const std::string& name) {
    return std::any_of(states.begin(), states.end(),
                       [&](const OnnxState& state) { return state.output == name; });
  };
  if (std::all_of(wanted->begin(), wanted->end(), is_state)) return;
  wanted->erase(std::remove_if(wanted->begin(), wanted->end(), is_state), wanted->end());
}

Status import_onnx_inputs(const onnx::GraphProto& proto, const OnnxNeeds& needs,
                          OnnxImporter* importer) {
  std::vector<std::string> all, open;
  const onnx::ValueInfoProto *picture = nullptr, *idle = nullptr;
  DVNN_TRY(import_states(proto, importer));
  for (const onnx::ValueInfoProto& info : proto.input()) {
    // Before IR version 4 initializers are listed as inputs, too.
    const auto known = importer->entries.find(info.name());
    if (known != importer->entries.end()) {
      if (!known->second.constant) all.push_back(info.name());
      continue;
    }
    all.push_back(info.name());
    const std::vector<std::string>& live = importer->options.live;
    if (const GivenInput* given = find_given(importer->options, info.name())) {
      DVNN_TRY(set_input(info, *given, importer));
    } else if (std::find(live.begin(), live.end(), info.name()) != live.end()) {
      DVNN_TRY(import_extra(info, onnx_input_dims(info), importer));
    } else if (needs.names.count(info.name()) > 0) {
      open.push_back(info.name());
      picture = &info;
    } else if (!idle) {
      idle = &info;
    }
  }
  DVNN_TRY(check_given(importer->options, all));
  DVNN_TRY(check_live(importer->options, all));
  if (open.size() > 1) {
    const Error asked = ask_for_values(open);
    return has_state(proto) ? Error{asked.code, asked.message + kNoStates} : asked;
  }
  // If the results depend on no input, the first node that reads a missing name is the reason.
  if (!picture) picture = idle;
  if (!picture) return malformed("has no input");
  return import_input(*picture, importer);
}

Status set_onnx_outputs(const std::vector<std::string>& wanted, OnnxImporter* importer) {
  Graph& graph = importer->builder.graph;
  for (const std::string& name : wanted) {
    const auto it = importer->entries.find(name);
    if (it == importer->entries.end() || it->second.value < 0) {
      return malformed("output '" + name + "' is not computed from the input");
    }
    graph.outputs.push_back(it->second.value);
    graph.output_names.push_back(name);
  }
  DVNN_TRY(set_next_states(wanted, importer));
  if (graph.outputs.empty()) return malformed("has no outputs");
  return {};
}

}  // namespace dvnn::import
