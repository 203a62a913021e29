// SPDX-License-Identifier: Apache-2.0
// Reshapes, permutations, slices and joins that only choose and reorder the channels of pictures:
// shuffles, splits, space to depth. Their results are tracked as lists of planes. A convolution
// that reads such a result reads the planes in place, by reordered weights; otherwise one step
// moves them.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "base/nth.h"
#include "device/limits.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

// The rows and columns of one channel of a value, from (y, x) on, in steps of step_y and step_x.
struct Plane {
  int value, channel;
  int y = 0, x = 0, step_y = 1, step_x = 1;
};

// A value as planes: the elements of the first dimensions, `lead`, in order; each plane fills the
// last two dimensions, or the last one if it is `flat`.
struct Planes {
  std::vector<int64_t> lead;
  std::vector<Plane> planes;
  int h = 0, w = 0;
  bool flat = false;

  size_t inner_rank() const { return flat ? 1 : 2; }
};

int64_t product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

class ChannelMover {
 public:
  ChannelMover(Graph* graph, const device::Limits& limits)
      : graph_(*graph), limits_(limits), rewriter_(graph) {}

  void run() {
    for (size_t i = 0; i < rewriter_.count(); ++i) {
      if (rewriter_.node(i).dead) continue;
      if (is_movement(rewriter_.node(i))) {
        follow(i);
      } else {
        take_planes(i);
      }
    }
    rewriter_.finish();
    remove_unused(&graph_);
  }

 private:
  // Limits of planes tracked for one value, and for all values together.
  static constexpr size_t kMostPlanes = 4096, kMostFollowed = 1 << 20;

  static bool is_movement(const Node& node) {
    return node.op == Op::kReshape || node.op == Op::kConcat ||
           node.layer<layers::PermuteAttributes>() != nullptr ||
           node.layer<layers::SliceAttributes>() != nullptr;
  }

  // Returns the planes of a value; its own channels if nothing else is known.
  std::optional<Planes> planes_of(int value) const {
    const auto known = planes_.find(value);
    if (known != planes_.end()) return known->second;
    const Shape& shape = graph_.shape_of(value);
    if (shape.rank != 4 || shape.n() != 1 || shape.channels() > kMostPlanes ||
        shape.h() * shape.w() < 2) {
      return std::nullopt;
    }
    Planes own{{1, shape.c()}, {}, shape.h(), shape.w(), false};
    for (int c = 0; c < shape.c(); ++c) own.planes.push_back({value, c});
    return own;
  }

  void follow(size_t index) {
    const Node& node = rewriter_.node(index);
    const Shape& out = graph_.shape_of(node.output);
    if (node.op == Op::kConcat) {
      // Move planes from many places now, so that the list does not grow from join to join.
      for (int value : std::vector<int>(node.inputs)) move(value);
    }
    std::optional<Planes> made = node.op == Op::kConcat ? joined(node) : planes_of(node.inputs[0]);
    if (!made) return;
    bool followed = true;
    if (node.op == Op::kReshape) followed = reshape(out, &*made);
    if (const auto* slice = node.layer<layers::SliceAttributes>()) {
      followed = cut(*slice, out, &*made);
    }
    if (const auto* permute = node.layer<layers::PermuteAttributes>()) {
      followed = permuted(*permute, &*made);
    }
    if (!followed || made->planes.size() > kMostPlanes) return;
    followed_ += made->planes.size();
    if (followed_ > kMostFollowed) return;
    if (node.op == Op::kConcat && are_whole(*made)) {
      const std::vector<int> sources = sources_of(*made);
      if (is_join(*made, sources)) joins_[sources] = node.output;
    }
    planes_[node.output] = std::move(*made);
  }

  // Reshapes the first dimensions; a plane must still fill the last ones.
  static bool reshape(const Shape& out, Planes* planes) {
    const bool whole =
        out.rank >= 2 && out[out.rank - 2] == planes->h && out[out.rank - 1] == planes->w;
    const bool flat = out.rank >= 1 && out[out.rank - 1] == planes->h * planes->w;
    if (!whole && !flat) return false;
    planes->flat = !whole;
    const int lead = out.rank - static_cast<int>(planes->inner_rank());
    planes->lead.assign(out.dims, out.dims + lead);
    return product(planes->lead) == static_cast<int64_t>(planes->planes.size());
  }

