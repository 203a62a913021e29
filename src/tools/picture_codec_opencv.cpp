// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <opencv2/imgcodecs.hpp>

#include "tools/picture_codec.h"

namespace dvnn::tools {
namespace {

void copy_rows(const cv::Mat& from, Bitmap* to) {
  *to = Bitmap(from.cols, from.rows, from.channels());
  for (int y = 0; y < to->height; ++y) std::copy_n(from.ptr(y), to->stride(), to->row(y));
}

}  // namespace
}  // namespace dvnn::tools

DVNN_MODULE_EXPORT void dvnn_decode_picture(const std::vector<uint8_t>& bytes,
                                            dvnn::tools::Bitmap* picture, std::string* problem) {
  try {  // OpenCV throws for some broken files
    dvnn::tools::copy_rows(cv::imdecode(bytes, cv::IMREAD_COLOR), picture);
  } catch (const cv::Exception& e) {
    *problem = e.err;
  }
}

DVNN_MODULE_EXPORT bool dvnn_encode_png(const dvnn::tools::Bitmap& picture,
                                        std::vector<uint8_t>* bytes) {
  // Only read: a matrix has no constant data.
  const cv::Mat pixels(picture.height, picture.width, CV_8UC(picture.channels),
                       const_cast<uint8_t*>(picture.bytes.data()));
  try {
    return cv::imencode(".png", pixels, *bytes);
  } catch (const cv::Exception&) {
    return false;
  }
}
