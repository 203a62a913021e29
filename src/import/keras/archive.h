// SPDX-License-Identifier: Apache-2.0
// Keras 3's files: a ZIP archive of the architecture (config.json) and an HDF5 file of the weights.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "import/keras/hdf5_file.h"

namespace dvnn::import {

struct KerasArchive {
  std::string config;                 // JSON
  std::unique_ptr<Hdf5File> weights;  // at "layers/CLASS_N/vars/I"
};

/// Returns whether a file begins as a ZIP archive does.
bool is_keras_archive(const std::string& path);

/// Reads an archive of at most 1 GiB, whose parts are no larger when unpacked. Errors name the file
/// and the part. Like Hdf5File::open(), it forks.
Result<KerasArchive> read_keras_archive(const std::string& path);

}  // namespace dvnn::import
