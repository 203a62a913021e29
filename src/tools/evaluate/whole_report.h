// SPDX-License-Identifier: Apache-2.0
// Prints figures of networks that say something of a whole picture: its text, or an embedding.
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

}  // namespace dvnn::tools
