// SPDX-License-Identifier: Apache-2.0
// The names of TensorFlow Lite's operators, by their numbers. Private to the TFLite front end.
#pragma once

namespace dvnn::import {

/// Null for numbers that the format has not given, or has given to operators that no runtime has.
const char* tflite_operator_name(int number);

}  // namespace dvnn::import
