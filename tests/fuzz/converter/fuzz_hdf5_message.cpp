// SPDX-License-Identifier: Apache-2.0
// Messages of the process that reads HDF5 files, once a damaged file has taken it over.
#include "import/keras/hdf5_reader.h"
#include "target.h"

namespace dvnn::fuzz::hdf5_message_target {

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  import::Hdf5Contents contents;
  const std::string message(reinterpret_cast<const char*>(data), size);
  if (!import::read_message(message, &contents)) return;
  ++fuzz::accepted;
  // Importers rely on this.
  for (const auto& [path, array] : contents.arrays) {
    uint64_t elements = 1;
    for (int64_t d : array.dims) {
      if (d < 1) std::abort();
      elements *= static_cast<uint64_t>(d);
    }
    if (elements != array.values.size()) std::abort();
  }
}

DVNN_FUZZ_TARGET(hdf5_message)

}  // namespace dvnn::fuzz::hdf5_message_target
