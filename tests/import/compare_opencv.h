// SPDX-License-Identifier: Apache-2.0
// Caffe models on the software device against OpenCV's dnn in FP32.
//
// Tolerance: values pass through at most six roundings to binary16, each of 2^-11 of the largest
// value in a layer; 1 % of the largest output covers them.
#pragma once

#include <opencv2/dnn.hpp>

#include "caffe_fixture.h"
#include "run_model.h"

namespace dvnn::test {

inline void compare(const char* what, const std::string& text, const Weights& weights,
                    cv::Size size) {
  ModelFiles files(text, weights.net());
  cv::Mat blob({1, 3, size.height, size.width}, CV_32F);
  cv::RNG random(7);
  random.fill(blob, cv::RNG::UNIFORM, -1.0, 1.0);
  cv::dnn::Net net = cv::dnn::readNetFromCaffe(files.prototxt, files.caffemodel);
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setInput(blob);
  const cv::Mat want = net.forward().clone();
  for (bool hwc : {false, true}) {
    convert::ConvertOptions options;
    options.hwc = hwc;
    auto model = files.convert(options);
    ck_assert_msg(model.ok(), "%s: %s", what, model.ok() ? "" : model.error().message.c_str());
    const std::vector<float> have = run_model(what, std::move(model.value()), blob.ptr<float>());
    expect_close(what, have, want.ptr<float>(), want.total());
  }
}

inline std::string conv(const char* name, const char* from, const char* to, const char* params) {
  return layer(name, "Convolution", from, to, std::string("convolution_param { ") + params + " }");
}

}  // namespace dvnn::test
