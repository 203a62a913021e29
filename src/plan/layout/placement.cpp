// SPDX-License-Identifier: Apache-2.0
#include "plan/layout/placement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/nth.h"
#include "plan/graph/operators.h"
#include "plan/layout/places.h"

namespace dvnn::plan {

Placer::Placer(const Graph& graph, bool hwc)
    : graph_(graph),
      layout_(hwc ? Layout::kHwc8 : Layout::kWhc8),
      values_(graph.values.size()),
      destinations_(graph.nodes.size(), Destination::kCpu),
      device_made_(graph.values.size()),
      device_read_(graph.values.size()),
      device_bound_(graph.values.size()) {
  const Shape& input = graph.shape_of(graph.input);
  const bool for_device = is_picture(input) || device_will_read(graph.input);
  nth(device_made_, graph.input) = for_device;
  // An input that is not a picture and that only the CPU reads keeps its full precision.
  nth(values_, graph.input).desc =
      for_device ? device_desc(input) : TensorDesc{ElementType::kFloat32, Layout::kNchw, input};
  find_readers();
  for (const ExtraInput& extra : graph.extra_inputs) {
    const Shape& shape = graph.shape_of(extra.value);
    const bool pictured = shape.rank == 4 && shape.n() == 1 && nth(device_bound_, extra.value);
    const bool on_device = pictured || nth(device_read_, extra.value);
    nth(device_made_, extra.value) = on_device;
    nth(values_, extra.value).desc =
        on_device ? device_desc(shape) : TensorDesc{ElementType::kFloat32, Layout::kNchw, shape};
  }
  for (const Node& node : graph.nodes) {
    nth(device_made_, node.output) = runs_on_device(node) || is_device_concat(node) ||
                                     place_of_slice(node) || keeps_layout(node);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) place(i);
}

void Placer::find_readers() {
  for (size_t i = graph_.nodes.size(); i-- > 0;) {
    const Node& node = graph_.nodes[i];
    const bool on_device = runs_on_device(node);
    const bool passes_on = node.op == Op::kConcat || works_in_chunks(node) ||
                           node.layer<layers::SliceAttributes>() != nullptr;
    const bool bound = on_device || (passes_on && nth(device_bound_, node.output));
    for (int value : node.inputs) {
      if (on_device) nth(device_read_, value) = true;
      if (bound) nth(device_bound_, value) = true;
    }
  }
}

// Returns whether a layer reads and writes the device's layout as it is.
bool Placer::works_in_chunks(const Node& node) const {
  const auto* layer = node.as<CpuLayer>();
  const auto* standard = node.layer<layers::StandardizeAttributes>();
  return (layer && layer->in_chunks) || node.layer<layers::ChannelGatherAttributes>() ||
         node.layer<layers::PixelGatherAttributes>() ||
         (standard && standard->axes == std::vector<int>{1});
}

// Returns whether elements keep their places, and are rounded as the commands that read them do.
bool Placer::keeps_layout(const Node& node) const {
  const Shape& shape = graph_.shape_of(node.output);
  return works_in_chunks(node) && shape.rank == 4 && shape.n() == 1 &&
         nth(device_bound_, node.output) && !graph_.is_output(node.output) &&
         nth(device_made_, node.inputs[0]);
}

bool Placer::runs_on_device(const Node& node) const {
  return operator_of(node.op).is(kOnDevice);
}

bool Placer::device_will_read(int value) const {
  return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
    return runs_on_device(node) && std::count(node.inputs.begin(), node.inputs.end(), value) > 0;
  });
}

bool Placer::is_device_concat(const Node& node) const {
  return node.op == Op::kConcat && graph_.shape_of(node.output).rank == 4 &&
         node.layer<layers::ConcatAttributes>()->axis == 1 &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](int v) { return nth(device_made_, v); });
}

