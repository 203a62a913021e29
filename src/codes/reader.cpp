// SPDX-License-Identifier: Apache-2.0
#include "codes/reader.h"

#include <zbar.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"

namespace dvnn::codes {
namespace {

using namespace zbar;  // NOLINT: its C functions are in a namespace of their own in C++

// ZBar finds linear codes along rows and columns, and needs two pixels per module.
struct Attempt {
  double scale, degrees;
};
constexpr Attempt kAttempts[] = {{1, 0}, {2, 0}, {1, 45}, {2, 20}, {2, -20}, {2, 45}};
// QR codes seldom tell the encoding of their bytes. Valid UTF-8 is hardly ever chance, so the bytes
// are first taken as they are. ZBar's guess mistakes some UTF-8 for Shift JIS, but is good for
// other encodings.
enum class Bytes { kAsTheyAre, kGuessed };
// Scan lines that must agree on a linear code: a single one is often a chance pattern.
constexpr int kLeastLines = 2;
constexpr zbar_symbol_type_t kLinear[] = {ZBAR_EAN13, ZBAR_EAN8,   ZBAR_UPCA,
                                          ZBAR_I25,   ZBAR_CODE39, ZBAR_CODE128};
constexpr int kMostEnlarged = 640;  // longest side to enlarge, pixels; larger pictures gain nothing

struct Place {
  double x, y;
};

// Returns the centre of the box around the points where ZBar saw the symbol.
Place middle_of(const zbar_symbol_t* symbol) {
  const unsigned count = zbar_symbol_get_loc_size(symbol);
  if (count == 0) return {0, 0};
  int x0 = zbar_symbol_get_loc_x(symbol, 0), x1 = x0;
  int y0 = zbar_symbol_get_loc_y(symbol, 0), y1 = y0;
  for (unsigned i = 1; i < count; ++i) {
    const int x = zbar_symbol_get_loc_x(symbol, i), y = zbar_symbol_get_loc_y(symbol, i);
    x0 = std::min(x0, x), x1 = std::max(x1, x);
    y0 = std::min(y0, y), y1 = std::max(y1, y);
  }
  return {(x0 + x1) / 2.0, (y0 + y1) / 2.0};
}

// Returns the distance of a symbol from the centre of the upright picture, where 1 is its edge.
double distance_of(const zbar_symbol_t* symbol, const Luma& upright, const Luma& seen,
                   const Attempt& attempt) {
  const Place middle = middle_of(symbol);
  const double x = (middle.x - seen.width / 2.0) / attempt.scale,
               y = (middle.y - seen.height / 2.0) / attempt.scale;
  const double angle = radians(attempt.degrees);
  const double c = std::cos(angle), s = std::sin(angle);
  return std::max(std::fabs(c * x + s * y) * 2 / upright.width,
                  std::fabs(c * y - s * x) * 2 / upright.height);
}

}  // namespace

std::string harmless_text(std::string bytes) {
  for (char& c : bytes) c = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  return short_text(bytes, kMostTextBytes);
}

struct Reader::Scanner {
  struct Free {
    void operator()(zbar_image_scanner_t* all) const { zbar_image_scanner_destroy(all); }
    void operator()(zbar_image_t* image) const { zbar_image_destroy(image); }
  };

  std::unique_ptr<zbar_image_scanner_t, Free> all{zbar_image_scanner_create()};
  std::unique_ptr<zbar_image_t, Free> image{zbar_image_create()};

  // Returns the code in `seen` that is nearest to the centre, with its text unchanged.
  std::optional<Reading> scan(Bytes bytes, const Luma& upright, const Luma& seen,
                              const Attempt& attempt, double core);
};

std::optional<Reading> Reader::Scanner::scan(Bytes bytes, const Luma& upright, const Luma& seen,
                                             const Attempt& attempt, double core) {
  zbar_image_scanner_set_config(all.get(), ZBAR_QRCODE, ZBAR_CFG_BINARY,
                                bytes == Bytes::kAsTheyAre ? 1 : 0);
  zbar_image_set_size(image.get(), static_cast<unsigned>(seen.width),
                      static_cast<unsigned>(seen.height));
  zbar_image_set_data(image.get(), seen.pixels.data(), seen.pixels.size(), nullptr);
  if (zbar_scan_image(all.get(), image.get()) <= 0) return std::nullopt;
  const zbar_symbol_t* best = nullptr;
  double nearest = core;
  for (const zbar_symbol_t* symbol = zbar_image_first_symbol(image.get()); symbol;
       symbol = zbar_symbol_next(symbol)) {
    const bool linear = zbar_symbol_get_type(symbol) != ZBAR_QRCODE;
    if (linear && zbar_symbol_get_quality(symbol) < kLeastLines) continue;
    const double distance = distance_of(symbol, upright, seen, attempt);
    if (distance > nearest) continue;
    nearest = distance;
    best = symbol;
  }
  if (!best) return std::nullopt;
  return Reading{{zbar_symbol_get_data(best), zbar_symbol_get_data_length(best)},
                 zbar_get_symbol_name(zbar_symbol_get_type(best))};
}

Reader::Reader() : scanner_(std::make_unique<Scanner>()) {
  constexpr unsigned long kGrey = 'Y' | '8' << 8 | '0' << 16 | '0' << 24;
  zbar_image_set_format(scanner_->image.get(), kGrey);
  zbar_image_scanner_t* all = scanner_->all.get();
  zbar_image_scanner_set_config(all, ZBAR_NONE, ZBAR_CFG_ENABLE, 0);
  zbar_image_scanner_set_config(all, ZBAR_QRCODE, ZBAR_CFG_ENABLE, 1);
  for (const zbar_symbol_type_t type : kLinear) {
    zbar_image_scanner_set_config(all, type, ZBAR_CFG_ENABLE, 1);
  }
}

Reader::~Reader() = default;

std::optional<Reading> Reader::read(const Luma& picture, double core) {
  if (picture.width < 1 || picture.height < 1) return std::nullopt;
  for (const Attempt& attempt : kAttempts) {
    const bool as_it_lies = attempt.scale == 1 && attempt.degrees == 0;
    if (attempt.scale > 1 && std::max(picture.width, picture.height) > kMostEnlarged) continue;
    if (!as_it_lies) turn(picture, attempt.scale, attempt.degrees, &turned_);
    const Luma& seen = as_it_lies ? picture : turned_;
    auto found = scanner_->scan(Bytes::kAsTheyAre, picture, seen, attempt, core);
    if (found && !is_utf8(found->text)) {
      found = scanner_->scan(Bytes::kGuessed, picture, seen, attempt, core);
    }
    if (!found) continue;
    found->text = harmless_text(std::move(found->text));
    return found;
  }
  return std::nullopt;
}

}  // namespace dvnn::codes
