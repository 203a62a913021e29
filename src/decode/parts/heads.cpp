// SPDX-License-Identifier: Apache-2.0
#include "decode/parts/heads.h"

#include <algorithm>
#include <cmath>

#include "base/budget.h"
#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"

namespace dvnn::decode {
namespace {

constexpr size_t kMaxNames = 64;

struct PartName {
  const char* name;
  Columns Level::*columns;
};
constexpr PartName kParts[] = {{"boxes", &Level::boxes},           {"scores", &Level::scores},
                               {"objectness", &Level::objectness}, {"points", &Level::points},
                               {"offsets", &Level::offsets},       {"masks", &Level::masks},
                               {"angle", &Level::angle},           {"class", &Level::label}};

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Parts in one output, and the output's names.
struct Group {
  std::string text;
  std::vector<std::string> parts, names;  // names of outputs; empty: found by shape
  bool open = false;                      // has scores, of an unknown number
};

class Finder {
 public:
  Finder(Span<const NamedOutput> outputs, std::vector<Level> levels, const PartSizes& sizes,
         AnchorOrder order)
      : outputs_(outputs), sizes_(sizes), order_(std::move(order)), taken_(outputs.size(), false) {
    heads_.levels = std::move(levels);
    size_t cells = 0;
    for (Level& level : heads_.levels) {
      level.first_cell = cells;
      cells += level.cells;
    }
    cells_ = cells;
  }

  Status find(const Group& group) {
    const size_t count = heads_.levels.size();
    if (!group.names.empty() && group.names.size() != 1 && group.names.size() != count) {
      return malformed(
          format("field 'outputs': '%s' needs one output, or one for each of %zu levels",
                 group.text.c_str(), count));
    }
    if (group.names.size() != 1 && count > 1 && find_per_level(group)) return {};
    if (group.names.size() <= 1 && find_joined(group)) return {};
    return refused(group);
  }

  Heads take() { return std::move(heads_); }

 private:
  // Returns the group's known numbers per cell over all anchors, without scores if their number is
  // open.
  int known(const Group& group, int anchors) const {
    int sum = 0;
    for (const std::string& part : group.parts) {
      sum += sizes_.of(part) * (has(order_.shared, part) ? 1 : anchors);
    }
    return sum;
  }

  // Returns the number of classes if a cell has `values` numbers, or 0 if they do not fit.
  int classes_of(const Group& group, int anchors, size_t values) const {
    const int left = static_cast<int>(values) - known(group, anchors);
    if (!group.open) return left == 0 ? std::max(1, sizes_.scores) : 0;
    const int share = has(order_.shared, "scores") ? 1 : anchors;
    return left > 0 && left % share == 0 ? left / share : 0;
  }

  bool wanted(const Group& group, size_t level, size_t output) const {
    if (taken_[output]) return false;
    if (group.names.empty()) return true;
    return outputs_[output].name == group.names[group.names.size() == 1 ? 0 : level];
  }

  // Creates the table if the output fits.
  bool fits(const Group& group, size_t output, size_t cells, const Level& level, Table* table,
            int* classes) const {
    auto made = Table::make(outputs_[output], output, cells, static_cast<size_t>(level.anchors));
    if (!made.ok()) return false;
    *classes = classes_of(group, level.anchors, made.value().values());
    *table = std::move(made.value());
    return *classes > 0;
  }

  bool find_per_level(const Group& group) {
    std::vector<size_t> found;
    std::vector<Table> tables;
    int classes = 0;
    for (size_t i = 0; i < heads_.levels.size(); ++i) {
      const Level& level = heads_.levels[i];
      for (size_t o = 0; o < outputs_.size(); ++o) {
        Table table;
        int own = 0;
        if (!wanted(group, i, o) || std::count(found.begin(), found.end(), o) ||
            !fits(group, o, level.cells, level, &table, &own) || (i > 0 && own != classes) ||
            (table.width() > 0 && level.height > 1 && table.width() != level.width)) {
          continue;
        }
        classes = own;
        found.push_back(o);
        tables.push_back(std::move(table));
        break;
      }
      if (found.size() != i + 1) return false;
    }
    for (size_t i = 0; i < found.size(); ++i) {
      taken_[found[i]] = true;
      assign(group, std::move(tables[i]), classes, &heads_.levels[i]);
    }
    return true;
  }