  // Calls visit(index of a plane) for planes at begin + step i along each of the first dimensions.
  template <typename Visit>
  static void walk_planes(const std::vector<int64_t>& from, const std::vector<int64_t>& begin,
                          const std::vector<int64_t>& step, const std::vector<int64_t>& count,
                          Visit visit) {
    std::vector<int64_t> at(from.size(), 0);
    for (int64_t n = product(count); n > 0; --n) {
      int64_t index = 0;
      for (size_t i = 0; i < from.size(); ++i) index = index * from[i] + begin[i] + step[i] * at[i];
      visit(static_cast<size_t>(index));
      for (size_t i = from.size(); i-- > 0 && ++at[i] == count[i];) at[i] = 0;
    }
  }

  static bool cut(const layers::SliceAttributes& slice, const Shape& out, Planes* planes) {
    const size_t lead = planes->lead.size();
    if (slice.begin.size() != lead + planes->inner_rank() ||
        slice.step.size() != slice.begin.size()) {
      return false;
    }
    std::vector<int64_t> begin, step, count;
    for (size_t i = 0; i < lead; ++i) {
      begin.push_back(slice.begin[i]);
      step.push_back(slice.step[i]);
      count.push_back(out[static_cast<int>(i)]);
    }
    std::vector<Plane> kept;
    walk_planes(planes->lead, begin, step, count,
                [&](size_t index) { kept.push_back(planes->planes[index]); });
    if (planes->flat) {
      if (slice.begin[lead] != 0 || out[static_cast<int>(lead)] != planes->h * planes->w) {
        return false;
      }
    } else {
      for (Plane& plane : kept) {
        plane.y += slice.begin[lead] * plane.step_y;
        plane.x += slice.begin[lead + 1] * plane.step_x;
        plane.step_y *= slice.step[lead];
        plane.step_x *= slice.step[lead + 1];
      }
      planes->h = out[static_cast<int>(lead)];
      planes->w = out[static_cast<int>(lead) + 1];
    }
    planes->lead = count;
    planes->planes = std::move(kept);
    return true;
  }

  static bool permuted(const layers::PermuteAttributes& permute, Planes* planes) {
    const size_t lead = planes->lead.size();
    if (permute.order.size() != lead + planes->inner_rank()) return false;
    for (size_t i = lead; i < permute.order.size(); ++i) {
      if (permute.order[i] != static_cast<int>(i)) return false;
    }
    std::vector<int64_t> distance(lead, 1), count, step;
    for (size_t i = lead; i-- > 1;) distance[i - 1] = distance[i] * planes->lead[i];
    for (size_t i = 0; i < lead; ++i) {
      const auto from = static_cast<size_t>(permute.order[i]);
      count.push_back(planes->lead[from]);
      step.push_back(distance[from]);
    }
    std::vector<Plane> moved;
    std::vector<int64_t> at(lead, 0);
    for (int64_t n = product(count); n > 0; --n) {
      int64_t index = 0;
      for (size_t i = 0; i < lead; ++i) index += step[i] * at[i];
      moved.push_back(nth(planes->planes, index));
      for (size_t i = lead; i-- > 0 && ++at[i] == count[i];) at[i] = 0;
    }
    planes->lead = count;
    planes->planes = std::move(moved);
    return true;
  }

  // Returns the planes of pictures joined along their channels.
  std::optional<Planes> joined(const Node& node) const {
    if (node.layer<layers::ConcatAttributes>()->axis != 1) return std::nullopt;
    std::optional<Planes> all;
    for (int value : node.inputs) {
      const auto part = planes_of(value);
      if (!part || part->flat || part->lead.size() != 2 || part->lead[0] != 1) return std::nullopt;
      if (!all) {
        all = part;
        continue;
      }
      if (part->h != all->h || part->w != all->w) return std::nullopt;
      all->planes.insert(all->planes.end(), part->planes.begin(), part->planes.end());
    }
    all->lead[1] = static_cast<int64_t>(all->planes.size());
    return all;
  }

