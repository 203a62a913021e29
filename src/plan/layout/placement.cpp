// SPDX-License-Identifier: Apache-2.0
#include "plan/layout/placement.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "plan/graph/graph.h"

namespace dvnn::plan {
namespace {

constexpr int kAddressAlignment = 16;  // in bytes, of a buffer's offset; the driver requires it

using Index = std::array<int64_t, Shape::kMaxRank>;

// Returns the address of an element, counted in elements.
int64_t address_of(const TensorDesc& desc, const Index& at) {
  if (desc.layout != Layout::kNchw) {
    return element_offset(desc.layout, desc.shape, static_cast<int>(at[0]), static_cast<int>(at[1]),
                          static_cast<int>(at[2]), static_cast<int>(at[3]));
  }
  int64_t address = 0;
  for (size_t i = 0; i < desc.shape.axes(); ++i) {
    address = address * desc.shape.dims[i] + at[i];
  }
  return address;
}

// Calls visit(index) for the elements that determine all addresses; ends early if it returns false.
// A layout has fixed distances between rows and between columns of a channel, so an element, the
// next one in its row and the one below it determine the channel's place. A row-major array has a
// fixed distance along each axis.
template <typename Visit>
bool for_each_deciding(const TensorDesc& desc, Visit visit) {
  const Shape& shape = desc.shape;
  const bool row_major = desc.layout == Layout::kNchw;
  Index at = {};
  const auto with_neighbours = [&](size_t from) {
    if (!visit(at)) return false;
    for (size_t axis = from; axis < shape.axes(); ++axis) {
      if (shape.dims[axis] < 2) continue;
      ++at[axis];
      const bool goes_on = visit(at);
      --at[axis];
      if (!goes_on) return false;
    }
    return true;
  };
  if (row_major) return with_neighbours(0);
  for (at[0] = 0; at[0] < shape.n(); ++at[0]) {
    for (at[1] = 0; at[1] < shape.c(); ++at[1]) {
      if (!with_neighbours(2)) return false;
    }
  }
  return true;
}

bool is_inside(const Shape& whole, const Section& section, const Shape& part) {
  if (part.rank != whole.rank || section.begin.size() != whole.axes() ||
      section.step.size() != whole.axes()) {
    return false;
  }
  for (int i = 0; i < whole.rank; ++i) {
    const int64_t first = nth(section.begin, i);
    const int64_t last = first + int64_t{nth(section.step, i)} * (part[i] - 1);
    if (std::min(first, last) < 0 || std::max(first, last) >= whole[i]) return false;
  }
  return part.elements() > 0;
}

}  // namespace

std::optional<uint64_t> lies_within(const TensorDesc& whole, const Section& section,
                                    const TensorDesc& part) {
  if (whole.type != part.type || !is_inside(whole.shape, section, part.shape)) return std::nullopt;
  const auto in_whole = [&](const Index& at) {
    Index from = {};
    for (size_t i = 0; i < whole.shape.axes(); ++i) {
      from[i] = section.begin[i] + section.step[i] * at[i];
    }
    return address_of(whole, from);
  };
  const int64_t begin = in_whole({});
  // The elements that decide one of two layouts need not decide the other, so both are checked.
  const auto lies = [&](const Index& at) { return in_whole(at) == begin + address_of(part, at); };
  const TensorDesc by_channel = {part.type, whole.layout, part.shape};
  if (!for_each_deciding(part, lies) || !for_each_deciding(by_channel, lies)) return std::nullopt;
  const auto bytes = static_cast<uint64_t>(begin) * element_size(whole.type);
  // The device reads and writes only binary16.
  if (whole.type == ElementType::kFloat16 && bytes % kAddressAlignment != 0) return std::nullopt;
  return bytes;
}

namespace {

bool is_row_major(const TensorDesc& desc) {
  const TensorDesc plain = {desc.type, Layout::kNchw, desc.shape};
  return for_each_deciding(
      desc, [&](const Index& at) { return address_of(desc, at) == address_of(plain, at); });
}

}  // namespace

bool same_addresses(const TensorDesc& a, const TensorDesc& b) {
  if (a.type != b.type || a.shape.elements() != b.shape.elements()) return false;
  return (a.layout == b.layout && a.shape == b.shape) || (is_row_major(a) && is_row_major(b));
}

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
  struct Member {
    uint64_t place;       // in the result
    uint64_t joined = 0;  // bytes
  };
  std::map<int, Member> members;  // by root
  for (int value : node.inputs) {
    const TensorDesc& in = at(value).desc;
    const auto place = lies_within(out.desc, section, in);
    uint64_t offset = 0;
    const int top = root(value, &offset);
    // The inputs' memory is given.
    if (!place || *place < offset || graph_.is_input(top) || at(top).constant) return false;
    Member& member = members.try_emplace(top, Member{*place - offset}).first->second;
    if (member.place != *place - offset) return false;
    member.joined += in.bytes();
    section.begin[axis] += in.shape[static_cast<int>(axis)];
  }
  // Values lie in the result as a whole: what a slice is left out of would lie on others.
  const auto is_whole = [&](const auto& entry) {
    return entry.second.joined == at(entry.first).desc.bytes();
  };
  if (!std::all_of(members.begin(), members.end(), is_whole)) return false;
  for (const auto& [top, member] : members) {
    nth(values_, top).parent = node.output;
    nth(values_, top).offset = member.place;
  }
  return true;
}

std::vector<size_t> schedule(const Graph& graph, const Placer& placer) {
  const size_t count = graph.nodes.size();
  std::vector<size_t> missing(count, 0);  // by node: number of inputs that are not computed yet
  std::vector<std::vector<size_t>> readers(graph.values.size());
  std::vector<bool> made(graph.values.size(), true);
  for (const Node& node : graph.nodes) nth(made, node.output) = false;
  for (size_t i = 0; i < count; ++i) {
    for (int value : graph.nodes[i].inputs) {
      if (nth(made, value)) continue;
      nth(readers, value).push_back(i);
      ++missing[i];
    }
  }
  // Nodes whose inputs are computed, the first in the graph's order on top. Nodes that take no time
  // run in either turn.
  using Ready = std::priority_queue<size_t, std::vector<size_t>, std::greater<>>;
  Ready device, cpu;
  auto add = [&](size_t i, Destination turn) {
    const Destination kind =
        placer.destination(i) == Destination::kInPlace ? turn : placer.destination(i);
    (kind == Destination::kDevice ? device : cpu).push(i);
  };
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) add(i, Destination::kDevice);
  }
  // A node comes after the makers of its inputs, so one turn runs all that it can.
  for (Destination turn = Destination::kDevice; order.size() < count;
       turn = turn == Destination::kDevice ? Destination::kCpu : Destination::kDevice) {
    Ready& ready = turn == Destination::kDevice ? device : cpu;
    if (device.empty() && cpu.empty()) break;  // a cycle, which no front end makes
    while (!ready.empty()) {
      const size_t i = ready.top();
      ready.pop();
      order.push_back(i);
      for (size_t reader : nth(readers, graph.nodes[i].output)) {
        if (--missing[reader] == 0) add(reader, turn);
      }
    }
  }
  return order;
}

}  // namespace dvnn::plan
