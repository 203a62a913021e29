// SPDX-License-Identifier: Apache-2.0
// A module that dvnet loads for its first picture file, because OpenCV's codecs need about 140
// libraries, which take three times as long to load as everything else. Without OpenCV, it reads by
// gdk-pixbuf.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/pictures.h"

namespace dvnn::tools {

/// Functions of the module dvnn-pictures, under their names there.
struct PictureCodec {
  /// Decodes a file's bytes to BGR, turned as they say, or to an empty picture if they are not one;
  /// `problem` is the library's message about a broken one.
  void (*decode)(const std::vector<uint8_t>& bytes, Bitmap* picture, std::string* problem);
  /// Encodes a picture as PNG. Returns whether it succeeded.
  bool (*encode_png)(const Bitmap& picture, std::vector<uint8_t>* bytes);
};
constexpr char kDecodePicture[] = "dvnn_decode_picture";
constexpr char kEncodePng[] = "dvnn_encode_png";

}  // namespace dvnn::tools

#define DVNN_MODULE_EXPORT extern "C" __attribute__((visibility("default")))
