// SPDX-License-Identifier: Apache-2.0
#include "publish/pictures.h"

#ifdef DVNN_HAVE_JPEG
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>
#endif

#include "base/file.h"

namespace dvnn::publish {

#ifdef DVNN_HAVE_JPEG
namespace {

// libjpeg ends the process at an error, unless it is told where else to go.
struct Failure {
  jpeg_error_mgr manager;
  std::jmp_buf where;
  char why[JMSG_LENGTH_MAX];
};

void leave(j_common_ptr info) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  info->err->format_message(info, failure->why);
  std::longjmp(failure->where, 1);
}

// This function holds nothing with a destructor, which a jump would pass over.
bool compress(const unsigned char* pixels, int width, int height, size_t stride, int quality,
              Failure* failure, unsigned char** bytes, unsigned long* size) {
  jpeg_compress_struct info{};
  info.err = jpeg_std_error(&failure->manager);
  failure->manager.error_exit = leave;
  jpeg_create_compress(&info);
  if (setjmp(failure->where) != 0) {
    jpeg_destroy_compress(&info);
    return false;
  }
  jpeg_mem_dest(&info, bytes, size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<unsigned char*>(pixels + stride * info.next_scanline);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  return true;
}

// Encodes `width` x `height` pixels of three bytes (red, green, blue), in rows `stride` bytes
// apart, as a JPEG.
Result<std::string> encode_jpeg(const unsigned char* pixels, int width, int height, size_t stride,
                                int quality) {
  Failure failure{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool good = compress(pixels, width, height, stride, quality, &failure, &bytes, &size);
  std::string jpeg;
  if (good) jpeg.assign(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  if (good) return jpeg;
  return Error{ErrorCode::kInternal, std::string("a picture cannot be written: ") + failure.why};
}

}  // namespace
#endif

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
