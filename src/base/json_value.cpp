// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "base/json_text.h"

namespace dvnn {

Json::Json(std::string text) : kind_(Kind::kText), text_(new std::string(std::move(text))) {}

Json::Json(std::string_view text) : Json(std::string(text)) {}

Json::Json(const char* text) : Json(std::string(text)) {}

Json::Json(List list) : kind_(Kind::kList), list_(new List(std::move(list))) {}

Json::Json(const std::vector<int>& v) : Json(List(v.begin(), v.end())) {}

Json::Json(const std::vector<float>& v) : Json(List(v.begin(), v.end())) {}

Json::Json(std::initializer_list<JsonItem> items) {
  const auto is_pair = [](const JsonItem& item) {
    const Json& pair = item.look();
    return pair.is_array() && pair.size() == 2 && pair[0].is_string();
  };
  *this = std::all_of(items.begin(), items.end(), is_pair) ? object(items) : array(items);
}

Json::Json(const Json& other) : kind_(other.kind_), place_(other.place_) {
  switch (kind_) {
    case Kind::kText:
      text_ = new std::string(*other.text_);
      break;
    case Kind::kList:
      list_ = new List(*other.list_);
      break;
    case Kind::kMembers:
      members_ = new Members(*other.members_);
      break;
    default:
      integer_ = other.integer_;  // whichever it is
  }
}

Json::Json(Json&& other) noexcept
    : kind_(std::exchange(other.kind_, Kind::kNull)), place_(other.place_), integer_(0) {
  std::swap(integer_, other.integer_);
}

// The place is the member's, not the value's.
Json& Json::operator=(Json other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(integer_, other.integer_);
  return *this;
}

void Json::clear_memory() noexcept {
  if (kind_ == Kind::kText) delete text_;
  if (kind_ == Kind::kList) delete list_;
  if (kind_ == Kind::kMembers) delete members_;
}

Json Json::array(std::initializer_list<JsonItem> items) {
  List list;
  list.reserve(items.size());
  for (const JsonItem& item : items) list.push_back(item.take());
  return list;
}

Json Json::object(std::initializer_list<JsonItem> items) {
  Json out;
  out.kind_ = Kind::kMembers;
  out.members_ = new Members;
  for (const JsonItem& item : items) {
    Json pair = item.take();
    out[pair.at(0).text()] = std::move(pair.at(1));
  }
  return out;
}

Json Json::parse(const std::string& text) {
  std::istringstream stream(text);
  Json value;
  if (!read_json(stream, &value)) throw std::logic_error("not JSON: " + text);
  return value;
}

void Json::misused(const char* wanted) const {
  static constexpr const char* kNames[] = {"null",     "a boolean", "a number", "a number",
                                           "a number", "a string",  "a list",   "an object"};
  throw std::logic_error(std::string("a JSON value is ") + kNames[static_cast<size_t>(kind_)] +
                         ", not " + wanted);
}

bool Json::boolean() const {
  if (!is_boolean()) misused("a boolean");
  return boolean_;
}

const std::string& Json::text() const {
  if (!is_string()) misused("a string");
  return *text_;
}

const Json::List& Json::list() const {
  if (!is_array()) misused("a list");
  return *list_;
}

Json::List& Json::list() {
  if (!is_array()) misused("a list");
  return *list_;
}

const Json::Members& Json::items() const {
  if (!is_object()) misused("an object");
  return *members_;
}

Json::Members& Json::items() {
  if (!is_object()) misused("an object");
  return *members_;
}

size_t Json::size() const {
  if (is_array()) return list_->size();
  if (is_object()) return members_->size();
  return is_null() ? 0 : 1;
}

Json::iterator Json::begin() {
  if (is_object()) return iterator(members_->begin());
  return iterator(is_array() ? list_->data() : this);
}

Json::iterator Json::end() {
  if (is_object()) return iterator(members_->end());
  return iterator((is_array() ? list_->data() : this) + size());
}

Json::const_iterator Json::begin() const {
  if (is_object()) return const_iterator(members_->cbegin());
  return const_iterator(is_array() ? list_->data() : this);
}

Json::const_iterator Json::end() const {
  if (is_object()) return const_iterator(members_->cend());
  return const_iterator((is_array() ? list_->data() : this) + size());
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) *this = object();
  Members& all = items();
  auto found = all.lower_bound(name);
  if (found == all.end() || found->first != name) {
    found = all.emplace_hint(found, name, nullptr);
    found->second.place_ = static_cast<uint32_t>(all.size());
  }
  return found->second;
}

const Json* Json::member(std::string_view name) const {
  const Members& all = items();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

const Json& Json::at(std::string_view name) const {
  const Json* found = member(name);
  if (!found) throw std::logic_error("a JSON object has no member '" + std::string(name) + "'");
  return *found;
}

Json& Json::at(std::string_view name) {
  return const_cast<Json&>(std::as_const(*this).at(name));  // this is no constant
}

Json::iterator Json::find(std::string_view name) {
  return is_object() ? iterator(members_->find(name)) : end();
}

Json::const_iterator Json::find(std::string_view name) const {
  return is_object() ? const_iterator(std::as_const(*members_).find(name)) : end();
}

bool Json::contains(std::string_view name) const {
  return is_object() && member(name);
}

std::string Json::value(std::string_view name, const char* fallback) const {
  return value(name, std::string(fallback));
}

void Json::update(const Json& more) {
  for (const auto& [name, value] : more.items()) (*this)[name] = value;
}

void Json::merge_patch(const Json& patch) {
  if (!patch.is_object()) {
    *this = patch;
    return;
  }
  if (!is_object()) *this = object();
  for (const auto& [name, value] : patch.items()) {
    if (value.is_null()) {
      erase(name);
    } else {
      (*this)[name].merge_patch(value);
    }
  }
}

void Json::erase(std::string_view name) {
  const auto found = items().find(name);
  if (found != items().end()) items().erase(found);
}

const Json& Json::at(size_t index) const {
  if (index >= list().size()) {
    throw std::logic_error("a JSON list has no item " + std::to_string(index));
  }
  return (*list_)[index];
}

Json& Json::at(size_t index) {
  return const_cast<Json&>(std::as_const(*this).at(index));  // this is no constant
}

Json& Json::push_back(Json value) {
  if (is_null()) *this = List();
  if (!is_array()) misused("a list");
  return list_->emplace_back(std::move(value));
}

void Json::erase(size_t index) {
  at(index);
  list_->erase(list_->begin() + static_cast<std::ptrdiff_t>(index));
}

bool operator==(const Json& a, const Json& b) {
  using Kind = Json::Kind;
  if (a.is_number_float() ? b.is_number() : a.is_number() && b.is_number_float()) {
    return a.get<double>() == b.get<double>();
  }
  if (a.is_number_integer() && b.is_number_integer()) return a.integer_ == b.integer_;
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case Kind::kBoolean:
      return a.boolean_ == b.boolean_;
    case Kind::kText:
      return *a.text_ == *b.text_;
    case Kind::kList:
      return *a.list_ == *b.list_;
    case Kind::kMembers:
      return *a.members_ == *b.members_;
    default:
      return true;  // null
  }
}

}  // namespace dvnn
