// SPDX-License-Identifier: Apache-2.0
// TensorFlow Lite models, as dvnet convert takes them. The first byte chooses options, the file
// follows.
#include "convert/convert.h"
#include "converter_options.h"
#include "target.h"

namespace dvnn::fuzz::tflite_target {

static void prepare() {
  fuzz::set_small_budgets();
}

static void try_input(const uint8_t* data, size_t size) {
  fuzz::convert_file(data, size, convert::convert_tflite);
}

DVNN_FUZZ_TARGET(tflite)

}  // namespace dvnn::fuzz::tflite_target
