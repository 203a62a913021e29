// SPDX-License-Identifier: Apache-2.0
#include "import/tflite/import.h"

#include <zip.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/format.h"
#include "import/model_file.h"
#include "import/sandbox.h"
#include "metadata_generated.h"

namespace dvnn::import {
namespace {

constexpr size_t kMostLabels = 65536, kLongestLabel = 200;
constexpr uint64_t kMostTextBytes = uint64_t{4} << 20;
constexpr uint64_t kMostModelBytes = uint64_t{1} << 30;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

// Reads a file of the archive behind the model. Called in a sandbox.
bool read_text(uint8_t* bytes, size_t size, const std::string& name, std::string* text) {
  zip_source_t* const source = zip_source_buffer_create(bytes, size, 0, nullptr);
  const std::unique_ptr<zip_t, CloseArchive> archive(
      source ? zip_open_from_source(source, ZIP_RDONLY, nullptr) : nullptr);
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (!archive || zip_stat(archive.get(), name.c_str(), 0, &stat) != 0 ||
      !(stat.valid & ZIP_STAT_SIZE) || stat.size > kMostTextBytes) {
    return false;
  }
  const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen(archive.get(), name.c_str(), 0));
  text->resize(static_cast<size_t>(stat.size));
  return entry &&
         zip_fread(entry.get(), text->data(), stat.size) == static_cast<zip_int64_t>(stat.size);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size() && lines.size() < kMostLabels;) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(short_text(line, kLongestLabel));
    at = end + 1;
  }
  return lines;
}

void read_labels(const std::string& path, const std::string& name, TfliteMetadata* metadata) {
  const auto file = open_model_file(path, kMostModelBytes);
  if (!file.ok()) return;
  SandboxLimits limits;
  limits.memory_bytes += kMostModelBytes;
  limits.result_bytes = kMostTextBytes;
  const auto text = read_in_sandbox(file.value(), path, "", limits,
                                    [&](uint8_t* bytes, size_t size, std::string* message) {
                                      return read_text(bytes, size, name, message);
                                    });
  if (text.ok()) metadata->labels = lines_of(text.value());
  if (metadata->labels.empty()) {
    metadata->problem = "its labels, '" + printable(short_text(name, kLongestLabel)) +
                        "', are not to be read: give them by --labels";
  }
}

template <typename List>
std::vector<float> floats_of(const List* list) {
  constexpr unsigned kMostChannels = 3;
  std::vector<float> values;
  for (unsigned i = 0; list && i < std::min(list->size(), kMostChannels); ++i) {
    values.push_back(list->Get(i));
  }
  return values;
}

void read_normalisation(const tfl::TensorMetadata& input, TfliteMetadata* metadata) {
  for (unsigned i = 0; input.process_units() && i < input.process_units()->size(); ++i) {
    const auto* options = input.process_units()->Get(i)->options_as_NormalizationOptions();
    if (!options) continue;
    const std::vector<float> mean = floats_of(options->mean());
    std::vector<float> scale = floats_of(options->std());
    const auto fits = [](float v) { return std::isfinite(v); };
    for (float& v : scale) v = 1 / v;
    if (mean.empty() || scale.empty() || !std::all_of(mean.begin(), mean.end(), fits) ||
        !std::all_of(scale.begin(), scale.end(), fits)) {
      continue;
    }
    metadata->mean = mean;
    metadata->scale = scale;
  }
}

// Reads the scale of an input of bytes. A pixel is the stored number, plus 128 if it is signed.
void read_scaling(const tfl::Tensor& input, TfliteMetadata* metadata) {
  const auto scaling = tflite_scaling(input);
  if (!scaling.ok() || scaling.value().scale.size() != 1) return;
  const bool is_signed = input.type() == tfl::TensorType::INT8;
  if (!is_signed && input.type() != tfl::TensorType::UINT8) return;
  constexpr double kOfSign = 128;
  metadata->mean = {static_cast<float>(scaling.value().zero[0] + (is_signed ? kOfSign : 0))};
  metadata->scale = {static_cast<float>(scaling.value().scale[0])};
}

// Returns the description's bytes in memory aligned for its types; empty: there is none.
std::string description_of(const TfliteModel& model) {
  const auto* list = model.root().metadata();
  for (unsigned i = 0; list && i < list->size(); ++i) {
    if (tflite_text(list->Get(i)->name()) != "TFLITE_METADATA") continue;
    const Span<const uint8_t> bytes = model.buffer(list->Get(i)->buffer());
    return {bytes.begin(), bytes.end()};
  }
  return {};
}

const tfl::AssociatedFile* labels_in(const tfl::TensorMetadata& output) {
  const auto* files = output.associated_files();
  for (unsigned i = 0; files && i < files->size(); ++i) {
    const tfl::FileType type = files->Get(i)->type();
    if (type == tfl::FileType::AXIS_LABELS || type == tfl::FileType::VALUE_LABELS) {
      return files->Get(i);
    }
  }
  return nullptr;
}

}  // namespace

TfliteMetadata read_tflite_metadata(const TfliteModel& model, const std::string& path) {
  TfliteMetadata metadata;
  const std::string bytes = description_of(model);
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  constexpr int kMostDepth = 16, kMostTables = 10000;
  flatbuffers::Verifier verifier(data, bytes.size(), kMostDepth, kMostTables);
  const bool described = !bytes.empty() && verifier.VerifyBuffer<tfl::ModelMetadata>();
  const auto* root = described ? tfl::GetModelMetadata(data) : nullptr;
  if (root) metadata.description = short_text(tflite_text(root->name()), kLongestLabel);
  const bool has_graph = root && root->subgraphs() && root->subgraphs()->size() > 0;
  const auto* graph = has_graph ? root->subgraphs()->Get(0) : nullptr;
  if (graph && graph->inputs() && graph->inputs()->size() == 1) {
    read_normalisation(*graph->inputs()->Get(0), &metadata);
  }
  const std::vector<int64_t> inputs = tflite_list(model.graph().inputs());
  if (inputs.size() == 1) read_scaling(model.tensor(static_cast<int>(inputs[0])), &metadata);
  for (unsigned i = 0; graph && graph->outputs() && i < graph->outputs()->size(); ++i) {
    const tfl::AssociatedFile* labels = labels_in(*graph->outputs()->Get(i));
    if (!labels) continue;
    read_labels(path, tflite_text(labels->name()), &metadata);
    break;
  }
  return metadata;
}

}  // namespace dvnn::import