  void take_planes(size_t index) {
    const Node& node = rewriter_.node(index);
    if (node.op == Op::kConvolution && !node.flattens() && node.groups == 1 &&
        (become_strided(index) || become_sparse(index))) {
      return;
    }
    for (int value : std::vector<int>(rewriter_.node(index).inputs)) move(value);
  }

  // Returns the value's planes if it is a picture whose elements were moved.
  const Planes* moved_picture(int value) const {
    const auto known = planes_.find(value);
    if (known == planes_.end() || known->second.flat || known->second.lead.size() != 2 ||
        known->second.lead[0] != 1) {
      return nullptr;
    }
    return &known->second;
  }

  // Replaces a convolution of a picture's four phases, side by side in any order, by one of the
  // picture itself with a kernel and a stride twice as large.
  bool become_strided(size_t index) {
    const Node& node = rewriter_.node(index);
    const Planes* planes = moved_picture(node.inputs[0]);
    const device::ConvRun& run = node.run;
    if (!planes || run.conv != device::ConvKind::kConv || run.dilation.x != 1 ||
        run.dilation.y != 1 || 2 * std::max(run.kernel.x, run.kernel.y) > limits_.kernel) {
      return false;
    }
    const int source = planes->planes[0].value;
    const Shape& whole = graph_.shape_of(source);
    const size_t channels = whole.channels();
    if (planes->planes.size() != 4 * channels || whole.h() != 2 * planes->h ||
        whole.w() != 2 * planes->w) {
      return false;
    }
    for (const Plane& plane : planes->planes) {
      if (plane.value != source || plane.step_y != 2 || plane.step_x != 2) return false;
    }
    const auto kx = static_cast<size_t>(run.kernel.x), ky = static_cast<size_t>(run.kernel.y);
    const size_t count = run.outputs(), taps = 4 * kx * ky;
    std::vector<float> weights(count * channels * taps);
    for (size_t m = 0; m < count; ++m) {
      for (size_t c = 0; c < planes->planes.size(); ++c) {
        const Plane& plane = planes->planes[c];
        const float* from = &node.weights[(m * planes->planes.size() + c) * kx * ky];
        float* to = &weights[(m * channels + static_cast<size_t>(plane.channel)) * taps];
        for (size_t k = 0; k < kx * ky; ++k) {
          const size_t y = 2 * (k / kx) + static_cast<size_t>(plane.y);
          const size_t x = 2 * (k % kx) + static_cast<size_t>(plane.x);
          to[y * 2 * kx + x] += from[k];
        }
      }
    }
    rewriter_.change(index, [&](Node* to) {
      to->inputs[0] = source;
      to->weights = std::move(weights);
      to->run.kernel = {2 * to->run.kernel.x, 2 * to->run.kernel.y};
      to->run.stride = {2 * to->run.stride.x, 2 * to->run.stride.y};
      device::Pad& pad = to->run.conv_pad;
      pad = {2 * pad.left, 2 * pad.right, 2 * pad.top, 2 * pad.bottom};
    });
    return true;
  }

  // Replaces a convolution of some channels of a value, or of a join, in any order, by one of all
  // channels, with zero weights for the others. It at most doubles the work.
  bool become_sparse(size_t index) {
    const Node& node = rewriter_.node(index);
    const Planes* planes = moved_picture(node.inputs[0]);
    if (!planes || node.run.conv != device::ConvKind::kConv || !are_whole(*planes)) return false;
    const auto source = join_of(*planes);
    if (!source || *source == node.inputs[0] || is_slice(*planes)) return false;
    const auto all = planes_of(*source);
    if (!all || all->planes.size() > 2 * planes->planes.size()) return false;
    std::map<std::pair<int, int>, size_t> places;
    for (size_t i = 0; i < all->planes.size(); ++i) {
      places[{all->planes[i].value, all->planes[i].channel}] = i;
    }
    const size_t kernel = node.run.kernel.area(), count = node.run.outputs();
    std::vector<float> weights(count * all->planes.size() * kernel);
    for (size_t m = 0; m < count; ++m) {
      for (size_t c = 0; c < planes->planes.size(); ++c) {
        const size_t place = places.at({planes->planes[c].value, planes->planes[c].channel});
        const float* from = &node.weights[(m * planes->planes.size() + c) * kernel];
        float* to = &weights[(m * all->planes.size() + place) * kernel];
        for (size_t k = 0; k < kernel; ++k) to[k] += from[k];
      }
    }
    rewriter_.change(index, [&](Node* to) {
      to->inputs[0] = *source;
      to->weights = std::move(weights);
    });
    return true;
  }

