// SPDX-License-Identifier: Apache-2.0
// CPU layers from a user's library (include/dvnn_layer.h). Only networks that were given the
// library know its types, so two networks may use libraries with types of the same name.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/json_fwd.h"
#include "layers/cpu_layer.h"

struct dvnn_layer_class;

namespace dvnn::layers {

/// The types of one library. Immutable, so any thread may use it.
class CustomLibrary {
 public:
  /// Loads the library at `path`. Errors name the library: kNotFound, kIo, or kMalformed (not a
  /// library of layers, or one with a built-in type's name). The code stays loaded for the life of
  /// the process, because C++ libraries cannot be unloaded safely.
  static Result<std::shared_ptr<const CustomLibrary>> open(const std::string& path);

  /// Creates a layer of that type; null if the library has no such type.
  Result<std::unique_ptr<CpuLayer>> create(const std::string& type, const Json& params,
                                           Span<const TensorDesc> inputs,
                                           Span<const TensorDesc> outputs) const;

 private:
  CustomLibrary() = default;
  Status add(const dvnn_layer_class* const* classes);

  std::map<std::string, const dvnn_layer_class*> classes_;
};

}  // namespace dvnn::layers
