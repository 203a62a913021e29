// SPDX-License-Identifier: Apache-2.0
// Parameters of layers in JSON. A struct of attributes lists each of them once, in fields(), and
// they are read as well as written by that list.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/names.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

/// Reads parameters from JSON, or writes them. One that is absent keeps the value that it has;
/// a list becomes empty. `written` is false for a parameter that need not be written, because it
/// has its default or no effect.
class Fields {
 public:
  explicit Fields(JsonReader* in) : in_(in) {}
  explicit Fields(Json* out) : out_(out) {}

  bool reads() const { return in_ != nullptr; }
  /// Records a problem of parameters that were read (JsonReader::fail()).
  void fail(const char* name, const char* problem);
  /// Refuses parameters without `name`.
  void require(const char* name);

  void boolean(const char* name, bool* value, bool written = true);
  void integer(const char* name, int* value, int64_t least, int64_t most, bool written = true);
  void number(const char* name, float* value, bool written = true);
  void integers(const char* name, std::vector<int>* values, int64_t least, int64_t most,
                size_t count = Shape::kMaxRank, bool written = true);
  void numbers(const char* name, std::vector<float>* values, size_t count, bool written = true);
  /// Numbers that are written in the form of packed_numbers().
  void packed(const char* name, std::vector<float>* values, size_t count, bool infinite = false);
  /// A value that is written as its name in `table`, which is in the order of the enum from 0.
  template <typename Enum, typename Row, size_t N>
  void choice(const char* name, Enum* value, const Row (&table)[N], bool written = true) {
    *value = static_cast<Enum>(place(name, static_cast<size_t>(*value), names_of(table), written));
  }

 private:
  size_t place(const char* name, size_t value, const Names& names, bool written);

  JsonReader* const in_ = nullptr;
  Json* const out_ = nullptr;
};

/// Reads a struct of attributes.
template <typename Attributes>
Result<Attributes> read_fields(const Json& params) {
  JsonReader in(params, Attributes::kName);
  Fields fields(&in);
  Attributes attributes;
  attributes.fields(&fields);
  DVNN_TRY(in.status());
  return attributes;
}

/// Returns the form that read_fields() reads.
template <typename Attributes>
Json write_fields(Attributes attributes) {
  Json out = Json::object();
  Fields fields(&out);
  attributes.fields(&fields);
  return out;
}

}  // namespace dvnn::layers
