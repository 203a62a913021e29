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
  static auto* const file = new fuzz::MemoryFile();
  if (size < 2) return;
  const std::string path =
      file->with(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  convert::Report report;
  const auto model = convert::convert_tflite(path, fuzz::converter_options(data[0]), &report);
  fuzz::accepted += fuzz::is_good(model);
}

DVNN_FUZZ_TARGET(tflite)

}  // namespace dvnn::fuzz::tflite_target
