// SPDX-License-Identifier: Apache-2.0
// Recognises what people give to `dvnet convert` that it cannot take, and says what to give
// instead.
#pragma once

#include <string>
#include <vector>

namespace dvnn::tools {

/// Puts a prototxt and a caffemodel into that order.
void order_caffe_files(std::vector<std::string>* files);

/// Advises what to do with files of kinds that are not converted; empty if nothing is known against
/// them.
std::string advice_on(const std::vector<std::string>& files);

/// Advises what to give instead of a decoder's name that is none, but the beginning of presets'
/// names; empty if nothing is known.
std::string advice_on_decoder(const std::string& name);

}  // namespace dvnn::tools
