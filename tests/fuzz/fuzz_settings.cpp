// SPDX-License-Identifier: Apache-2.0
// Files that people write for elements: labels, and areas of dvzones and of dvconvert. Each is
// taken as it stands, or refused in a line that begins with the file's name.
#include <string>
#include <vector>

#include "fuzzed_data.h"
#include "objects/label_file.h"
#include "regions/areas.h"
#include "target.h"
#include "zones/config.h"

namespace dvnn::fuzz::settings_target {

namespace {

template <typename T>
bool is_taken(const Result<T>& result, const std::string& name) {
  if (!fuzz::is_good(result)) {
    const std::string& message = result.error().message;
    // JsonReader names the field first.
    expect(message.find(name) != std::string::npos, message.c_str());
    return false;
  }
  ++accepted;
  return true;
}

void read_labels(const std::string& text) {
  static auto* const file = new fuzz::MemoryFile();
  const std::string path = file->with(text);
  const auto labels = objects::read_labels(path);
  if (!is_taken(labels, "'" + path + "'")) return;
  // No byte is lost but the mark at the file's beginning and those that end lines.
  std::string left = text;
  if (left.compare(0, 3, "\xef\xbb\xbf") == 0) left.erase(0, 3);
  size_t at = 0;
  for (const std::string& label : labels.value()) {
    expect(left.compare(at, label.size(), label) == 0, "a label is not as it stands in the file");
    at += label.size();
    if (at < left.size() && left[at] == '\r') ++at;
    expect(at == left.size() || left[at] == '\n', "a label ends within its line");
    at += at < left.size() ? 1 : 0;
  }
  expect(at == left.size(), "lines are left");
}

}  // namespace

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  FuzzedData in(data, size);
  const uint8_t kind = in.byte() % 3;
  const std::string text = in.rest();
  if (kind == 0) read_labels(text);
  if (kind == 1) is_taken(zones::parse_config(text, "'file'"), "'file'");
  if (kind == 2) is_taken(regions::parse_areas(text, "'file'"), "'file'");
}

DVNN_FUZZ_TARGET(settings)

}  // namespace dvnn::fuzz::settings_target
