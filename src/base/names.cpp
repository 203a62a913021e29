// SPDX-License-Identifier: Apache-2.0
#include "base/names.h"

#include "base/format.h"

namespace dvnn {

const char* Names::operator[](size_t i) const {
  const auto* const at = reinterpret_cast<const char*>(first) + i * step;
  return *reinterpret_cast<const char* const*>(at);
}

Result<size_t> find_name(std::string_view text, const Names& known, const char* what) {
  constexpr size_t kMostShown = 40;
  std::string list;
  for (size_t i = 0; i < known.count; ++i) {
    if (text == known[i]) return i;
    list += (i ? ", " : "") + std::string(known[i]);
  }
  return malformed(std::string("unknown ") + what + " '" +
                   short_text(std::string(text), kMostShown) + "' (known: " + list + ")");
}

}  // namespace dvnn
