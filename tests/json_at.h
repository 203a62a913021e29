// SPDX-License-Identifier: Apache-2.0
// A value within a JSON document, by its path.
#pragma once

#include <sstream>
#include <string>

#include "base/json.h"

/// Returns the value at "/steps/0/name". Missing values are created, as null.
inline dvnn::Json* json_at(dvnn::Json* document, const std::string& path) {
  std::istringstream names(path.substr(1));
  for (std::string name; std::getline(names, name, '/');) {
    if (!document->is_array()) {
      document = &(*document)[name];
      continue;
    }
    const size_t index = std::stoul(name);
    while (document->size() <= index) document->push_back(nullptr);
    document = &document->at(index);
  }
  return document;
}
