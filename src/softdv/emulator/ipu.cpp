// SPDX-License-Identifier: Apache-2.0
// The image processing unit: a texture is scaled to a rectangle, its channels are picked, blended
// over a picture, and written as bytes or binary16.
//
// No source says where the hardware samples and how it rounds. Here pixel centres lie at halves, as
// in every current scaler; bilinear samples beyond the edge repeat it; blends round to nearest.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/grid.h"
#include "base/nth.h"
#include "softdv/emulator/checks.h"
#include "tensor/half.h"

namespace dvnn::softdv {
namespace {

using Rgba = std::array<float, 4>;

constexpr int kMaxRect = 4094, kMaxTexture = 4095, kMaxColours = 32;
constexpr int kMinStride = -32768, kMaxStride = 32767;

int pixel_bytes(uint8_t format) {
  switch (format) {
    case DMP_DV_RGBA8888:
      return 4;
    case DMP_DV_RGB888:
      return 3;
    case DMP_DV_RGBFP16:
      return 6;
    default:
      return 1;  // DMP_DV_LUT
  }
}

// The colours of the last command that had any, for later commands without colours. Only the unit's
// one worker uses them.
std::array<uint32_t, kMaxColours> lut_state{};

class IpuPlan final : public Plan {
 public:
  IpuPlan(const dmp_dv_cmdraw_ipu_v0& cmd, const Bytes& tex, const Bytes& rd, const Bytes& wr)
      : cmd_(cmd), tex_(tex), rd_(rd), wr_(wr) {}
  bool prepare() override {
    return aligned(tex_, "tex") && aligned(rd_, "rd") && aligned(wr_, "wr");
  }

  void execute(Scratch*) override {
    if (cmd_.use_tex && cmd_.fmt_tex == DMP_DV_LUT) {
      const int colours = std::min<int>(cmd_.ncolor_lut, kMaxColours);
      std::copy(cmd_.lut, cmd_.lut + colours, lut_state.begin());
    }
    const int row_bytes = cmd_.rect_width * pixel_bytes(cmd_.fmt_wr);
    const int64_t stride = cmd_.stride_wr ? cmd_.stride_wr : row_bytes;
    for (int y = 0; y < cmd_.rect_height; ++y) {
      uint8_t* to = wr_.mem->data + static_cast<int64_t>(wr_.offset) + y * stride;
      for (int x = 0; x < cmd_.rect_width; ++x) {
        write(pixel(x, y), to);
        to += pixel_bytes(cmd_.fmt_wr);
      }
    }
  }

 private:
  Rgba pixel(int x, int y) const {
    if (!cmd_.use_tex) return below(x, y);
    Rgba colour = sample(x, y);
    if (!cmd_.use_rd) return colour;
    const float alpha = (cmd_.use_const_alpha ? static_cast<float>(cmd_.alpha) : colour[3]) / 255;
    const Rgba under = below(x, y);
    for (size_t k = 0; k < 3; ++k) {
      colour[k] = std::nearbyint(colour[k] * alpha + under[k] * (1 - alpha));
    }
    colour[3] = under[3];
    return colour;
  }

  Rgba below(int x, int y) const {
    const int bytes = pixel_bytes(cmd_.fmt_rd);
    const uint8_t* at = rd_.mem->data + static_cast<int64_t>(rd_.offset) +
                        static_cast<int64_t>(y) * cmd_.stride_rd + x * bytes;
    return {static_cast<float>(at[0]), static_cast<float>(at[1]), static_cast<float>(at[2]),
            bytes == 4 ? static_cast<float>(at[3]) : 255.0f};
  }

