// SPDX-License-Identifier: Apache-2.0
// JSON of anybody, read and written again in each way there is: what is written is
// read as the same value, and any bytes are a string that can be read.
#include "base/json.h"
#include "publish/line_writer.h"
#include "target.h"

namespace dvnn::fuzz::json_target {

namespace {

Json read_again(const std::string& written) {
  const auto value = parse_json(written, "what was written");
  if (!value.ok()) std::fprintf(stderr, "%s: %s\n", value.error().message.c_str(), written.c_str());
  fuzz::expect(value.ok(), "what was written cannot be read");
  return value.value();
}

void check_written(const Json& value) {
  for (const int indent : {-1, 0, 2}) {
    for (const bool ascii : {false, true}) {
      fuzz::expect(read_again(json_text(value, indent, ascii)) == value,
                   "another value is written");
      fuzz::expect(read_again(json_text(OrderedJson(value), indent, ascii)) == value,
                   "another value is written in the order as given");
    }
  }
}

// Documents are written without a value in between.
void check_text(const std::string& bytes) {
  publish::LineWriter writer(0);
  writer.text(bytes);
  const std::string line = writer.take();
  fuzz::expect(line == json_text(Json(bytes)), "a document's string is another than a value's");
  fuzz::expect(read_again(line).is_string(), "a string is read as something else");
}

}  // namespace

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_text(text);
  const auto parsed = parse_json(text, "it");
  if (!fuzz::is_good(parsed)) return;
  ++fuzz::accepted;
  const Json& value = parsed.value();
  check_written(value);
  Json copy = value;
  let_go(&copy);
  fuzz::expect(copy.empty() || !copy.is_structured(), "a value that was let go of is not empty");
}

DVNN_FUZZ_TARGET(json)

}  // namespace dvnn::fuzz::json_target
