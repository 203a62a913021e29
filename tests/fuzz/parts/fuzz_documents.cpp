// SPDX-License-Identifier: Apache-2.0
// Documents that anybody may have written: refused by a line that names the member, or taken, and
// then written, read and written again as the same bytes.
#include "fuzzed_data.h"
#include "json_mutator.h"
#include "publish/document_reader.h"
#include "target.h"

namespace dvnn::fuzz::documents_target {

namespace {

std::string written(const publish::ReadDocument& read) {
  return publish::to_line(read.document, read.identity, read.seq, read.fields);
}

}  // namespace

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  const auto read = publish::read_line({reinterpret_cast<const char*>(data), size});
  if (!fuzz::is_good(read)) return;
  ++fuzz::accepted;
  const std::string line = written(read.value());
  fuzz::expect(line.find('\n') == std::string::npos, "a document is more than a line");
  const auto again = publish::read_line(line);
  if (!again.ok()) std::fprintf(stderr, "%s: %s\n", again.error().message.c_str(), line.c_str());
  fuzz::expect(again.ok(), "what was written cannot be read");
  const std::string second = written(again.value());
  if (second != line) std::fprintf(stderr, "%s\n%s\n", line.c_str(), second.c_str());
  fuzz::expect(second == line, "what was read is written otherwise");
}

static fuzz::JsonMutator& mutator() {
  static fuzz::JsonMutator made({"frame", "event", "track", "clip", "detection", "segmentation",
                                 "inferred", "predicted", "AAAA", "image/jpeg", "object"});
  return made;
}

[[maybe_unused]] static size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return mutator().mutate(data, size, max_size, seed);
}

[[maybe_unused]] static size_t cross(const uint8_t* a, size_t a_size, const uint8_t* b,
                                     size_t b_size, uint8_t* out, size_t max_size, unsigned seed) {
  return mutator().cross(a, a_size, b, b_size, out, max_size, seed);
}

DVNN_FUZZ_JSON_TARGET(documents)

}  // namespace dvnn::fuzz::documents_target
