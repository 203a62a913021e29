// SPDX-License-Identifier: Apache-2.0
#include "publish/pictures.h"

#include "base/file.h"

#ifdef DVNN_HAVE_JPEG
#include "publish/jpeg.h"
#endif

namespace dvnn::publish {
Status check_pictures() {
#ifdef DVNN_HAVE_JPEG
  return {};
#else
  return unsupported("gst-dvnn was built without libjpeg: no snapshots");
#endif
}

Status encode_picture([[maybe_unused]] Picture* picture) {
#ifdef DVNN_HAVE_JPEG
  const Pixels& pixels = *picture->pixels;
  DVNN_ASSIGN(std::string jpeg, encode_jpeg(pixels.bytes.data(), picture->width, picture->height,
                                            pixels.stride, picture->quality));
  picture->pixels.reset();
  if (!picture->file.empty()) return write_file(picture->file, jpeg);
  picture->jpeg = std::move(jpeg);
  return {};
#else
  return check_pictures();
#endif
}

Status encode_pictures(Document* document) {
  Status all;
  const auto encode_one = [&all](std::optional<Picture>* picture) {
    if (!*picture || !(*picture)->pixels) return;
    const Status status = encode_picture(&**picture);
    if (status.ok()) return;
    all = status;
    picture->reset();
  };
  encode_one(&document->picture);
  if (auto* frame = std::get_if<FrameFacts>(&document->facts)) {
    for (auto& [object, picture] : frame->objects) encode_one(&picture);
  }
  return all;
}

}  // namespace dvnn::publish
