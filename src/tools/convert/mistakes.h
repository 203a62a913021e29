// SPDX-License-Identifier: Apache-2.0
// What people give to `dvnet convert` that it cannot take, and what to give instead.
#pragma once

#include <string>
#include <vector>

namespace dvnn::tools {

/// Puts a prototxt and a caffemodel into that order.
void order_caffe_files(std::vector<std::string>* files);

/// What to do with files of kinds that are not converted; empty: nothing is known against them.
std::string advice_on(const std::vector<std::string>& files);

}  // namespace dvnn::tools
