// SPDX-License-Identifier: Apache-2.0
// Prints the objects of a picture for people.
#pragma once

#include <string>

#include "objects/object.h"

namespace dvnn::tools {

/// Prints the picture's path and a line for each object.
void print_objects(const std::string& path, const objects::Objects& found, int width, int height);

}  // namespace dvnn::tools
