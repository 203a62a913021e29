// SPDX-License-Identifier: Apache-2.0
// Finds out which numbers of a network's outputs mean what. Parameters say which parts the heads
// have ("parts"), and may name the outputs ("outputs"); without names, shapes tell.
//
//   "parts": ["scores", "boxes", "points"]        an output each; or one each per level
//   "parts": ["boxes+objectness+scores"]          side by side in one output, or in one per level
//   "outputs": ["cls", ["b8", "b16", "b32"]]      for each entry of "parts": a name, or one per
//   level
#pragma once

#include <string>
#include <vector>

#include "decode/parts/detector.h"

namespace dvnn::decode {

/// Sizes of the parts, in numbers of an anchor; 0: as many as the output has (scores only).
struct PartSizes {
  int boxes = 4, scores = 0, points = 0, offsets = 2, masks = 0;

  /// Returns the size of the named part; parts that are one number are not among the members.
  int of(const std::string& part) const;
};

/// The parts of an entry of "parts": "boxes+scores" has two.
std::vector<std::string> split_parts(const std::string& entry);

/// The order of the numbers of several anchors in a cell.
struct AnchorOrder {
  std::vector<std::string> inner;   // parts whose numbers each stand there for all anchors in turn
  std::vector<std::string> shared;  // parts that all anchors share; then parts lie one by one
};

struct Heads {
  std::vector<Table> tables;
  std::vector<Level> levels;  // as given, with their columns
};

/// A grid over an input of so many pixels, with a cell at every `stride` of them.
Level grid_level(const image::Size& input, int stride);

/// For each entry of "parts" the outputs that it names, if any.
using GroupNames = std::vector<std::vector<std::string>>;

/// Reads {"num_classes"} and {"point_count"} of point_size numbers.
PartSizes read_part_sizes(JsonReader* in, int point_size);

/// Reads {"parts", "outputs", "inner", "shared"}. `levels` say how many cells and anchors there
/// are; `parts` is used where the parameters have none, and so are `names`, of as many entries or
/// none. Errors name the part and what was looked for.
Result<Heads> find_heads(JsonReader* in, Span<const NamedOutput> outputs, std::vector<Level> levels,
                         const PartSizes& sizes, std::vector<std::string> parts,
                         const GroupNames& names = {});

/// The decoder, if suppression of its candidates is within the budget of a network.
Result<std::unique_ptr<Decoder>> make_detector(const DetectorRules& rules, Heads heads,
                                               std::unique_ptr<Geometry> geometry,
                                               std::unique_ptr<MaskMaker> masks = nullptr);

/// The index of the output that is called so; the other: of the first, where there is no name.
Result<size_t> find_output(Span<const NamedOutput> outputs, const std::string& name);
Result<size_t> find_output_or_first(Span<const NamedOutput> outputs, const std::string& name);

/// A list of texts; what is wrong is recorded with `in`.
std::vector<std::string> read_texts(JsonReader* in, const char* name);

/// Reads "image": the network's input in pixels, [width, height].
image::Size read_image(JsonReader* in);

}  // namespace dvnn::decode
