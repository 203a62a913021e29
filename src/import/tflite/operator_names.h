// SPDX-License-Identifier: Apache-2.0
// Names of TensorFlow Lite's operators by number. Private to the TFLite front end.
#pragma once

namespace dvnn::import {

/// Returns the name; null for unassigned numbers, and for operators that no runtime implements.
const char* tflite_operator_name(int number);

}  // namespace dvnn::import