  bool find_joined(const Group& group) {
    for (size_t o = 0; o < outputs_.size(); ++o) {
      Table table;
      int classes = 0;
      if (!wanted(group, 0, o) || !fits(group, o, cells_, heads_.levels[0], &table, &classes)) {
        continue;
      }
      for (Level& level : heads_.levels) {
        auto part = table.slice(level.first_cell, level.cells);
        if (!part.ok()) return false;
        assign(group, std::move(part.value()), classes, &level);
      }
      taken_[o] = true;
      return true;
    }
    return false;
  }

  void assign(const Group& group, Table table, int classes, Level* level) {
    const int index = static_cast<int>(heads_.tables.size());
    const bool one_by_one = !order_.shared.empty();
    auto count_of = [&](const std::string& part) {
      const int own = sizes_.of(part);
      return own > 0 ? own : classes;
    };
    int row = 0;  // numbers of one anchor, if they are consecutive
    for (const std::string& part : group.parts) row += count_of(part);
    int first = 0;
    for (const std::string& part : group.parts) {
      const int count = count_of(part), anchors = level->anchors;
      Columns columns{index, first, row, 1, count};
      if (has(order_.shared, part)) {
        columns.anchor_step = 0;
      } else if (has(order_.inner, part)) {
        columns.anchor_step = 1;
        columns.step = anchors;
      } else if (one_by_one) {
        columns.anchor_step = count;
      }
      first += one_by_one && !has(order_.shared, part) ? count * anchors : count;
      for (const PartName& known_part : kParts) {
        if (part == known_part.name) level->*known_part.columns = columns;
      }
    }
    heads_.tables.push_back(std::move(table));
  }

  Error refused(const Group& group) const {
    const Level& level = heads_.levels[0];
    const std::string shapes = joined(outputs_, ", ", [](const NamedOutput& output) {
      return output.name + " " + output.desc.shape.to_string();
    });
    const std::string names =
        joined(group.names, ", ", [](const std::string& name) { return "'" + name + "'"; });
    const int numbers = known(group, level.anchors);
    return malformed(format(
        "%s%s %s part '%s': it has %s%d numbers in each of %zu cells%s (the network's outputs: %s)",
        names.empty() ? "no output" : "output ", names.c_str(),
        names.empty() ? "fits" : "does not fit", group.text.c_str(),
        group.open ? "scores beside " : "", numbers, level.cells,
        heads_.levels.size() > 1 ? format(" for the first of %zu levels, or of %zu for all",
                                          heads_.levels.size(), cells_)
                                       .c_str()
                                 : "",
        shapes.c_str()));
  }

  Span<const NamedOutput> outputs_;
  PartSizes sizes_;
  AnchorOrder order_;
  std::vector<bool> taken_;
  size_t cells_ = 0;
  Heads heads_;
};

std::vector<std::string> texts_of(const Json& value) {
  std::vector<std::string> texts;
  if (value.is_string()) return {value.get<std::string>()};
  if (!value.is_array() || value.size() > kMaxNames) return {};
  for (const Json& item : value) {
    if (!item.is_string()) return {};
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

bool is_part(const std::string& name) {
  return name == "skip" || std::any_of(std::begin(kParts), std::end(kParts),
                                       [&](const PartName& part) { return name == part.name; });
}

std::vector<Group> read_groups(JsonReader* in, const std::vector<std::string>& parts,
                               const PartSizes& sizes, const GroupNames& otherwise) {
  std::vector<Group> groups;
  for (const std::string& text : parts) {
    Group group{text, split_parts(text), {}, false};
    for (const std::string& part : group.parts) {
      if (!is_part(part)) {
        in->fail("parts", "'" + short_text(part, kMaxNames) +
                              "' is not boxes, scores, objectness, points, offsets, masks, angle, "
                              "class or skip");
      }
      if (part == "points" && sizes.points == 0) in->fail("point_count", "required but missing");
      if (part == "masks" && sizes.masks == 0) in->fail("mask_count", "required but missing");
      group.open = group.open || (part == "scores" && sizes.scores == 0);
    }
    groups.push_back(std::move(group));
  }
  const Json* names = in->member("outputs");
  for (size_t i = 0; !names && i < otherwise.size(); ++i) groups.at(i).names = otherwise[i];
  if (!names) return groups;
  if (!names->is_array() || names->size() != groups.size()) {
    in->fail("outputs", format("needs a list of %zu entries, as 'parts' has", groups.size()));
    return groups;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].names = texts_of(names->at(i));
    if (groups[i].names.empty()) in->fail("outputs", "entries are names, or lists of names");
  }
  return groups;
}

}  // namespace

int PartSizes::of(const std::string& part) const {
  if (part == "boxes") return boxes;
  if (part == "scores") return scores;
  if (part == "points") return points;
  if (part == "offsets") return offsets;
  if (part == "masks") return masks;
  return 1;
}

std::vector<std::string> split_parts(const std::string& entry) {
  std::vector<std::string> parts;
  size_t at = 0;
  for (size_t plus; (plus = entry.find('+', at)) != std::string::npos; at = plus + 1) {
    parts.push_back(entry.substr(at, plus - at));
  }
  parts.push_back(entry.substr(at));
  return parts;
}

std::vector<std::string> read_texts(JsonReader* in, const char* name) {
  const Json* value = in->member(name);
  if (!value) return {};
  std::vector<std::string> texts = texts_of(*value);
  if (texts.empty()) in->fail(name, "must be a list of texts");
  return texts;
}

image::Size read_image(JsonReader* in) {
  const std::vector<int> size = in->integers("image", 1, 32768, 2);
  if (size.size() == 2) return {double(size[0]), double(size[1])};
  in->fail("image", "must be [width, height]");
  return {1, 1};
}

Result<size_t> find_output_or_first(Span<const NamedOutput> outputs, const std::string& name) {
  if (!name.empty()) return find_output(outputs, name);
  if (outputs.empty()) return malformed("the network has no output");
  return size_t{0};
}

Result<size_t> find_output(Span<const NamedOutput> outputs, const std::string& name) {
  std::string known;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name == name) return i;
    known += (i ? ", " : "") + outputs[i].name;
  }
  return malformed("the network has no output '" + name + "' (it has: " + known + ")");
}

