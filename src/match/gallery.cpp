// SPDX-License-Identifier: Apache-2.0
#include "match/gallery.h"

#include <glib.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"

namespace dvnn::match {

bool make_unit(std::vector<float>* vector) {
  double sum = 0;
  for (const float value : *vector) sum += static_cast<double>(value) * static_cast<double>(value);
  if (!(sum > 0) || !std::isfinite(sum)) return false;
  const double scale = 1 / std::sqrt(sum);
  if (!std::isfinite(scale)) return false;
  for (float& value : *vector) value = static_cast<float>(static_cast<double>(value) * scale);
  return true;
}

float cosine(const float* a, const float* b, size_t length) {
  // Sums side by side, which the compiler makes vectors of: it may not reorder one sum.
  constexpr size_t kLanes = 16;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  float rest = 0;
  for (; i < length; ++i) rest += a[i] * b[i];
  for (const float sum : sums) rest += sum;
  return rest;
}

namespace {

constexpr int kFormat = 1;
constexpr size_t kIdDigits = 32;
constexpr int64_t kLatest = int64_t{1} << 53;  // numbers of JSON are exact up to here

// Reads the first line, which says what the gallery is.
Status read_head(const Json& json, const std::string& what, Gallery* gallery) {
  DVNN_TRY(check_members(json, what,
                         {"dvnn-gallery", "length", "network", "threshold", "margin", "next"}));
  JsonReader in(json, what);
  if (!in.member("dvnn-gallery")) {
    return malformed(what + " is not the first one of a gallery: it needs {\"dvnn-gallery\":1}");
  }
  in.integer("dvnn-gallery", kFormat, kFormat);
  gallery->length = static_cast<size_t>(in.integer("length", 0, kMostLength, 0));
  gallery->network = in.text("network", "");
  const auto share = [&](const char* name, std::optional<double>* value) {
    if (!in.member(name)) return;
    *value = in.number(name);
    if (in.ok() && !(std::fabs(**value) <= 1)) in.fail(name, "must be in -1..1");
  };
  share("threshold", &gallery->threshold);
  share("margin", &gallery->margin);
  if (gallery->margin.value_or(0) < 0) in.fail("margin", "must not be below 0");
  gallery->next = static_cast<uint64_t>(in.integer("next", 1, kLatest, 1));
  return in.status();
}

// Reads the vectors of a line, and makes their length 1.
Status read_vectors(JsonReader* in, size_t length, const std::string& what, Person* person) {
  person->vectors = in->numbers("vectors", kMostVectorsEach * kMostLength);
  DVNN_TRY(in->status());
  const size_t count = person->vectors.size();
  if (length == 0) length = count;
  if (count == 0 || length > kMostLength || count % length != 0 ||
      count / length > kMostVectorsEach) {
    return malformed(
        format("%s: 'vectors' has %zu numbers, but needs 1 to %zu times the length of "
               "a vector, %zu",
               what.c_str(), count, kMostVectorsEach, length));
  }
  std::vector<float> one;
  for (size_t at = 0; at < count; at += length) {
    const auto begin = person->vectors.begin() + static_cast<std::ptrdiff_t>(at);
    one.assign(begin, begin + static_cast<std::ptrdiff_t>(length));
    if (!make_unit(&one)) {
      return malformed(format("%s: vector %zu has no direction: it is 0, or too large",
                              what.c_str(), at / length + 1));
    }
    std::copy(one.begin(), one.end(), begin);
  }
  return {};
}

Result<Entry> read_person(const Json& json, size_t length, const std::string& what) {
  DVNN_TRY(check_members(json, what,
                         {"name", "stranger", "first", "last", "version", "length", "vectors"}));
  Entry entry;
  Person& person = entry.person.emplace();
  JsonReader in(json, what);
  // A line that stands alone says the length itself; in a file it must be that of all others.
  const auto least = static_cast<int64_t>(std::max<size_t>(length, 1));
  const auto most = static_cast<int64_t>(length == 0 ? kMostLength : length);
  entry.length =
      static_cast<size_t>(in.integer("length", least, most, static_cast<int64_t>(length)));
  if (in.member("stranger")) {
    person.stranger = static_cast<uint64_t>(in.integer("stranger", 1, kLatest));
    if (in.member("name")) in.fail("name", "must not stand beside 'stranger'");
  } else {
    person.name = in.text("name");
    if (in.ok()) {
      if (const Status good = check_name(person.name); !good.ok()) {
        return good.error().within(what);
      }
    }
  }
  person.first = in.integer("first", 0, kLatest, 0);
  person.last = in.integer("last", 0, kLatest, 0);
  person.version = in.integer("version", 0, kLatest, 0);
  DVNN_TRY(read_vectors(&in, entry.length, what, &person));
  if (entry.length == 0) entry.length = person.vectors.size();
  return entry;
}

bool is_id(const std::string& id) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (id.size() == kIdDigits) return std::all_of(id.begin(), id.end(), is_hex);
  const std::string start = "stranger-";
  constexpr size_t kMostDigits = 16;
  return starts_with(id, start) && id.size() > start.size() &&
         id.size() <= start.size() + kMostDigits &&
         std::all_of(id.begin() + static_cast<std::ptrdiff_t>(start.size()), id.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

Result<Forgotten> read_forgotten(const Json& json, const std::string& what) {
  DVNN_TRY(check_members(json, what, {"forgotten", "version"}));
  JsonReader in(json, what);
  Forgotten note;
  note.id = in.text("forgotten");
  note.version = in.integer("version", 0, kLatest);
  if (in.ok() && !is_id(note.id)) in.fail("forgotten", "is no id of a person");
  DVNN_TRY(in.status());
  return note;
}

Result<Entry> read_entry(const Json& json, size_t length, const std::string& what) {
  if (!json.is_object() || !json.contains("forgotten")) return read_person(json, length, what);
  Entry entry;
  DVNN_ASSIGN(entry.forgotten, read_forgotten(json, what));
  return entry;
}

// Takes a line into the gallery.
class Lines {
 public:
  explicit Lines(Gallery* gallery) : gallery_(gallery) {}

  Status take(Entry entry, const std::string& what) {
    if (entry.forgotten) {
      if (gallery_->forgotten.size() >= kMostNotes) {
        return too_large(what + format(": there are more than %zu notes", kMostNotes));
      }
      gallery_->forgotten.push_back(std::move(*entry.forgotten));
      return {};
    }
    Person& person = *entry.person;
    if (gallery_->length == 0) gallery_->length = entry.length;
    vectors_ += person.vectors.size() / gallery_->length;
    if (gallery_->people.size() >= kMostPeople || vectors_ > kMostVectors) {
      return too_large(what + format(": there are more than %zu people or %zu vectors", kMostPeople,
                                     kMostVectors));
    }
    if (!known_.insert(id_of(person)).second) {
      return malformed(what + ": '" +
                       (person.name.empty() ? id_of(person) : printable(person.name)) +
                       "' has a line above");
    }
    gallery_->next = std::max(gallery_->next, person.stranger + 1);
    gallery_->people.push_back(std::move(person));
    return {};
  }

 private:
  Gallery* const gallery_;
  std::set<std::string> known_;
  size_t vectors_ = 0;
};

Result<Json> parse_line(const std::string& line, const std::string& what) {
  // Its own line number would be 1, whatever the line.
  auto json = parse_written_json(line, what);
  if (!json.ok() && json.error().code == ErrorCode::kMalformed) {
    return malformed(what + " is no object of JSON on one line, or has a name twice");
  }
  return json;
}

}  // namespace

const Person* Gallery::find(const std::string& name) const {
  const auto found = std::find_if(people.begin(), people.end(),
                                  [&](const Person& person) { return person.name == name; });
  return found == people.end() || name.empty() ? nullptr : &*found;
}

Person* Gallery::find(const std::string& name) {
  return const_cast<Person*>(std::as_const(*this).find(name));
}

std::string id_of(const Person& person) {
  if (person.name.empty()) return "stranger-" + std::to_string(person.stranger);
  const std::unique_ptr<gchar, decltype(&g_free)> digits(
      g_compute_checksum_for_data(G_CHECKSUM_SHA256,
                                  reinterpret_cast<const guchar*>(person.name.data()),
                                  person.name.size()),
      g_free);
  return std::string(digits.get(), kIdDigits);
}

Status check_name(const std::string& name) {
  if (name.empty()) return invalid_argument("a name must not be empty");
  if (name.size() > kMostNameBytes) {
    return invalid_argument(
        format("a name has %zu bytes, and may have %zu", name.size(), kMostNameBytes));
  }
  if (!is_printable(name)) {
    return invalid_argument("the name '" + printable(name) +
                            "' has characters that cannot be shown");
  }
  return {};
}

Result<Gallery> parse_gallery(const std::string& text, const std::string& what) {
  Gallery gallery;
  Lines lines(&gallery);
  bool has_head = false;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = what + format(", line %zu", number);
    DVNN_ASSIGN(Json json, parse_line(line, where));
    const JsonEnd end_of_json(&json);
    if (!std::exchange(has_head, true)) {
      DVNN_TRY(read_head(json, where, &gallery));
      continue;
    }
    DVNN_ASSIGN(Entry entry, read_entry(json, gallery.length, where));
    DVNN_TRY(lines.take(std::move(entry), where));
  }
  if (!has_head) return malformed(what + " has no line: it needs {\"dvnn-gallery\":1} at least");
  return gallery;
}

Result<Entry> parse_entry(const std::string& line, const std::string& what) {
  DVNN_ASSIGN(Json json, parse_line(line, what));
  const JsonEnd end_of_json(&json);
  return read_entry(json, 0, what);
}

std::string entry_text(const Person& person, size_t length) {
  OrderedJson json;
  if (person.name.empty()) {
    json["stranger"] = person.stranger;
  } else {
    json["name"] = person.name;
  }
  if (person.first > 0) json["first"] = person.first;
  if (person.last > 0) json["last"] = person.last;
  if (person.version > 0) json["version"] = person.version;
  if (length > 0) json["length"] = length;
  json["vectors"] = packed_numbers(person.vectors);
  return json_text(json);
}

std::string entry_text(const Forgotten& forgotten) {
  return json_text(OrderedJson{{"forgotten", forgotten.id}, {"version", forgotten.version}});
}

std::string gallery_text(const Gallery& gallery) {
  OrderedJson head = {{"dvnn-gallery", kFormat}};
  if (gallery.length > 0) head["length"] = gallery.length;
  if (!gallery.network.empty()) head["network"] = gallery.network;
  if (gallery.threshold) head["threshold"] = *gallery.threshold;
  if (gallery.margin) head["margin"] = *gallery.margin;
  if (gallery.next > 1) head["next"] = gallery.next;
  std::string text = json_text(head) + "\n";
  for (const Person& person : gallery.people) text += entry_text(person) + "\n";
  for (const Forgotten& note : gallery.forgotten) text += entry_text(note) + "\n";
  return text;
}

Result<Gallery> read_gallery(const std::string& path, bool of_strangers) {
  DVNN_ASSIGN(const std::string text, read_file(path, kMostGalleryBytes));
  DVNN_ASSIGN(Gallery gallery, parse_gallery(text, "'" + path + "'"));
  for (const Person& person : gallery.people) {
    if (person.name.empty() == of_strangers) continue;
    return malformed("'" + path +
                     (of_strangers ? "' has names: it is no file of strangers"
                                   : "' has strangers: it is no gallery of names"));
  }
  return gallery;
}

Status write_gallery(const Gallery& gallery, const std::string& path) {
  // What parse_gallery() would refuse is not written.
  size_t numbers = 0;
  for (const Person& person : gallery.people) numbers += person.vectors.size();
  if (numbers > kMostVectors * gallery.length) {
    return too_large(format("'%s' would have more than %zu vectors", path.c_str(), kMostVectors));
  }
  const std::string text = gallery_text(gallery);
  if (text.size() > kMostGalleryBytes) {
    return too_large(format("'%s' would have %zu bytes, and may have %llu", path.c_str(),
                            text.size(), static_cast<unsigned long long>(kMostGalleryBytes)));
  }
  return replace_file(path, {text}, Readers::kOwner);
}

Best find_best(const Gallery& gallery, const std::vector<float>& unit) {
  Best best;
  if (unit.size() != gallery.length || unit.empty()) return best;
  for (const Person& person : gallery.people) {
    float likeness = -1;
    for (size_t at = 0; at + unit.size() <= person.vectors.size(); at += unit.size()) {
      likeness = std::max(likeness, cosine(unit.data(), &person.vectors[at], unit.size()));
    }
    const auto as_double = static_cast<double>(likeness);
    if (!best.first || as_double > best.likeness) {
      best.second = std::exchange(best.first, &person);
      best.other = std::exchange(best.likeness, as_double);
    } else if (!best.second || as_double > best.other) {
      best.second = &person;
      best.other = as_double;
    }
  }
  return best;
}

void add_note(const Forgotten& note, std::vector<Forgotten>* notes) {
  drop_note(note.id, notes);
  if (notes->size() >= kMostNotes) notes->erase(notes->begin());
  notes->push_back(note);
}

void drop_note(const std::string& id, std::vector<Forgotten>* notes) {
  notes->erase(std::remove_if(notes->begin(), notes->end(),
                              [&](const Forgotten& one) { return one.id == id; }),
               notes->end());
}

int64_t noted(const std::string& id, const std::vector<Forgotten>& notes) {
  for (const Forgotten& one : notes) {
    if (one.id == id) return one.version;
  }
  return -1;
}

}  // namespace dvnn::match
