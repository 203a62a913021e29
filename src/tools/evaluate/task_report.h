// SPDX-License-Identifier: Apache-2.0
// Prints the figures of networks that do something else than find boxes, for people and as JSON:
// that read, that compare by embeddings, and that follow.
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

/// Prints a line for each network.
void print_readings(const std::vector<Measured>& measured);
void print_embeddings(const std::vector<Measured>& measured);
/// Prints the first texts that were misread.
void print_misread(const evaluate::DataSet& data, const MeasuredReading& measured);

OrderedJson reading_json(const evaluate::DataSet& data, const MeasuredReading& measured);
OrderedJson embeddings_json(const MeasuredEmbeddings& measured);

/// Prints a line for each subject, all sequences together.
void print_tracks(const std::vector<Measured>& measured);
/// Prints a line for each sequence, and for each class where there are several.
void print_sequences(const evaluate::DataSet& data, const MeasuredTracks& measured);
OrderedJson tracks_json(const evaluate::DataSet& data, const MeasuredTracks& measured);

}  // namespace dvnn::tools
