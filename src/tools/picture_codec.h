// SPDX-License-Identifier: Apache-2.0
// A module that dvnet loads for its first picture file, because OpenCV's codecs need about 140
// libraries, which take three times as long to load as everything else.
#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace dvnn::tools {

/// Functions of the module dvnn-pictures, under their names there.
struct PictureCodec {
  /// Decodes a file's bytes to BGR, or to an empty picture if they are not one; `problem` is
  /// OpenCV's message about a broken one.
  void (*decode)(const std::vector<uint8_t>& bytes, cv::Mat* picture, std::string* problem);
  /// Encodes a picture as PNG. Returns whether it succeeded.
  bool (*encode_png)(const cv::Mat& picture, std::vector<uint8_t>* bytes);
};
constexpr char kDecodePicture[] = "dvnn_decode_picture";
constexpr char kEncodePng[] = "dvnn_encode_png";

}  // namespace dvnn::tools