Level grid_level(const image::Size& input, int stride) {
  Level level;
  level.stride_x = level.stride_y = static_cast<float>(stride);
  level.width = static_cast<int>(std::ceil(static_cast<float>(input.width) / level.stride_x));
  level.height = static_cast<int>(std::ceil(static_cast<float>(input.height) / level.stride_y));
  level.cells = grid_size(level.width, level.height);
  return level;
}

PartSizes read_part_sizes(JsonReader* in, int point_size) {
  constexpr int64_t kManyClasses = 65536, kManyPoints = 4096;
  PartSizes sizes;
  sizes.scores = static_cast<int>(in->integer("num_classes", 0, kManyClasses, 0));
  sizes.points = static_cast<int>(in->integer("point_count", 0, kManyPoints, 0)) * point_size;
  return sizes;
}

Result<Heads> find_heads(JsonReader* in, Span<const NamedOutput> outputs, std::vector<Level> levels,
                         const PartSizes& sizes, std::vector<std::string> parts,
                         const GroupNames& names) {
  if (in->member("parts")) parts = read_texts(in, "parts");
  AnchorOrder order{read_texts(in, "inner"), read_texts(in, "shared")};
  const std::vector<Group> groups = read_groups(in, parts, sizes, names);
  DVNN_TRY(in->status());
  Finder finder(outputs, std::move(levels), sizes, std::move(order));
  // Parts of known sizes choose their outputs first; scores get the remaining ones.
  for (const bool open : {false, true}) {
    for (const Group& group : groups) {
      if (group.open == open) DVNN_TRY(finder.find(group));
    }
  }
  Heads heads = finder.take();
  for (const Level& level : heads.levels) {
    if (!level.scores.there() || !level.boxes.there()) {
      return malformed("field 'parts' needs 'scores' and 'boxes'");
    }
  }
  return heads;
}

Result<std::unique_ptr<Decoder>> make_detector(const DetectorRules& rules, Heads heads,
                                               std::unique_ptr<Geometry> geometry,
                                               std::unique_ptr<MaskMaker> masks) {
  uint64_t cells = 0;
  for (const Level& level : heads.levels)
    cells += level.cells * static_cast<uint64_t>(level.anchors);
  const auto top_k = static_cast<uint64_t>(std::max(0, rules.nms.top_k));
  uint64_t candidates = rules.nms.top_k >= 0 ? std::min(cells, top_k) : cells;
  const int background = rules.score.background, count = heads.levels[0].scores.count;
  if (rules.score.every_class) {
    candidates *= static_cast<uint64_t>(count - (background >= 0 && background < count ? 1 : 0));
  }
  DVNN_TRY(check_budget(Budget::kCandidates, candidates,
                        "suppression looks at candidates of all classes"));
  return std::unique_ptr<Decoder>(new Detector(rules, std::move(heads.tables),
                                               std::move(heads.levels), std::move(geometry),
                                               std::move(masks)));
}

}  // namespace dvnn::decode
