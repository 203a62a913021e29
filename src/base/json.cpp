// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <istream>
#include <streambuf>

#include "base/format.h"

template class nlohmann::basic_json<>;
template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace dvnn {

namespace {

// Counts values without parsing; invalid JSON is left to the parser.
Status check_extent(const std::string& text) {
  constexpr size_t kMaxGroups = size_t{6}
                                << 20;  // lists, objects and strings: a hundred bytes each
  constexpr size_t kMaxValues = size_t{8} << 20;  // 16 bytes each
  size_t groups = 0, values = 0;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    quoted = c == '"';
    groups += c == '"' || c == '[' || c == '{';
    values += c == ',';
    depth += c == '[' || c == '{';
    depth -= c == ']' || c == '}';
    if (depth > kMaxJsonDepth) {
      return too_large(format("is nested deeper than %d levels at byte %zu", kMaxJsonDepth, i));
    }
  }
  if (groups > kMaxGroups || values > kMaxValues) {
    return too_large(
        format("has %zu lists, objects and texts and %zu values, the limits are %zu and %zu",
               groups, values, kMaxGroups, kMaxValues));
  }
  return {};
}

// Gives a string to the parser in blocks, and ends early when cancelled.
class CancellableText : public std::streambuf {
 public:
  CancellableText(const std::string& text, const Cancellation* cancellation)
      : rest_(const_cast<char*>(text.data())),  // streams take only non-const pointers; nothing is
                                                // written through this one
        left_(text.size()),
        cancellation_(cancellation) {}

 protected:
  int_type underflow() override {
    constexpr size_t kBlock = 65536;
    if (left_ == 0 || !check_cancelled(cancellation_).ok()) return traits_type::eof();
    const size_t count = std::min(left_, kBlock);
    setg(rest_, rest_, rest_ + count);
    rest_ += count;
    left_ -= count;
    return traits_type::to_int_type(*gptr());
  }

 private:
  char* rest_;
  size_t left_;
  const Cancellation* cancellation_;
};

}  // namespace

Status check_json_extent(const std::string& text, const std::string& what) {
  const Status status = check_extent(text);
  if (status.ok()) return {};
  return Error{status.error().code, what + " " + status.error().message};
}

Result<Json> parse_json(const std::string& text, const std::string& what,
                        const Cancellation* cancellation) {
  DVNN_TRY(check_json_extent(text, what));
  CancellableText block_by_block(text, cancellation);
  std::istream stream(&block_by_block);
  Json value = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  DVNN_TRY(check_cancelled(cancellation));
  if (value.is_discarded()) return malformed(what + " is not JSON");
  return value;
}

namespace {

// Appends JSON so that it is safe on terminals: characters that printable() (format.h) would
// replace are escaped, which makes no difference to readers of JSON. Within ASCII, JSON escapes all
// of them but DEL.
void append_harmless(std::string_view json, std::string* to) {
  for (size_t i = 0; i < json.size();) {
    const auto byte = [&](size_t at) { return static_cast<uint32_t>(json[i + at]) & 0xffU; };
    const size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    const std::string_view character = json.substr(i, length);
    if (length == 4 || byte(0) == '\n' || is_printable(std::string(character))) {
      *to += character;
    } else {
      const uint32_t code = length == 1 ? byte(0)
                            : length == 2
                                ? (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f)
                                : (byte(0) & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
      *to += format("\\u%04x", code);
    }
    i += length;
  }
}

template <typename Value>
std::string harmless_text(const Value& value, int indent, bool ascii) {
  std::string text = value.dump(indent, ' ', ascii, Value::error_handler_t::replace);
  const auto plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; };
  if (ascii || std::all_of(text.begin(), text.end(), plain)) return text;
  std::string harmless;
  append_harmless(text, &harmless);
  return harmless;
}

}  // namespace

std::string json_text(const Json& value, int indent, bool ascii) {
  return harmless_text(value, indent, ascii);
}

std::string json_text(const OrderedJson& value, int indent, bool ascii) {
  return harmless_text(value, indent, ascii);
}

// Most strings need no escapes.
void append_json(std::string_view text, std::string* to) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), plain)) {
    to->append("\"").append(text).append("\"");
  } else {
    *to += json_text(Json(text));
  }
}

void append_json(double number, std::string* to) {
  // Numbers in documents are rounded, and formatting a double takes many times as long. Those with
  // at most four decimals are formatted here, with the same result as nlohmann's.
  constexpr double kScale = 1e4, kMost = 1e9;
  if (!(std::fabs(number) < kMost) || std::round(number * kScale) / kScale != number) {
    *to += Json(number).dump();
    return;
  }
  char text[32];
  char* const end = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed).ptr;
  to->append(text, end);
  if (std::find(text, end, '.') == end) *to += ".0";
}

void let_go(Json* value) noexcept {
  if (auto* list = value->get_ptr<Json::array_t*>()) {
    for (Json& item : *list) let_go(&item);
    list->clear();
  } else if (auto* members = value->get_ptr<Json::object_t*>()) {
    for (auto& [name, member] : *members) let_go(&member);
    members->clear();
  }
}

std::string shown(const Json& value) {
  constexpr size_t kMost = 40;
  // Lists and objects are represented by their kind, because their text may be very long.
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return short_text(json_text(value), kMost);
}

Status check_members(const Json& object, const std::string& what,
                     std::initializer_list<const char*> known) {
  constexpr size_t kMostShown = 67;  // bytes of a name
  if (!object.is_object()) return malformed(what + " must be a JSON object");
  for (const auto& member : object.items()) {
    const std::string& name = member.key();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return invalid_argument(what + ": there is no field '" + short_text(name, kMostShown) +
                            "', but " + joined(known));
  }
  return {};
}

