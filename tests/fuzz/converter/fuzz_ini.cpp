// SPDX-License-Identifier: Apache-2.0
// The .ini files of the vendor's converter. libFuzzer's own changes, with the words of ini.dict.
#include "convert/ini_file.h"
#include "target.h"

namespace dvnn::fuzz::ini_target {

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  static auto* const file = new fuzz::MemoryFile();
  const auto ini =
      convert::read_ini(file->with(std::string(reinterpret_cast<const char*>(data), size)));
  if (!fuzz::is_good(ini)) return;
  ++fuzz::accepted;
  // dvnet prints these, and writes there.
  for (const std::string& note : ini.value().notes) {
    fuzz::expect_one_line({ErrorCode::kInternal, note});
  }
  if (ini.value().name.find('/') != std::string::npos) std::abort();
}

DVNN_FUZZ_TARGET(ini)

}  // namespace dvnn::fuzz::ini_target
