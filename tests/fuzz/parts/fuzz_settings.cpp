// SPDX-License-Identifier: Apache-2.0
// What people write for elements: labels, areas of dvzones and of dvconvert, patterns of texts.
// Each is taken as it stands, or refused in a line, which names the file if there is one.
#include <sstream>
#include <string>
#include <vector>

#include "agree/votes.h"
#include "base/format.h"
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

// The first line is the pattern; the others are what looks at one thing have read.
void read_texts(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const auto patterns = agree::Patterns::parse(line);
  if (!patterns.ok()) {
    expect(is_printable(patterns.error().message), "an error that is no line");
    return;
  }
  ++accepted;
  const agree::Pattern* pattern = patterns.value().find("plate");
  agree::TextVotes votes;
  double confidence = 0;
  for (; std::getline(lines, line); confidence += 0.1) votes.add(line, confidence);
  const agree::TextVotes::Agreed agreed = votes.result(pattern);
  expect(agreed.probability >= 0 && agreed.probability <= 1, "it is no probability");
  if (pattern && agreed.matches && !votes.empty()) {
    expect(pattern->matches(agreed.text), "a text that does not match is agreed");
  }
}

}  // namespace

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  FuzzedData in(data, size);
  const uint8_t kind = in.byte() % 4;
  const std::string text = in.rest();
  if (kind == 0) read_labels(text);
  if (kind == 1) is_taken(zones::parse_config(text, "'file'"), "'file'");
  if (kind == 2) is_taken(regions::parse_areas(text, "'file'"), "'file'");
  if (kind == 3) read_texts(text);
}

DVNN_FUZZ_TARGET(settings)

}  // namespace dvnn::fuzz::settings_target
