// SPDX-License-Identifier: Apache-2.0
// The module that dvnet loads when it meets its first picture file: OpenCV's codecs bring some 140
// libraries, which take three times as long to load as everything else.
#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace dvnn::tools {

/// The functions of the module dvnn-pictures, by their names there.
struct PictureCodec {
  /// Decodes a file's bytes to BGR. Sets an empty picture if they are none; `problem` is OpenCV's
  /// message about a broken one.
  void (*decode)(const std::vector<uint8_t>& bytes, cv::Mat* picture, std::string* problem);
  /// Encodes the picture as PNG; returns whether it could.
  bool (*encode_png)(const cv::Mat& picture, std::vector<uint8_t>* bytes);
};
constexpr char kDecodePicture[] = "dvnn_decode_picture";
constexpr char kEncodePng[] = "dvnn_encode_png";

}  // namespace dvnn::tools
