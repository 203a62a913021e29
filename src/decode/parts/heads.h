// SPDX-License-Identifier: Apache-2.0
// Finds out the meaning of the numbers in a network's outputs. Parameters tell the parts of the
// heads ("parts") and may name the outputs ("outputs"); without names, shapes decide.
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

/// Sizes of the parts, in numbers per anchor; 0: determined by the output (scores only).
struct PartSizes {
  int boxes = 4, scores = 0, points = 0, offsets = 2, masks = 0;

  /// Returns the size of the named part: a member, or 1.
  int of(const std::string& part) const;
};

/// Splits an entry of "parts": "boxes+scores" has two parts.
std::vector<std::string> split_parts(const std::string& entry);

/// Order of the numbers in a cell with several anchors.
struct AnchorOrder {
  std::vector<std::string> inner;   // parts with each number given for all anchors in turn
  std::vector<std::string> shared;  // parts common to all anchors; then parts are stored one by one
};

struct Heads {
  std::vector<Table> tables;
  std::vector<Level> levels;  // the given levels, with their columns
};

/// Returns the grid of an input of `input` pixels with a cell every `stride` pixels.
Level grid_level(const image::Size& input, int stride);

/// For each entry of "parts", the outputs that it names, if any.
using GroupNames = std::vector<std::vector<std::string>>;

/// Reads {"num_classes"}, and {"point_count"} points of point_size numbers.
PartSizes read_part_sizes(JsonReader* in, int point_size);

/// Reads {"parts", "outputs", "inner", "shared"}. `levels` tell the numbers of cells and anchors.
/// `parts` and `names` (as many, or none) are defaults. Errors name the part and what was looked
/// for.
Result<Heads> find_heads(JsonReader* in, Span<const NamedOutput> outputs, std::vector<Level> levels,
                         const PartSizes& sizes, std::vector<std::string> parts,
                         const GroupNames& names = {});

/// Creates the detector if suppression of its candidates is within the budgets of a network.
Result<std::unique_ptr<Decoder>> make_detector(const DetectorRules& rules, Heads heads,
                                               std::unique_ptr<Geometry> geometry,
                                               std::unique_ptr<MaskMaker> masks = nullptr);

/// Returns the index of the output `name`; find_output_or_first() returns 0 if `name` is empty.
Result<size_t> find_output(Span<const NamedOutput> outputs, const std::string& name);
Result<size_t> find_output_or_first(Span<const NamedOutput> outputs, const std::string& name);

/// Reads a list of strings. Errors are recorded with `in`.
std::vector<std::string> read_texts(JsonReader* in, const char* name);

/// Reads "image": the size of the network's input in pixels, [width, height].
image::Size read_image(JsonReader* in);

}  // namespace dvnn::decode