  // Returns whether planes are whole channels, with all rows and columns.
  bool are_whole(const Planes& planes) const {
    return std::all_of(planes.planes.begin(), planes.planes.end(), [&](const Plane& p) {
      const Shape& shape = graph_.shape_of(p.value);
      return p.y == 0 && p.x == 0 && p.step_y == 1 && p.step_x == 1 && shape.h() == planes.h &&
             shape.w() == planes.w;
    });
  }

  // Returns the values of the planes, in the order of their first appearance.
  static std::vector<int> sources_of(const Planes& planes) {
    std::vector<int> sources;
    std::unordered_set<int> seen;
    for (const Plane& plane : planes.planes) {
      if (seen.insert(plane.value).second) sources.push_back(plane.value);
    }
    return sources;
  }

  // Returns the value that consists of all sources of the planes side by side, if there is one.
  std::optional<int> join_of(const Planes& planes) const {
    const std::vector<int> sources = sources_of(planes);
    if (sources.size() == 1) return sources[0];
    const auto join = joins_.find(sources);
    return join == joins_.end() ? std::nullopt : std::optional<int>(join->second);
  }

  // Moves a picture's elements in one step: a slice of one value, or a gathering.
  void move(int value) {
    const Planes* planes = moved_picture(value);
    const int producer = rewriter_.producer(value);
    if (!planes || producer < 0 || !are_whole(*planes)) return;
    const auto index = static_cast<size_t>(producer);
    const std::vector<int> sources = sources_of(*planes);
    if (!is_join(*planes, sources)) {
      layers::ChannelGatherAttributes layer;
      for (const Plane& plane : planes->planes) {
        const auto at = std::find(sources.begin(), sources.end(), plane.value) - sources.begin();
        layer.channels.push_back({static_cast<int>(at), plane.channel});
      }
      rewriter_.change(index, [&](Node* node) {
        node->inputs = sources;
        if (is_slice(*planes)) {
          const int count = graph_.shape_of(value).c();
          node->set_layer(layers::SliceAttributes{
              {0, layer.channels[0].channel, 0, 0}, {1, 1, 1, 1}, {1, count, -1, -1}});
        } else {
          node->set_layer(std::move(layer));
        }
        node->op = Op::kCpu;
      });
    } else if (sources.size() > 1) {
      return;  // a join stays as it is
    }
    planes_.erase(value);  // from now on it has channels of its own
  }

  // Returns whether planes are adjacent channels that the device can read in place.
  bool is_slice(const Planes& planes) const {
    const Plane& first = planes.planes[0];
    const auto count = static_cast<int>(planes.planes.size());
    const bool to_end = first.channel + count == graph_.shape_of(first.value).c();
    if (first.channel % 8 != 0 || (count % 8 != 0 && !to_end)) return false;
    for (int i = 0; i < count; ++i) {
      const Plane& plane = nth(planes.planes, i);
      if (plane.value != first.value || plane.channel != first.channel + i) return false;
    }
    return true;
  }

  // Returns whether planes are all channels of their sources, in order.
  bool is_join(const Planes& planes, const std::vector<int>& sources) const {
    size_t at = 0;
    for (int source : sources) {
      for (int c = 0; c < graph_.shape_of(source).c(); ++c, ++at) {
        if (at >= planes.planes.size() || planes.planes[at].value != source ||
            planes.planes[at].channel != c) {
          return false;
        }
      }
    }
    return at == planes.planes.size();
  }

  Graph& graph_;
  device::Limits limits_;
  Rewriter rewriter_;
  std::map<int, Planes> planes_;           // by value, for results of moves
  std::map<std::vector<int>, int> joins_;  // by the values joined: the result
  size_t followed_ = 0;                    // number of planes tracked
};

}  // namespace

void move_channels(Graph* graph, const device::Limits& limits) {
  ChannelMover(graph, limits).run();
}

}  // namespace dvnn::plan
