// SPDX-License-Identifier: Apache-2.0
#include "tools/draw_output.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/grid.h"
#include "draw/blend.h"
#include "draw/painter.h"
#include "tools/pictures.h"

namespace dvnn::tools {
namespace {

std::string name_of(const std::string& folder, const std::string& path) {
  return folder + "/" + base_name(path) + ".png";
}

// Converts a value to a byte. Models do not tell the range of their pictures, so it is derived from
// the values.
uint8_t to_byte(float value, float least, float most) {
  float byte = value;  // 0..255
  if (most <= 2) byte = least < -0.25f ? (value + 1) * 127.5f : value * 255;
  return std::isnan(byte) ? 0 : static_cast<uint8_t>(std::lround(std::clamp(byte, 0.0f, 255.0f)));
}

}  // namespace

Status write_drawn(const std::string& folder, const std::string& path, const Bitmap& picture,
                   const objects::Objects& found) {
  std::vector<draw::Item> items;
  for (const objects::Object& object : found) items.push_back(draw::item_of(object, {}));
  draw::Painter painter;
  draw::Style style;
  style.frame_width = picture.width;
  style.frame_height = picture.height;
  painter.configure(style);
  Bitmap drawn = picture;
  draw::blend(painter.paint(items), {drawn.bytes.data(), drawn.width, drawn.height,
                                     static_cast<ptrdiff_t>(drawn.stride())});
  return write_png(name_of(folder, path), drawn);
}

Status write_output_picture(const std::string& folder, const std::string& path, Session* session) {
  constexpr int64_t kLeastSide = 8;
  const network::Model& model = session->model();
  const auto none = [&](const std::string& why) {
    return unsupported("there is nothing to draw on '" + path +
                       "': the network has no decoder, and " + why);
  };
  if (model.outputs.size() != 1) return none("more than one output");
  const ConstTensorView view = session->slot().output(0);
  const Shape& shape = view.desc.shape;
  const bool fits = shape.rank == 4 && shape.n() == 1 && (shape.c() == 1 || shape.c() == 3) &&
                    shape.h() >= kLeastSide && shape.w() >= kLeastSide;
  if (!fits) return none("an output of " + shape.to_string() + " is no picture");
  std::vector<float> values(shape.count());
  read_nchw(view, values.data());
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const int width = static_cast<int>(shape.w()), height = static_cast<int>(shape.h());
  const int channels = static_cast<int>(shape.c());
  const bool rgb = model.input.picture.order == ChannelOrder::kRgb;
  Bitmap picture(width, height, channels);
  for (int y = 0; y < height; ++y) {
    uint8_t* row = picture.row(y);
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int from = channels == 3 && rgb ? 2 - c : c;  // PNG's writer expects blue first
        const size_t at = grid_index(x, from * height + y, width);
        row[x * channels + c] = to_byte(values[at], *least, *most);
      }
    }
  }
  return write_png(name_of(folder, path), picture);
}

}  // namespace dvnn::tools
