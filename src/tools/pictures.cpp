// SPDX-License-Identifier: Apache-2.0
#include "tools/pictures.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/file.h"
#include "tools/options.h"
#include "tools/picture_codec.h"

namespace dvnn::tools {
namespace {

constexpr char kModule[] = "dvnn-pictures.so";

// Loads the module from beside the tool, as in a build, or from where it is installed.
Result<PictureCodec> load_codec() {
  std::error_code unknown;
  const std::string beside =
      std::filesystem::read_symlink("/proc/self/exe", unknown).replace_filename(kModule).string();
  auto module = open_library(beside);
  if (!module.ok() && module.error().code == ErrorCode::kNotFound) {
    module = open_library(std::string(DVNN_MODULE_DIR "/") + kModule);
  }
  if (!module.ok()) return module.error().within("picture files cannot be read or written");
  PictureCodec codec{};
  codec.decode = reinterpret_cast<decltype(codec.decode)>(dlsym(module.value(), kDecodePicture));
  codec.encode_png =
      reinterpret_cast<decltype(codec.encode_png)>(dlsym(module.value(), kEncodePng));
  if (!codec.decode || !codec.encode_png) {
    return Error{ErrorCode::kIo, std::string(kModule) + " is not of this version of dvnet"};
  }
  return codec;
}

const Result<PictureCodec>& codec() {
  static const Result<PictureCodec> loaded = load_codec();
  return loaded;
}

}  // namespace

Result<Bitmap> read_picture(const std::string& path) {
  constexpr size_t kMaxPictureBytes = size_t{256} << 20;
  DVNN_ASSIGN(const std::string bytes, read_file(path, kMaxPictureBytes));
  DVNN_ASSIGN(const PictureCodec pictures, codec());
  Bitmap picture;
  std::string problem;
  if (!bytes.empty()) pictures.decode({bytes.begin(), bytes.end()}, &picture, &problem);
  if (!problem.empty()) return malformed("picture '" + path + "': " + problem);
  if (picture.bytes.empty()) {
    return malformed("'" + path + "' is not a picture that " DVNN_PICTURE_READER " reads");
  }
  return picture;
}

Result<std::string> encode_png(const Bitmap& picture) {
  DVNN_ASSIGN(const PictureCodec pictures, codec());
  std::vector<uint8_t> bytes;
  if (!pictures.encode_png(picture, &bytes)) {
    return Error{ErrorCode::kIo, "a picture cannot be made a PNG"};
  }
  return std::string(bytes.begin(), bytes.end());
}

Status write_png(const std::string& path, const Bitmap& picture) {
  const Result<std::string> bytes = encode_png(picture);
  if (!bytes.ok()) return bytes.error().within("'" + path + "' cannot be made");
  return write_file(path, bytes.value());
}

}  // namespace dvnn::tools
