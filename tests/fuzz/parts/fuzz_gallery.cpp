// SPDX-License-Identifier: Apache-2.0
// Galleries as files and as entries that others share: what is read is within its bounds, is
// written as it was read, and can be searched.
#include <cmath>

#include "base/json.h"
#include "json_mutator.h"
#include "match/gallery.h"
#include "match/strangers.h"
#include "target.h"

namespace dvnn::fuzz::gallery_target {

DVNN_FUZZ_JSON("dvnn-gallery", "length", "network", "threshold", "margin", "next", "name",
               "stranger", "first", "last", "version", "vectors", "forgotten")

namespace {

void check_vectors(const match::Person& person, size_t length) {
  if (length == 0 || person.vectors.empty() || person.vectors.size() % length != 0) std::abort();
  for (size_t at = 0; at < person.vectors.size(); at += length) {
    double sum = 0;
    for (size_t i = at; i < at + length; ++i) {
      sum += static_cast<double>(person.vectors[i]) * static_cast<double>(person.vectors[i]);
    }
    if (!(std::fabs(sum - 1) < 1e-3)) std::abort();
  }
  if (person.name.empty() == (person.stranger == 0)) std::abort();
}

void check_gallery(const match::Gallery& gallery) {
  for (const match::Person& person : gallery.people) {
    check_vectors(person, gallery.length);
    const std::vector<float> first(
        person.vectors.begin(),
        person.vectors.begin() + static_cast<std::ptrdiff_t>(gallery.length));
    const match::Best best = match::find_best(gallery, first);
    if (!best.first || !(best.likeness > 0.99)) std::abort();
  }
  const auto again = match::parse_gallery(match::gallery_text(gallery), "it");
  if (!again.ok() || again.value().people.size() != gallery.people.size() ||
      again.value().forgotten.size() != gallery.forgotten.size() ||
      again.value().length != gallery.length) {
    std::abort();
  }
}

void try_entry(const std::string& text) {
  auto entry = match::parse_entry(text, "it");
  if (!fuzz::is_good(entry)) return;
  match::Strangers strangers;
  strangers.set_bounds({2, 1000, false});
  if (entry.value().person) {
    check_vectors(*entry.value().person, entry.value().length);
    strangers.take(*entry.value().person, entry.value().length);
    const size_t length = entry.value().length;
    const auto each = static_cast<float>(1 / std::sqrt(static_cast<double>(length)));
    strangers.see(std::vector<float>(length, each), 5000, 0.5);
  } else {
    strangers.take(*entry.value().forgotten);
  }
}

}  // namespace

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_entry(text);
  // A mutator of JSON makes one line: what is an array is the lines of a file.
  std::string lines = text;
  const auto parsed = parse_json(text, "it");
  if (parsed.ok() && parsed.value().is_array()) {
    lines.clear();
    for (const Json& line : parsed.value()) lines += json_text(line) + "\n";
  }
  const auto gallery = match::parse_gallery(lines, "it");
  if (!fuzz::is_good(gallery)) return;
  ++fuzz::accepted;
  check_gallery(gallery.value());
}

DVNN_FUZZ_JSON_TARGET(gallery)

}  // namespace dvnn::fuzz::gallery_target
