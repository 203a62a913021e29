// SPDX-License-Identifier: Apache-2.0
// Keras layers -> graph nodes. Keras' pictures are H x W x C; the graph's are C x H x W.
#pragma once

#include <string>

#include "import/builder.h"
#include "import/keras/files.h"
#include "import/options.h"

namespace dvnn::import {

/// Imports a model as Keras 1, 2 or TF-Keras save it, with its architecture. Errors name the layer
/// and its class.
Result<Graph> import_keras(const Hdf5File& file, const ImportOptions& options);

/// Imports a model of Keras 3 from the parts of its archive (files.h).
Result<Graph> import_keras3(const std::string& config, const Hdf5File& weights,
                            const ImportOptions& options);

}  // namespace dvnn::import
