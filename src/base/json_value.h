// SPDX-License-Identifier: Apache-2.0
// A JSON value that is compiled once. Most units of this project have JSON at an edge, and
// templates that each of them instantiates took a quarter of the time to compile all of it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dvnn {

class JsonItem;

/// A value: null, a boolean, a number, a string, a list or an object. Copying copies all of it. Its
/// end takes no memory. Asking it for what it is not is a mistake of the program, and throws
/// std::logic_error: what comes from outside is asked for its kind first, by JsonReader (json.h) or
/// is_...().
class Json {
 public:
  using List = std::vector<Json>;
  using Members = std::map<std::string, Json, std::less<>>;
  template <bool kConst>
  class Walk;
  using iterator = Walk<false>;
  using const_iterator = Walk<true>;

  Json() noexcept : integer_(0) {}
  Json(std::nullptr_t) noexcept : integer_(0) {}  // NOLINT: a value is a value, here and below
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Json(T number) noexcept {  // NOLINT
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::kBoolean;
      boolean_ = number;
    } else if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::kFloat;
      float_ = static_cast<double>(number);
    } else if constexpr (std::is_signed_v<T>) {
      kind_ = Kind::kInteger;
      integer_ = number;
    } else {
      kind_ = Kind::kUnsigned;
      unsigned_ = number;
    }
  }
  Json(std::string text);             // NOLINT
  Json(std::string_view text);        // NOLINT
  Json(const char* text);             // NOLINT
  Json(List list);                    // NOLINT
  Json(const std::vector<int>& v);    // NOLINT
  Json(const std::vector<float>& v);  // NOLINT
  /// Of anything else that can be walked through, a list.
  template <typename T, typename = decltype(std::begin(std::declval<const T&>())),
            std::enable_if_t<!std::is_base_of_v<Json, T> &&
                                 !std::is_convertible_v<const T&, std::string_view>,
                             int> = 0>
  Json(const T& values) : Json(List()) {  // NOLINT
    for (const auto& value : values) push_back(value);
  }
  /// {{"name", value}, ...} is an object, {value, ...} a list: a list of nothing but pairs that
  /// begin with a string is taken for an object.
  Json(std::initializer_list<JsonItem> items);  // NOLINT
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json() {
    if (kind_ >= Kind::kText) clear_memory();
  }
  static Json array(std::initializer_list<JsonItem> items = {});
  static Json object(std::initializer_list<JsonItem> items = {});
  /// Of a string that this program or a test wrote; of others by parse_json(). It throws if it is
  /// no JSON.
  static Json parse(const std::string& text);

  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_boolean() const { return kind_ == Kind::kBoolean; }
  bool is_number() const { return is_number_integer() || is_number_float(); }
  bool is_number_integer() const { return kind_ == Kind::kInteger || kind_ == Kind::kUnsigned; }
  /// Zero and above, if it was read or made of an unsigned number.
  bool is_number_unsigned() const { return kind_ == Kind::kUnsigned; }
  bool is_number_float() const { return kind_ == Kind::kFloat; }
  bool is_string() const { return kind_ == Kind::kText; }
  bool is_array() const { return kind_ == Kind::kList; }
  bool is_object() const { return kind_ == Kind::kMembers; }
  bool is_structured() const { return is_array() || is_object(); }

  /// A number, true or false as T, a string, or a list of these.
  template <typename T>
  T get() const {
    if constexpr (std::is_same_v<T, bool>) {
      return boolean();
    } else if constexpr (std::is_arithmetic_v<T>) {
      switch (kind_) {
        case Kind::kInteger:
          return static_cast<T>(integer_);
        case Kind::kUnsigned:
          return static_cast<T>(unsigned_);
        case Kind::kFloat:
          return static_cast<T>(float_);
        case Kind::kBoolean:
          return static_cast<T>(boolean_);
        default:
          misused("a number");
      }
    } else if constexpr (std::is_same_v<T, std::string>) {
      return text();
    } else if constexpr (std::is_same_v<T, Json>) {
      return *this;
    } else {
      T values;
      for (const Json& item : list()) {
        values.push_back(item.template get<typename T::value_type>());
      }
      return values;
    }
  }
  bool boolean() const;
  const std::string& text() const;
  const List& list() const;
  List& list();
  const Members& items() const;  // by name
  Members& items();

  /// How many items a list or members an object has; of null none, of others 1.
  size_t size() const;
  bool empty() const { return size() == 0; }
  iterator begin();
  iterator end();
  const_iterator begin() const;
  const_iterator end() const;

  /// A member. The first one makes null a new member, and makes an object of null; at() and the
  /// const form need it.
  Json& operator[](std::string_view name);
  const Json& operator[](std::string_view name) const { return at(name); }
  Json& at(std::string_view name);
  const Json& at(std::string_view name) const;
  iterator find(std::string_view name);
  const_iterator find(std::string_view name) const;
  bool contains(std::string_view name) const;
  /// The member, or `fallback` where there is none.
  template <typename T>
  T value(std::string_view name, const T& fallback) const {
    const Json* found = member(name);
    return found ? found->get<T>() : fallback;
  }
  std::string value(std::string_view name, const char* fallback) const;
  /// Gives this object the members of another.
  void update(const Json& more);
  /// As RFC 7396 says: null takes a member away, an object changes one, all else replaces it.
  void merge_patch(const Json& patch);
  void erase(std::string_view name);

  /// An item of a list.
  Json& operator[](size_t index) { return at(index); }
  const Json& operator[](size_t index) const { return at(index); }
  Json& operator[](int index) { return at(static_cast<size_t>(index)); }
  const Json& operator[](int index) const { return at(static_cast<size_t>(index)); }
  Json& at(size_t index);
  const Json& at(size_t index) const;
  const Json& front() const { return at(size_t{0}); }
  Json& back() { return at(size() - 1); }
  const Json& back() const { return at(size() - 1); }
  /// Makes a list of null.
  Json& push_back(Json value);
  void erase(size_t index);

  /// As text, members by name. Below 0 `indent` means one line, else that many spaces a level. What
  /// is no UTF-8 is replaced; with `ascii` all that is not ASCII is escaped. Numbers become the
  /// shortest text from which they can be read again.
  std::string dump(int indent = -1, bool ascii = false) const;
  /// The same, with members in the order in which they were first given.
  std::string dump_as_given(int indent = -1, bool ascii = false) const;

  friend bool operator==(const Json& a, const Json& b);
  friend bool operator!=(const Json& a, const Json& b) { return !(a == b); }

 private:
  // Those that own memory last.
  enum class Kind : uint8_t {
    kNull,
    kBoolean,
    kInteger,
    kUnsigned,
    kFloat,
    kText,
    kList,
    kMembers
  };
  friend class JsonWriter;
  void clear_memory() noexcept;
  const Json* member(std::string_view name) const;
  [[noreturn]] void misused(const char* wanted) const;

  Kind kind_ = Kind::kNull;
  uint32_t place_ = 0;  // among an object's members, as they were given
  union {
    bool boolean_;
    int64_t integer_;
    uint64_t unsigned_;
    double float_;
    std::string* text_;
    List* list_;
    Members* members_;
  };
};

