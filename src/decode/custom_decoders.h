// SPDX-License-Identifier: Apache-2.0
// Decoders in libraries that users provide (include/dvnn_decoder.h). A network file may name a
// library, but only by file name, because such files are not trusted: it must be in a folder that
// the machine's owner has set aside for them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "decode/decoder.h"

struct dvnn_decoder_class;

namespace dvnn::decode {

/// The decoders of one library. Immutable, so any thread may use it.
class CustomDecoders {
 public:
  /// Loads the library at `path`. Errors name the library: kNotFound, kIo, kMalformed (no such
  /// library, or a decoder that is one of ours). The code stays loaded for the life of the process,
  /// because C++ libraries cannot be unloaded safely.
  static Result<std::shared_ptr<const CustomDecoders>> open(const std::string& path);

  /// Loads the library that a network file names, from a folder of $DVNN_DECODER_PATH or else from
  /// LIBDIR/gst-dvnn/decoders.
  static Result<std::shared_ptr<const CustomDecoders>> open_named(const std::string& name);

  /// Creates the decoder `name`, or returns null if the library has none of that name.
  Result<std::unique_ptr<Decoder>> create(const std::string& name, const Json& params,
                                          Span<const NamedOutput> outputs) const;

  /// Returns the decoders' names, separated by commas, for error messages.
  std::string names() const;
  const std::string& path() const { return path_; }

 private:
  CustomDecoders() = default;
  Status add(const dvnn_decoder_class* const* classes);

  std::string path_;
  std::map<std::string, const dvnn_decoder_class*> classes_;
};

}  // namespace dvnn::decode
