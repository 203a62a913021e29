// SPDX-License-Identifier: Apache-2.0
// Pixels in all kinds of memory: in DMA-BUFs, however caps describe them, in rows with padding, in
// a part of a larger frame. Tensors and drawings are those of the same pixels side by side in
// system memory.
#include <fcntl.h>
#include <gst/allocators/gstdmabuf.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cstring>

#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"
#include "image/pixel_formats.h"
#include "streams.h"

namespace dvnn::test::memories_tests {

DVNN_GST_SUITE(gst_memories);

namespace {

constexpr int kWidth = 64, kHeight = 48;

std::string detector(const std::string& properties) {
  return "dvconvert " + properties + " ! dvinfer network=" + network_path() + " ! dvdecode";
}

// Lines that read frames, or draw on them, each with an output that tells all pixels apart.
std::vector<std::string> readers() {
  return {"dvconvert" + tensors("3:64:48:1", "float32"),
          "dvinfer network=" + network_path() + " ! capsfilter caps=other/tensors", "dvoverlay"};
}

// The same pixels with padding before, between and after the planes and at the end of each row.
// The meta describes `format`, which may be DMA_DRM's.
GstBuffer* padded(GstBuffer* packed, const std::string& format_name, GstVideoFormat format) {
  GstVideoInfo info = video_info(format_name, kWidth, kHeight);
  const gint more = 64;
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {};
  gsize at = 256;
  for (guint p = 0; p < planes; ++p) {
    offsets[p] = at;
    strides[p] = GST_VIDEO_INFO_PLANE_STRIDE(&info, p) + more;
    at += static_cast<gsize>(strides[p]) * kHeight + 128;
  }
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, at, nullptr);
  gst_buffer_memset(buffer, 0, 0xa5, at);
  GstVideoFrame from;
  ck_assert(gst_video_frame_map(&from, &info, packed, GST_MAP_READ));
  for (guint p = 0; p < planes; ++p) {
    gint component[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info.finfo, p, component);
    const gint rows = GST_VIDEO_FRAME_COMP_HEIGHT(&from, component[0]);
    const gint stride = GST_VIDEO_FRAME_PLANE_STRIDE(&from, p);
    for (gint y = 0; y < rows; ++y) {
      gst_buffer_fill(buffer, offsets[p] + static_cast<gsize>(y * strides[p]),
                      static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&from, p)) + y * stride,
                      static_cast<gsize>(stride));
    }
  }
  gst_video_frame_unmap(&from);
  gst_buffer_unref(packed);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, format, kWidth, kHeight, planes,
                                 offsets, strides);
  return buffer;
}

bool asks_for(GstQuery* query, GType api) {
  return gst_query_find_allocation_meta(query, api, nullptr);
}

// Checks what an upstream of `description` is told about the metas of frames.
void expect_proposal(const std::string& description, bool downstream_knows, bool expected) {
  const std::string caps = video_caps("NV12", kWidth, kHeight);
  GstHarness* h = gst_harness_new_parse(description.c_str());
  if (downstream_knows) {
    gst_harness_add_propose_allocation_meta(h, GST_VIDEO_META_API_TYPE, nullptr);
    gst_harness_add_propose_allocation_meta(h, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  }
  gst_harness_set_src_caps_str(h, caps.c_str());
  gst_buffer_unref(gst_harness_push_and_pull(h, noise("NV12", kWidth, kHeight)));
  GstCaps* fixed = gst_caps_from_string(caps.c_str());
  GstQuery* query = gst_query_new_allocation(fixed, TRUE);
  gst_pad_peer_query(h->srcpad, query);
  ck_assert_msg(asks_for(query, GST_VIDEO_META_API_TYPE) == expected, "%s", description.c_str());
  ck_assert_msg(asks_for(query, GST_VIDEO_CROP_META_API_TYPE) == expected, "%s",
                description.c_str());
  gst_query_unref(query);
  gst_caps_unref(fixed);
  gst_harness_teardown(h);
}

}  // namespace

// A frame in memory of `fd`, which it takes.
static GstBuffer* in_dmabuf(GstBuffer* frame, int fd) {
  const gsize size = gst_buffer_get_size(frame);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ck_assert(data != MAP_FAILED);
  gst_buffer_extract(frame, 0, data, size);
  munmap(data, size);
  GstAllocator* allocator = gst_dmabuf_allocator_new();
  GstBuffer* buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc(allocator, fd, size));
  gst_object_unref(allocator);
  gst_buffer_unref(frame);
  return buffer;
}

static int sealed_memfd(gsize size) {
  const int fd = memfd_create("frame", MFD_ALLOW_SEALING);
  ck_assert(fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) == 0);
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
  return fd;
}

