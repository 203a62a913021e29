// SPDX-License-Identifier: Apache-2.0
// CPU layers from a library that a user brings (include/dvnn_layer.h). The types in it are known to
// the networks that were given the library, and to no others: two networks may use libraries whose
// types have the same names.
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
  /// Loads the library at `path`. Errors name the library: kNotFound, kIo, kMalformed (no such
  /// library, or a type that is one of ours). The code stays loaded for the life of the process,
  /// because C++ libraries cannot be unloaded safely.
  static Result<std::shared_ptr<const CustomLibrary>> open(const std::string& path);

  /// Makes a layer of that type; null if the library has no such type.
  Result<std::unique_ptr<CpuLayer>> create(const std::string& type, const Json& params,
                                           Span<const TensorDesc> inputs,
                                           Span<const TensorDesc> outputs) const;

 private:
  CustomLibrary() = default;
  Status add(const dvnn_layer_class* const* classes);

  std::map<std::string, const dvnn_layer_class*> classes_;
};

}  // namespace dvnn::layers
