// SPDX-License-Identifier: Apache-2.0
#include "layers/attributes/fields.h"

namespace dvnn::layers {

void Fields::fail(const char* name, const char* problem) {
  if (in_) in_->fail(name, problem);
}

void Fields::require(const char* name) {
  if (in_ && !in_->member(name)) in_->fail(name, "required but missing");
}

void Fields::boolean(const char* name, bool* value, bool written) {
  if (in_) {
    *value = in_->boolean(name, *value);
  } else if (written) {
    (*out_)[name] = *value;
  }
}

void Fields::integer(const char* name, int* value, int64_t least, int64_t most, bool written) {
  if (in_) {
    *value = static_cast<int>(in_->integer(name, least, most, *value));
  } else if (written) {
    (*out_)[name] = *value;
  }
}

void Fields::number(const char* name, float* value, bool written) {
  if (in_) {
    *value = static_cast<float>(in_->number(name, *value));
  } else if (written) {
    (*out_)[name] = *value;
  }
}

void Fields::integers(const char* name, std::vector<int>* values, int64_t least, int64_t most,
                      size_t count, bool written) {
  if (in_) {
    *values = in_->integers(name, least, most, count);
  } else if (written) {
    (*out_)[name] = *values;
  }
}

void Fields::numbers(const char* name, std::vector<float>* values, size_t count, bool written) {
  if (in_) {
    *values = in_->numbers(name, count);
  } else if (written) {
    (*out_)[name] = *values;
  }
}

void Fields::packed(const char* name, std::vector<float>* values, size_t count, bool infinite) {
  if (in_) *values = in_->numbers(name, count, infinite);
  if (out_) (*out_)[name] = packed_numbers(*values);
}

size_t Fields::place(const char* name, size_t value, const Names& names, bool written) {
  if (in_) {
    const auto found = find_name(in_->text(name, names[value]), names, name);
    if (found.ok()) return found.value();
    in_->fail(name, found.error().message);
  } else if (written) {
    (*out_)[name] = names[value];
  }
  return value;
}

}  // namespace dvnn::layers