JsonReader::JsonReader(const Json& object, std::string what)
    : object_(object), what_(std::move(what)) {
  if (!object_.is_object()) error_ = what_ + " must be a JSON object";
}

const Json* JsonReader::member(const char* name) {
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(name);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

const Json* JsonReader::require(const char* name) {
  const Json* value = member(name);
  if (!value) fail(name, "required but missing");
  return value;
}

void JsonReader::fail(std::string_view name, std::string_view problem) {
  if (!error_.empty()) return;
  error_.append("field '").append(name).append("' of ").append(what_).append(": ").append(problem);
}

Status JsonReader::status() const {
  if (ok()) return {};
  return malformed(error_);
}

int64_t JsonReader::integer(const char* name, int64_t min, int64_t max) {
  const Json* value = require(name);
  return value ? integer(name, min, max, min) : min;
}

int64_t JsonReader::integer(const char* name, int64_t min, int64_t max, int64_t fallback) {
  const Json* value = member(name);
  if (!value) return fallback;
  // Unsigned values above INT64_MAX would wrap in get<int64_t>().
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  const int64_t number = fits ? value->get<int64_t>() : 0;
  if (!fits || number < min || number > max) {
    fail(name, format("%s is not an integer from %lld to %lld", shown(*value).c_str(),
                      static_cast<long long>(min), static_cast<long long>(max)));
    return fallback;
  }
  return number;
}

double JsonReader::number(const char* name) {
  const Json* value = require(name);
  return value ? number(name, 0.0) : 0.0;
}

double JsonReader::number(const char* name, double fallback) {
  const Json* value = member(name);
  if (!value) return fallback;
  const double number = value->is_number() ? value->get<double>() : NAN;
  // Callers store numbers as floats, so the value must be finite as a float.
  if (!std::isfinite(static_cast<float>(number))) {
    fail(name, shown(*value) + " is not a finite number");
    return fallback;
  }
  return number;
}

bool JsonReader::boolean(const char* name, bool fallback) {
  const Json* value = member(name);
  if (!value) return fallback;
  if (!value->is_boolean()) {
    fail(name, "must be true or false");
    return fallback;
  }
  return value->get<bool>();
}

std::string JsonReader::text(const char* name) {
  return require(name) ? text(name, std::string()) : std::string();
}

std::string JsonReader::text(const char* name, const std::string& fallback) {
  const Json* value = member(name);
  if (!value) return fallback;
  if (!value->is_string()) {
    fail(name, "must be a string");
    return fallback;
  }
  return value->get<std::string>();
}

Json packed_numbers(const std::vector<float>& numbers) {
  constexpr size_t kFew = 64;
  const auto is_finite = [](float number) { return std::isfinite(number); };
  const bool few = numbers.size() <= kFew;
  if (few && std::all_of(numbers.begin(), numbers.end(), is_finite)) return numbers;
  std::string bytes(numbers.size() * sizeof(float), 0);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return base64(bytes);
}

std::vector<float> JsonReader::unpacked(const char* name, const Json& text, size_t max_count,
                                        bool infinite) {
  const auto bytes = from_base64(text.get<std::string>());
  if (!bytes || bytes->size() % sizeof(float) != 0 || bytes->size() / sizeof(float) > max_count) {
    fail(name, format("must be base64 of at most %zu numbers", max_count));
    return {};
  }
  std::vector<float> out(bytes->size() / sizeof(float));
  // memcpy() must not be given null, which an empty vector's data may be.
  if (!out.empty()) std::memcpy(out.data(), bytes->data(), bytes->size());
  const auto is_good = [infinite](float number) {
    return std::isfinite(number) || (infinite && std::isinf(number));
  };
  if (std::all_of(out.begin(), out.end(), is_good)) return out;
  fail(name, infinite ? "has what is not a number" : "has a number that is not finite");
  return {};
}

std::vector<float> JsonReader::numbers(const char* name, size_t max_count, bool infinite) {
  std::vector<float> out;
  const Json* value = member(name);
  if (!value) return out;
  if (value->is_string()) return unpacked(name, *value, max_count, infinite);
  if (!value->is_array() || value->size() > max_count) {
    fail(name, format("must be an array of at most %zu numbers", max_count));
    return out;
  }
  for (const Json& item : *value) {
    const double number = item.is_number() ? item.get<double>() : NAN;
    if (!std::isfinite(static_cast<float>(number))) {
      fail(name, shown(item) + " is not a finite number");
      return {};
    }
    out.push_back(static_cast<float>(number));
  }
  return out;
}

std::vector<std::string> JsonReader::texts(const char* name, size_t max_count) {
  const Json* value = member(name);
  if (!value) return {};
  const bool good =
      value->is_array() && value->size() <= max_count &&
      std::all_of(value->begin(), value->end(), [](const Json& item) { return item.is_string(); });
  if (good) return value->get<std::vector<std::string>>();
  fail(name, format("must be an array of at most %zu strings", max_count));
  return {};
}

std::vector<int> JsonReader::integers(const char* name, int64_t min, int64_t max,
                                      size_t max_count) {
  std::vector<int> out;
  const Json* value = member(name);
  if (!value) return out;
  if (!value->is_array() || value->size() > max_count) {
    fail(name, format("must be an array of at most %zu integers", max_count));
    return out;
  }
  for (const Json& item : *value) {
    const int64_t number = item.is_number_integer() ? item.get<int64_t>() : min - 1;
    if (number < min || number > max) {
      fail(name, format("%s is not an integer from %lld to %lld", shown(item).c_str(),
                        static_cast<long long>(min), static_cast<long long>(max)));
      return {};
    }
    out.push_back(static_cast<int>(number));
  }
  return out;
}

}  // namespace dvnn