// Returns the offset of a slice in its input, if both have the device's layout and the device can
// read the slice there.
std::optional<uint64_t> Placer::place_of_slice(const Node& node) const {
  const auto* slice = node.layer<layers::SliceAttributes>();
  if (!slice || graph_.is_output(node.output) || !nth(device_made_, node.inputs[0])) {
    return std::nullopt;
  }
  const Shape& in = graph_.shape_of(node.inputs[0]);
  if (in.rank != 4) return std::nullopt;
  return lies_within(device_desc(in), {slice->begin, slice->step},
                     device_desc(graph_.shape_of(node.output)));
}

TensorDesc Placer::device_desc(const Shape& shape) const {
  // Fully connected results are no pictures: one pixel's channels lie in row-major order anyway.
  return {ElementType::kFloat16, shape.rank == 4 ? layout_ : Layout::kNchw, shape};
}

int Placer::root(int value, uint64_t* offset) const {
  // Compresses the path, because a chain may have thousands of reshapes: each value on it becomes a
  // direct child of the root.
  int root = value;
  uint64_t whole = 0;
  for (; at(root).parent >= 0; root = at(root).parent) whole += at(root).offset;
  *offset = whole;
  while (value != root) {
    Placement& passed = nth(values_, value);
    value = std::exchange(passed.parent, root);
    whole -= std::exchange(passed.offset, whole);
  }
  return root;
}

void Placer::place(size_t index) {
  const Node& node = graph_.nodes[index];
  Placement& out = nth(values_, node.output);
  const Shape& shape = graph_.shape_of(node.output);
  const bool on_device = nth(device_made_, node.output);
  out.desc = on_device || device_reads(node.output)
                 ? device_desc(shape)
                 : TensorDesc{ElementType::kFloat32, Layout::kNchw, shape};
  if (runs_on_device(node)) {
    destinations_[index] = Destination::kDevice;
    return;
  }
  // Constants are written once. Commands can only read the I/O buffer, so what they read is none.
  out.constant = !device_reads(node.output) && std::all_of(node.inputs.begin(), node.inputs.end(),
                                                           [&](int v) { return at(v).constant; });
  if (const auto offset = place_of_slice(node)) {
    out.constant = false;
    out.parent = node.inputs[0];
    out.offset = *offset;
    destinations_[index] = Destination::kInPlace;
    return;
  }
  const bool in_place = (node.op == Op::kReshape && place_reshape(node)) ||
                        (node.op == Op::kConcat && place_concat(node));
  destinations_[index] = in_place ? Destination::kInPlace : Destination::kCpu;
}

bool Placer::place_reshape(const Node& node) {
  const TensorDesc& in = at(node.inputs[0]).desc;
  Placement& out = nth(values_, node.output);
  if (at(node.inputs[0]).constant != out.constant) return false;
  const bool changes_type = out.desc.type != in.type;
  if (changes_type && (lies_in_chunks(out.desc.layout) || device_reads(node.output))) return false;
  if (!same_addresses(in, {in.type, out.desc.layout, out.desc.shape})) return false;
  out.desc.type = in.type;
  out.parent = node.inputs[0];
  return true;
}

bool Placer::place_concat(const Node& node) {
  const Placement& out = at(node.output);
  const auto axis = static_cast<size_t>(node.layer<layers::ConcatAttributes>()->axis);
  if (out.constant) return false;
  Section section = {std::vector<int>(out.desc.shape.axes(), 0),
                     std::vector<int>(out.desc.shape.axes(), 1)};
  std::vector<std::pair<int, uint64_t>> members;  // roots, and their offsets in the result
  std::set<int> roots;
  for (int value : node.inputs) {
    const TensorDesc& in = at(value).desc;
    const auto place = lies_within(out.desc, section, in);
    uint64_t offset = 0;
    const int top = root(value, &offset);
    const bool whole = offset == 0 && at(top).desc.bytes() == in.bytes();
    // A value can be in only one concatenation's result, and the inputs' memory is given.
    if (!place || !whole || graph_.is_input(top) || at(top).constant || !roots.insert(top).second) {
      return false;
    }
    members.push_back({top, *place});
    section.begin[axis] += in.shape[static_cast<int>(axis)];
  }
  for (const auto& [top, place] : members) {
    nth(values_, top).parent = node.output;
    nth(values_, top).offset = place;
  }
  return true;
}

}  // namespace dvnn::plan
