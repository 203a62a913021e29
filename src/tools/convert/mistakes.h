// SPDX-License-Identifier: Apache-2.0
// Recognises files that `dvnet convert` cannot take, and advises what to give instead.
#pragma once

#include <string>
#include <vector>

namespace dvnn::tools {

/// Puts prototxt and caffemodel in this order.
void order_caffe_files(std::vector<std::string>* files);

/// Returns what to do with files of unsupported kinds, or an empty string if none is recognised.
std::string advice_on(const std::vector<std::string>& files);

/// Returns what to give instead of an unknown decoder's name that begins the names of presets, or
/// an empty string.
std::string advice_on_decoder(const std::string& name);

}  // namespace dvnn::tools