  // Samples the texture at the centre of the rectangle's pixel; transposed, x runs down the
  // texture.
  Rgba sample(int x, int y) const {
    const int across = cmd_.transpose ? y : x, down = cmd_.transpose ? x : y;
    const int width = cmd_.transpose ? cmd_.rect_height : cmd_.rect_width;
    const int height = cmd_.transpose ? cmd_.rect_width : cmd_.rect_height;
    const float u = (static_cast<float>(across) + 0.5f) * static_cast<float>(cmd_.tex_width) /
                    static_cast<float>(width);
    const float v = (static_cast<float>(down) + 0.5f) * static_cast<float>(cmd_.tex_height) /
                    static_cast<float>(height);
    if (!cmd_.blf) return texel(static_cast<int>(u), static_cast<int>(v));
    const float left = std::floor(u - 0.5f), top = std::floor(v - 0.5f);
    const float fx = u - 0.5f - left, fy = v - 0.5f - top;
    const int i = static_cast<int>(left), j = static_cast<int>(top);
    const Rgba a = texel(i, j), b = texel(i + 1, j), c = texel(i, j + 1), d = texel(i + 1, j + 1);
    Rgba colour;
    for (size_t k = 0; k < 4; ++k) {
      const float upper = a[k] + (b[k] - a[k]) * fx, lower = c[k] + (d[k] - c[k]) * fx;
      colour[k] = std::nearbyint(upper + (lower - upper) * fy);
    }
    return colour;
  }

  Rgba texel(int x, int y) const {
    x = std::clamp<int>(x, 0, cmd_.tex_width - 1);
    y = std::clamp<int>(y, 0, cmd_.tex_height - 1);
    const int bytes = pixel_bytes(cmd_.fmt_tex);
    const uint8_t* at = tex_.data() + grid_index(x, y, cmd_.tex_width) * static_cast<size_t>(bytes);
    uint8_t entry[4];
    if (cmd_.fmt_tex == DMP_DV_LUT) {
      const uint32_t colour = *at < kMaxColours ? lut_state[*at] : 0;
      std::memcpy(entry, &colour, sizeof entry);
      at = entry;
    }
    return {static_cast<float>(at[cmd_.ridx]), static_cast<float>(at[cmd_.gidx]),
            static_cast<float>(at[cmd_.bidx]),
            bytes == 3 ? 255.0f : static_cast<float>(at[cmd_.aidx])};
  }

  void write(const Rgba& colour, uint8_t* to) const {
    if (cmd_.fmt_wr != DMP_DV_RGBFP16) {
      for (int k = 0; k < pixel_bytes(cmd_.fmt_wr); ++k) {
        to[k] = static_cast<uint8_t>(nth(colour, k));
      }
      return;
    }
    for (size_t k = 0; k < 3; ++k) {
      const float value = cmd_.cnv_type == DMP_DV_CNV_FP16_DIV_255
                              ? colour[k] / 255
                              : colour[k] - static_cast<float>(cmd_.cnv_param[k]);
      const half_t half = float_to_half(value);
      std::memcpy(to + k * sizeof half, &half, sizeof half);
    }
  }