static void expect_square_in(GstBuffer* frame) {
  std::string caps = video_caps("NV12", 320, 240);
  caps.replace(0, std::strlen("video/x-raw"), "video/x-raw(memory:DMABuf)");
  GstHarness* h = chain(detector(""), caps);
  GstMemory* memory = gst_memory_ref(gst_buffer_peek_memory(frame, 0));
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  ck_assert(out && found_square(out, 320, 240, 0, 3));
  ck_assert_ptr_eq(gst_buffer_peek_memory(out, 0), memory);  // not copied
  gst_memory_unref(memory);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(dma_bufs_are_mapped) {
  GstBuffer* frame = red_square("NV12", 320, 240, 0, 3);
  const int fd = sealed_memfd(gst_buffer_get_size(frame));
  expect_square_in(in_dmabuf(frame, fd));
}

DVNN_TEST(dma_bufs_are_synchronised) {
  const int driver = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  if (driver < 0) {
    std::printf("no /dev/udmabuf here: DMA_BUF_IOCTL_SYNC is not tried\n");
    return;
  }
  GstBuffer* frame = red_square("NV12", 320, 240, 0, 3);
  const gsize page = 4096, size = (gst_buffer_get_size(frame) + page - 1) / page * page;
  const int memory = sealed_memfd(size);
  udmabuf_create request = {};
  request.memfd = static_cast<guint32>(memory);
  request.size = size;
  const int fd = ioctl(driver, UDMABUF_CREATE, &request);
  ck_assert_int_ge(fd, 0);
  expect_square_in(in_dmabuf(frame, fd));
  close(memory);
  close(driver);
}

// --- described as DRM does -----------------------------------------------------------------------

#if GST_CHECK_VERSION(1, 24, 0)
namespace {

// All formats but those that have no code of DRM's.
std::vector<std::string> drm_formats() {
  std::vector<std::string> formats;
#define DVNN_ADD(enumerator, name, drm, ...) \
  if (*drm) formats.push_back(#name);
  DVNN_PIXEL_FORMATS(DVNN_ADD, DVNN_ADD, DVNN_ADD)
#undef DVNN_ADD
  return formats;
}

std::string drm_caps(const std::string& format, guint64 modifier) {
  const GstVideoInfo info = video_info(format, kWidth, kHeight);
  GstVideoInfoDmaDrm drm;
  ck_assert(gst_video_info_dma_drm_from_video_info(&drm, &info, modifier));
  return caps_text(gst_video_info_dma_drm_to_caps(&drm));
}

// In memory of a DMA-BUF's kind.
GstBuffer* shared(GstBuffer* frame) {
  gst_buffer_ref(frame);
  GstBuffer* result = in_dmabuf(frame, sealed_memfd(gst_buffer_get_size(frame)));
  if (const GstVideoMeta* meta = gst_buffer_get_video_meta(frame)) {
    gst_buffer_add_video_meta_full(result, meta->flags, meta->format, meta->width, meta->height,
                                   meta->n_planes, meta->offset, meta->stride);
  }
  gst_buffer_unref(frame);
  return result;
}

GstBuffer* with_box(GstBuffer* frame) {
  gst_buffer_add_video_region_of_interest_meta(frame, "thing", 8, 8, 32, 24);
  return frame;
}

}  // namespace

DVNN_TEST(drm_frames_are_seen_as_plain_ones) {
  for (const std::string& format : drm_formats()) {
    const std::string plain = video_caps(format, kWidth, kHeight), drm = drm_caps(format, 0);
    for (const std::string& reader : readers()) {
      const std::vector<uint8_t> want =
          output_of(reader, plain, with_box(noise(format, kWidth, kHeight)));
      const std::vector<uint8_t> have =
          output_of(reader, drm, with_box(shared(noise(format, kWidth, kHeight))));
      ck_assert_msg(have == want, "%s, %s", format.c_str(), reader.c_str());
    }
  }
}

DVNN_TEST(drm_frames_have_their_strides_from_the_meta) {
  for (const std::string& format : drm_formats()) {
    for (GstVideoFormat said :
         {gst_video_format_from_string(format.c_str()), GST_VIDEO_FORMAT_DMA_DRM}) {
      for (const std::string& reader : readers()) {
        if (reader == "dvoverlay") continue;  // whose output has the padding
        const std::vector<uint8_t> want =
            output_of(reader, video_caps(format, kWidth, kHeight), noise(format, kWidth, kHeight));
        GstBuffer* frame = shared(padded(noise(format, kWidth, kHeight), format, said));
        const std::vector<uint8_t> have = output_of(reader, drm_caps(format, 0), frame);
        ck_assert_msg(have == want, "%s, %s", format.c_str(), reader.c_str());
      }
    }
  }
}

DVNN_TEST(what_is_not_linear_is_refused_when_caps_are_negotiated) {
  constexpr guint64 kTiled = G_GUINT64_CONSTANT(0x0100000000000001);  // I915_FORMAT_MOD_X_TILED
  for (const std::string& reader : readers()) {
    for (const char* format : {"NV12", "BGRx"}) {
      for (guint64 modifier : {guint64{0}, kTiled}) {
        GstHarness* h = gst_harness_new_parse(reader.c_str());
        GstCaps* caps = gst_caps_from_string(drm_caps(format, modifier).c_str());
        GstCaps* possible = gst_pad_peer_query_caps(h->srcpad, caps);
        const bool linear = modifier == 0;
        ck_assert_msg(gst_caps_is_empty(possible) != linear, "%s", reader.c_str());
        ck_assert(gst_pad_peer_query_accept_caps(h->srcpad, caps) == linear);
        gst_caps_unref(possible);
        gst_caps_unref(caps);
        gst_harness_teardown(h);
      }
    }
  }
}
#endif

// --- what is proposed upstream -------------------------------------------------------------------

DVNN_TEST(metas_of_frames_are_asked_for_where_frames_end) {
  const std::string infer = "dvinfer network=" + network_path(),
                    end = "capsfilter caps=other/tensors";
  for (bool downstream_knows : {false, true}) {
    expect_proposal("dvconvert" + tensors("3:16:16:1", "uint8"), downstream_knows, true);
    expect_proposal(infer + " ! " + end, downstream_knows, true);
    expect_proposal("dvconvert ! " + end + " ! " + infer, downstream_knows, true);
    // Elements that pass frames on leave the answer to downstream.
    for (const std::string& passes : {infer, "dvconvert ! " + infer, std::string("dvoverlay")}) {
      expect_proposal(passes, downstream_knows, downstream_knows);
    }
  }
}

DVNN_TEST(padded_frames_give_the_tensors_of_packed_ones) {
  for (const std::string& format : video_formats()) {
    for (const std::string& reader : readers()) {
      if (reader == "dvoverlay") continue;  // whose output has the padding
      const std::string caps = video_caps(format, kWidth, kHeight);
      const std::vector<uint8_t> want = output_of(reader, caps, noise(format, kWidth, kHeight));
      GstBuffer* frame = padded(noise(format, kWidth, kHeight), format,
                                gst_video_format_from_string(format.c_str()));
      ck_assert_msg(output_of(reader, caps, frame) == want, "%s, %s", format.c_str(),
                    reader.c_str());
    }
  }
}

DVNN_TEST(cropped_frames_give_the_tensors_of_packed_ones) {
  // videocrop takes the proposal up: it passes whole frames, with metas, under caps of the part.
  const std::string crop = "videocrop left=12 right=4 top=6 bottom=18 name=crop";
  for (const char* format : {"NV12", "I420", "RGB", "BGRx", "GRAY8"}) {
    for (const std::string& reader :
         {"dvconvert" + tensors("3:64:48:1", "float32"),
          "dvinfer network=" + network_path() + " ! capsfilter caps=other/tensors"}) {
      const std::string caps = video_caps(format, kWidth, kHeight);
      const std::vector<uint8_t> want =
          output_of(crop + " ! identity drop-allocation=true ! " + reader, caps,
                    noise(format, kWidth, kHeight));
      GstHarness* h = chain(crop + " ! " + reader, caps);
      GstElement* element = gst_bin_get_by_name(GST_BIN(h->element), "crop");
      GstPad* pad = gst_element_get_static_pad(element, "src");
      guint crops = 0;
      gst_pad_add_probe(
          pad, GST_PAD_PROBE_TYPE_BUFFER,
          [](GstPad*, GstPadProbeInfo* info, gpointer seen) {
            const GstVideoCropMeta* meta =
                gst_buffer_get_video_crop_meta(GST_PAD_PROBE_INFO_BUFFER(info));
            *static_cast<guint*>(seen) += meta && meta->x == 12 && meta->width == kWidth - 16;
            return GST_PAD_PROBE_OK;
          },
          &crops, nullptr);
      GstBuffer* out = gst_harness_push_and_pull(h, noise(format, kWidth, kHeight));
      ck_assert_msg(bytes_of(out) == want, "%s, %s", format, reader.c_str());
      ck_assert_uint_eq(crops, 1);
      gst_buffer_unref(out);
      gst_object_unref(pad);
      gst_object_unref(element);
      gst_harness_teardown(h);
    }
  }
}

}  // namespace dvnn::test::memories_tests
