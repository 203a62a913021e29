// SPDX-License-Identifier: Apache-2.0
// The one file that compiles nlohmann's header.
#include "base/json_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace dvnn {
namespace {

// Puts together what the parser comes by.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(Json* root) : next_(root) {}
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool key(std::string& name) override {
    next_ = &(*open_.back())[name];
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  // An object's member has its place since its key, an item of a list gets it here.
  Json& place(Json value) {
    if (!open_.empty() && open_.back()->is_array()) {
      return open_.back()->push_back(std::move(value));
    }
    return *next_ = std::move(value);
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  Json* next_;               // of the member whose key came, or the root
  std::vector<Json*> open_;  // lists and objects, the innermost last
};

}  // namespace

// JSON is shown on terminals, too: what printable() (format.h) takes away is escaped, which readers
// of JSON do not notice. Within ASCII, JSON itself escapes all but DEL.
static void append_harmless(const std::string& json, std::string* to) {
  for (size_t i = 0; i < json.size();) {
    const auto byte = [&](size_t at) { return static_cast<uint32_t>(json[i + at]) & 0xffU; };
    const size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    const std::string character = json.substr(i, length);
    if (length == 4 || is_printable(character)) {
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

// Most strings need no escape at all.
static void append_json(std::string_view text, bool ascii, std::string* to) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), plain)) {
    *to += '"';
    *to += text;
    *to += '"';
  } else {
    const std::string json =
        nlohmann::json(text).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
    if (ascii) {
      *to += json;
    } else {
      append_harmless(json, to);
    }
  }
}

void append_json(std::string_view text, std::string* to) {
  append_json(text, false, to);
}

void append_json(double number, std::string* to) {
  char text[64];
  if (std::isfinite(number)) {
    to->append(text, nlohmann::detail::to_chars(text, text + sizeof text, number));
  } else {
    *to += "null";
  }
}

bool read_json(std::istream& stream, Json* value) {
  Builder builder(value);
  return nlohmann::json::sax_parse(stream, &builder);
}

class JsonWriter {
 public:
  JsonWriter(int indent, bool ascii, bool as_given)
      : indent_(indent), ascii_(ascii), as_given_(as_given) {}

  void write(const Json& value, size_t depth = 0) {
    switch (value.kind_) {
      case Json::Kind::kNull:
        out_ += "null";
        break;
      case Json::Kind::kBoolean:
        out_ += value.boolean_ ? "true" : "false";
        break;
      case Json::Kind::kInteger:
        out_ += std::to_string(value.integer_);
        break;
      case Json::Kind::kUnsigned:
        out_ += std::to_string(value.unsigned_);
        break;
      case Json::Kind::kFloat:
        append_json(value.float_, &out_);
        break;
      case Json::Kind::kText:
        append_json(*value.text_, ascii_, &out_);
        break;
      case Json::Kind::kList:
        write(*value.list_, depth);
        break;
      case Json::Kind::kMembers:
        write(*value.members_, depth);
        break;
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void line(size_t depth) {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(depth * static_cast<size_t>(indent_), ' ');
  }
  void write(const Json::List& list, size_t depth) {
    const char* before = "[";
    for (const Json& item : list) {
      out_ += before;
      before = ",";
      line(depth + 1);
      write(item, depth + 1);
    }
    if (list.empty()) {
      out_ += "[]";
      return;
    }
    line(depth);
    out_ += ']';
  }
  void write(const Json::Members& members, size_t depth) {
    if (members.empty()) {
      out_ += "{}";
      return;
    }
    const char* before = "{";
    const auto one = [&](const Json::Members::value_type& member) {
      out_ += before;
      before = ",";
      line(depth + 1);
      append_json(member.first, ascii_, &out_);
      out_ += indent_ < 0 ? ":" : ": ";
      write(member.second, depth + 1);
    };
    if (as_given_) {
      std::vector<const Json::Members::value_type*> sorted;
      for (const auto& member : members) sorted.push_back(&member);
      std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
        return a->second.place_ < b->second.place_;
      });
      for (const auto* member : sorted) one(*member);
    } else {
      for (const auto& member : members) one(member);
    }
    line(depth);
    out_ += '}';
  }

  const int indent_;
  const bool ascii_, as_given_;
  std::string out_;
};

std::string Json::dump(int indent, bool ascii) const {
  JsonWriter writer(indent, ascii, false);
  writer.write(*this);
  return writer.take();
}

std::string Json::dump_as_given(int indent, bool ascii) const {
  JsonWriter writer(indent, ascii, true);
  writer.write(*this);
  return writer.take();
}

}  // namespace dvnn
