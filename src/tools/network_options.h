// SPDX-License-Identifier: Apache-2.0
// Options of commands that run a network. Their tables include these rows and kDeviceOption.
#pragma once

#include <memory>
#include <string>

#include "tools/options.h"
#include "tools/session.h"

namespace dvnn::tools {

inline constexpr Option kWeightsOption = {
    "weights", 0, Takes::kFile, "FILE",
    "Packed weights, where the network is a library of generated sources"};
inline constexpr Option kCustomLayersOption = {"custom-layers", 0, Takes::kFile, "LIBRARY",
                                               "A library of CPU layers that the network names"};
inline constexpr Option kDecoderLibraryOption = {
    "decoder-library", 0, Takes::kFile, "LIBRARY",
    "A library with the decoder that the network names"};
inline constexpr Option kSizeOption = {
    "size", 0, Takes::kText, "WxH",
    "Size of the network's input in pixels, instead of the file's own"};

/// Opens the network at `path` with these options, ready to run.
Result<std::unique_ptr<Session>> open_session(const std::string& path, const Arguments& arguments);
/// The same on another device than the one that the options name.
Result<std::unique_ptr<Session>> open_session(const std::string& path, const std::string& device,
                                              const Arguments& arguments);

}  // namespace dvnn::tools
