// SPDX-License-Identifier: Apache-2.0
// Prints the figures of tracks: for people, and as JSON.
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

/// Prints a line for each subject, all sequences together.
void print_tracks(const std::vector<Measured>& measured);
/// Prints a line for each sequence, and for each class where there are several.
void print_sequences(const evaluate::DataSet& data, const MeasuredTracks& measured);
OrderedJson tracks_json(const evaluate::DataSet& data, const MeasuredTracks& measured);

}  // namespace dvnn::tools