  dmp_dv_cmdraw_ipu_v0 cmd_;
  Bytes tex_, rd_, wr_;
};

// Returns whether the channels' places are distinct and within a pixel.
bool good_swizzle(const dmp_dv_cmdraw_ipu_v0& cmd) {
  const int count = cmd.fmt_tex == DMP_DV_RGB888 ? 3 : 4;
  const int8_t places[] = {cmd.ridx, cmd.gidx, cmd.bidx, cmd.aidx};
  unsigned seen = 0;
  for (int k = 0; k < count; ++k) {
    if (places[k] < 0 || places[k] >= count || (seen >> places[k] & 1)) return false;
    seen |= 1u << places[k];
  }
  return true;
}

// Checks that rows `stride` bytes apart, which may run backwards, stay within the memory. The
// driver bounds width * height * pixel only.
int check_rows(const dmp_dv_buf& buf, int width, int height, int bytes, int64_t stride,
               const char* name, Bytes* out) {
  const int64_t row = int64_t{width} * bytes;
  if (const int rc = check_buffer(buf, static_cast<uint64_t>(row), 2, name, out)) return rc;
  const int64_t last = static_cast<int64_t>(buf.offs) + stride * (height - 1);
  const int64_t end = std::max(last, static_cast<int64_t>(buf.offs)) + row;
  if (last >= 0 && end <= static_cast<int64_t>(buf.mem->size)) return 0;
  set_error(
      "Insufficient space detected in the provided buffer: %s has %zu bytes, its %d rows of "
      "stride %lld from offset %llu on leave them",
      name, buf.mem->size, height, static_cast<long long>(stride),
      static_cast<unsigned long long>(buf.offs));
  return EINVAL;
}

int check_fields(const dmp_dv_cmdraw_ipu_v0& cmd) {
  if (cmd.fmt_wr > DMP_DV_RGBFP16) return refuse("fmt_wr must be 0, 1 or 2", cmd.fmt_wr);
  if (cmd.stride_wr < kMinStride || cmd.stride_wr > kMaxStride) {
    return refuse("stride_wr must be -32768..32767", cmd.stride_wr);
  }
  if (cmd.rect_width < 1 || cmd.rect_width > kMaxRect || cmd.rect_height < 1 ||
      cmd.rect_height > kMaxRect) {
    return refuse("rect_width and rect_height must be 1..4094, rect_width", cmd.rect_width);
  }
  if (!cmd.use_tex && !cmd.use_rd) return refuse("use_tex or use_rd must be set", 0);
  if (cmd.use_tex) {
    if (cmd.tex_width < 1 || cmd.tex_width > kMaxTexture || cmd.tex_height < 1 ||
        cmd.tex_height > kMaxTexture) {
      return refuse("tex_width and tex_height must be 1..4095, tex_width", cmd.tex_width);
    }
    if (cmd.fmt_tex > DMP_DV_RGB888 && cmd.fmt_tex != DMP_DV_LUT) {
      return refuse("fmt_tex must be 0, 1 or 7", cmd.fmt_tex);
    }
    if (!good_swizzle(cmd)) {
      return refuse("ridx, gidx, bidx, aidx must be distinct bytes of a pixel, ridx", cmd.ridx);
    }
    if (cmd.cnv_type > DMP_DV_CNV_FP16_DIV_255) {
      return refuse("cnv_type must be 0 or 1", cmd.cnv_type);
    }
  }
  if (!cmd.use_rd) return 0;
  if (cmd.fmt_rd > DMP_DV_RGB888) return refuse("fmt_rd must be 0 or 1", cmd.fmt_rd);
  if (cmd.stride_rd == 0 || cmd.stride_rd < kMinStride || cmd.stride_rd > kMaxStride) {
    return refuse("stride_rd must be -32768..32767 and not 0", cmd.stride_rd);
  }
  return 0;
}

}  // namespace

int accept_ipu(const dmp_dv_cmdraw* raw, Accepted* accepted) {
  const auto& cmd = *reinterpret_cast<const dmp_dv_cmdraw_ipu_v0*>(raw);
  if (raw->size != sizeof cmd) return refuse("header.size", raw->size);
  if (!cmd.wr.mem) return refuse("wr.mem is NULL", 0);
  if (cmd.use_tex && !cmd.tex.mem) return refuse("tex.mem is NULL", 0);
  if (cmd.use_rd && !cmd.rd.mem) return refuse("rd.mem is NULL", 0);
  if (const int rc = check_fields(cmd)) return rc;
  Bytes tex, rd, wr;
  const int wr_bytes = pixel_bytes(cmd.fmt_wr);
  const int64_t stride_wr = cmd.stride_wr ? cmd.stride_wr : int64_t{cmd.rect_width} * wr_bytes;
  if (const int rc =
          check_rows(cmd.wr, cmd.rect_width, cmd.rect_height, wr_bytes, stride_wr, "wr", &wr)) {
    return rc;
  }
  accepted->memories = {wr.mem};
  if (cmd.use_tex) {
    const uint64_t size =
        uint64_t{cmd.tex_width} * cmd.tex_height * static_cast<uint64_t>(pixel_bytes(cmd.fmt_tex));
    if (const int rc = check_buffer(cmd.tex, size, 2, "tex", &tex)) return rc;
    accepted->memories.push_back(tex.mem);
  }
  if (cmd.use_rd) {
    if (const int rc = check_rows(cmd.rd, cmd.rect_width, cmd.rect_height, pixel_bytes(cmd.fmt_rd),
                                  cmd.stride_rd, "rd", &rd)) {
      return rc;
    }
    accepted->memories.push_back(rd.mem);
  }
  accepted->plan = std::make_unique<IpuPlan>(cmd, tex, rd, wr);
  return 0;
}

}  // namespace dvnn::softdv
