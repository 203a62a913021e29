// SPDX-License-Identifier: Apache-2.0
#include "tools/picture_codec.h"

#include <opencv2/imgcodecs.hpp>

#define DVNN_MODULE_EXPORT extern "C" __attribute__((visibility("default")))

DVNN_MODULE_EXPORT void dvnn_decode_picture(const std::vector<uint8_t>& bytes, cv::Mat* picture,
                                            std::string* problem) {
  try {  // OpenCV throws for some broken files
    *picture = cv::imdecode(bytes, cv::IMREAD_COLOR);
  } catch (const cv::Exception& e) {
    *problem = e.err;
  }
}

DVNN_MODULE_EXPORT bool dvnn_encode_png(const cv::Mat& picture, std::vector<uint8_t>* bytes) {
  try {
    return cv::imencode(".png", picture, *bytes);
  } catch (const cv::Exception&) {
    return false;
  }
}