/// A value between braces, which is moved out of them.
class JsonItem {
 public:
  template <typename T, std::enable_if_t<std::is_constructible_v<Json, T> &&
                                             !std::is_same_v<std::decay_t<T>, JsonItem>,
                                         int> = 0>
  JsonItem(T&& value) : value_(std::forward<T>(value)) {}             // NOLINT
  JsonItem(std::initializer_list<JsonItem> items) : value_(items) {}  // NOLINT
  const Json& look() const { return value_; }
  Json take() const { return std::move(value_); }

 private:
  mutable Json value_;
};

/// Through a list's items or an object's members; what is neither is its own only item.
template <bool kConst>
class Json::Walk {
 public:
  using Value = std::conditional_t<kConst, const Json, Json>;
  using Member = std::conditional_t<kConst, Members::const_iterator, Members::iterator>;
  using iterator_category = std::forward_iterator_tag;
  using value_type = Json;
  using difference_type = std::ptrdiff_t;
  using pointer = Value*;
  using reference = Value&;

  Walk() = default;
  explicit Walk(Value* item) : item_(item) {}
  explicit Walk(Member member) : in_members_(true), member_(member) {}
  Value& operator*() const { return in_members_ ? member_->second : *item_; }
  Value* operator->() const { return &**this; }
  const std::string& key() const { return member_->first; }
  Value& value() const { return **this; }
  Walk& operator++() {
    if (in_members_) {
      ++member_;
    } else {
      ++item_;
    }
    return *this;
  }
  bool operator==(const Walk& other) const {
    return in_members_ ? member_ == other.member_ : item_ == other.item_;
  }
  bool operator!=(const Walk& other) const { return !(*this == other); }

 private:
  bool in_members_ = false;
  Value* item_ = nullptr;
  Member member_ = {};
};

/// Appends a string or a number as dump() writes it.
void append_json(std::string_view text, std::string* to);
void append_json(double number, std::string* to);

}  // namespace dvnn
