// SPDX-License-Identifier: Apache-2.0
#include "plan/placement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/nth.h"
#include "plan/operators.h"

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
  // Numbers that are no picture, and that the CPU alone reads, keep all their bits.
  nth(values_, graph.input).desc =
      for_device ? device_desc(input) : TensorDesc{ElementType::kFloat32, Layout::kNchw, input};
  find_readers();
  for (const Node& node : graph.nodes) {
    nth(device_made_, node.output) = runs_on_device(node) || is_device_concat(node) ||
                                     is_device_slice(node) || keeps_layout(node);
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

// Layers that read and write the device's layout as it is.
bool Placer::works_in_chunks(const Node& node) const {
  return node.layer<layers::ElementwiseAttributes>() ||
         node.layer<layers::ChannelGatherAttributes>();
}

// Elements stay where they are, and are rounded to what a command will read anyway.
bool Placer::keeps_layout(const Node& node) const {
  const Shape& shape = graph_.shape_of(node.output);
  return works_in_chunks(node) && shape.rank == 4 && shape.n() == 1 &&
         nth(device_bound_, node.output) && !graph_.is_output(node.output) &&
         nth(device_made_, node.inputs[0]);
}

bool Placer::runs_on_device(const Node& node) const {
  return operator_of(node.op).on_device;
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

// Channels from a multiple of 8 on, to another or to the last one, of a picture in chunks.
bool Placer::is_device_slice(const Node& node) const {
  const auto* slice = node.layer<layers::SliceAttributes>();
  if (!slice || graph_.is_output(node.output)) return false;
  const Shape &in = graph_.shape_of(node.inputs[0]), &out = graph_.shape_of(node.output);
  if (!nth(device_made_, node.inputs[0]) || in.rank != 4) return false;
  const int first = slice->begin[1];
  return out.n() == in.n() && out.h() == in.h() && out.w() == in.w() && first % 8 == 0 &&
         (slice->step[1] == 1 || out.c() == 1) && (out.c() % 8 == 0 || first + out.c() == in.c());
}

TensorDesc Placer::device_desc(const Shape& shape) const {
  // Fully connected results have no picture: one pixel's channels lie in plain order anyway.
  return {ElementType::kFloat16, shape.rank == 4 ? layout_ : Layout::kNchw, shape};
}

int Placer::root(int value, uint64_t* offset) const {
  // Thousands of reshapes in a row are thousands of steps: whoever has gone them lies in the root
  // itself from then on.
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
  out.constant =
      std::all_of(node.inputs.begin(), node.inputs.end(), [&](int v) { return at(v).constant; });
  if (is_device_slice(node)) {
    place_slice(node);
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
  const bool one_pixel = in.shape.rank == 4 && in.shape.h() == 1 && in.shape.w() == 1;
  const bool row_major = in.layout == Layout::kNchw || one_pixel;
  if (!row_major || (out.desc.layout != Layout::kNchw && out.desc.type != in.type)) return false;
  const bool wants_chunks =
      out.desc.layout != Layout::kNchw && (out.desc.shape.h() != 1 || out.desc.shape.w() != 1);
  if (wants_chunks || (out.desc.type != in.type && device_reads(node.output))) return false;
  out.desc.type = in.type;
  out.parent = node.inputs[0];
  return true;
}

void Placer::place_slice(const Node& node) {
  Placement& out = nth(values_, node.output);
  const Shape& in = graph_.shape_of(node.inputs[0]);
  const auto first = static_cast<uint64_t>(node.layer<layers::SliceAttributes>()->begin[1]);
  out.constant = false;
  out.parent = node.inputs[0];
  out.offset = first * static_cast<uint64_t>(in.h()) * static_cast<uint64_t>(in.w()) *
               element_size(ElementType::kFloat16);
}

bool Placer::place_concat(const Node& node) {
  const Placement& out = at(node.output);
  const bool chunks = out.desc.layout != Layout::kNchw;
  const int axis = node.layer<layers::ConcatAttributes>()->axis;
  int64_t before = 1;
  for (int i = 0; i < axis; ++i) before *= out.desc.shape[i];
  if (before != 1 || (chunks && axis != 1) || out.constant) return false;
  std::set<int> roots;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int value = node.inputs[i];
    uint64_t offset = 0;
    const int top = root(value, &offset);
    const TensorDesc& in = at(value).desc;
    const bool whole = offset == 0 && at(top).desc.bytes() == in.bytes();
    const bool aligned = !chunks || i + 1 == node.inputs.size() || in.shape.c() % 8 == 0;
    // A value may lie in only one concatenation's result, and the input comes from outside.
    if (in.layout != out.desc.layout || in.type != out.desc.type || !whole || !aligned ||
        top == graph_.input || at(top).constant || !roots.insert(top).second) {
      return false;
    }
  }
  uint64_t at_byte = 0;
  for (int value : node.inputs) {
    uint64_t offset = 0;
    Placement& member = nth(values_, root(value, &offset));
    member.parent = node.output;
    member.offset = at_byte;
    at_byte += at(value).desc.bytes();
  }
  return true;
}

}  // namespace dvnn::plan
