// SPDX-License-Identifier: Apache-2.0
#include "decode/custom_objects.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/format.h"
#include "base/grid.h"
#include "base/result.h"
#include "base/nth.h"
#include "kernels/boxes/ssd.h"

namespace dvnn::decode {
namespace {

// Limits per call and per object.
constexpr size_t kMaxFound = 65536;
constexpr size_t kMaxPoints = 4096, kMaxNumbers = 4096, kMaxEmbedding = 65536;
constexpr size_t kMaxTextBytes = 4096, kMaxTitleBytes = 256;
constexpr int32_t kMaxMaskSide = 8192, kMaxClass = 1 << 20;
constexpr size_t kMaxBytes = size_t{64} << 20;
// Limit of coordinates, in inputs; no network sees farther.
constexpr float kFarthest = 1000;

// Copies at most `most` bytes of a library's text.
std::string text_of(const char* text, size_t most) {
  if (!text) return {};
  return short_text(std::string(text, strnlen(text, most + 1)), most);
}

bool are_finite(const float* values, size_t count) {
  return std::all_of(values, values + count, [](float v) { return std::isfinite(v); });
}

bool is_place(float x0, float y0, float x1, float y1) {
  return std::abs(x0) <= kFarthest && std::abs(y0) <= kFarthest && std::abs(x1) <= kFarthest &&
         std::abs(y1) <= kFarthest && x1 > x0 && y1 > y0;
}

// Checks a list from a library: with a count there must be memory, and the count is limited.
template <typename T>
Status check_list(const T* list, size_t count, size_t most, const char* what) {
  if (count == 0 || (list && count <= most)) return {};
  if (!list) return malformed(format("an object has %zu %s and no memory with them", count, what));
  return too_large(format("an object has %zu %s, at the most %zu are allowed", count, what, most));
}

size_t cells_of(const dvnn_object& object) {
  if (!object.mask) return 0;
  return grid_size(object.mask_width, object.mask_height);
}

Status check_mask(const dvnn_object& object) {
  const int32_t width = object.mask_width, height = object.mask_height;
  const bool good = width >= 1 && height >= 1 && width <= kMaxMaskSide && height <= kMaxMaskSide;
  if (!object.mask || good) return {};
  return too_large(format("a mask has %dx%d cells, 1 to %d are allowed on each side", width, height,
                          kMaxMaskSide));
}

// Points with NaN or absurd coordinates count as not seen.
objects::Point point_of(const dvnn_point& from) {
  objects::Point point{0, 0, 0};
  if (!(std::abs(from.x) <= kFarthest && std::abs(from.y) <= kFarthest)) return point;
  point.x = double{from.x};
  point.y = double{from.y};
  point.confidence = std::isnan(from.confidence) ? 0 : std::clamp(from.confidence, 0.0f, 1.0f);
  return point;
}

bool has_place(objects::Kind kind) {
  return kind == objects::Kind::kDetection;
}

}  // namespace

CustomObjects::CustomObjects(objects::Kind kind, bool suppresses, float nms_threshold)
    : dvnn_objects{sizeof(dvnn_objects), take},
      kind_(kind),
      suppresses_(suppresses && has_place(kind) && nms_threshold < 1),
      nms_threshold_(nms_threshold) {}

void CustomObjects::begin(float threshold) {
  threshold_ = threshold;
  bytes_ = 0;
  mistake_ = {};
  found_.clear();
}

// Called by C libraries, through which no exception may pass.
int CustomObjects::take(const dvnn_objects* self, const dvnn_object* object) noexcept {
  auto* own = const_cast<CustomObjects*>(static_cast<const CustomObjects*>(self));
  if (!own->mistake_.ok()) return 1;
  if (!object || object->size < sizeof(dvnn_object)) {
    own->mistake_ = guarded("an object", []() -> Status {
      return malformed("an object's 'size' is not that of dvnn_object");
    });
    return 1;
  }
  const auto taken = guarded("an object", [&] { return own->take(*object); });
  if (taken.ok()) return taken.value() ? 0 : 1;
  own->mistake_ = taken.error();
  return 1;
}

Status CustomObjects::copy_lists(const dvnn_object& from, objects::Object* to) {
  DVNN_TRY(check_list(from.outline, from.n_outline, kMaxPoints, "corners"));
  DVNN_TRY(check_list(from.points, from.n_points, kMaxPoints, "points"));
  DVNN_TRY(check_list(from.embedding, from.n_embedding, kMaxEmbedding, "numbers of an embedding"));
  DVNN_TRY(check_list(from.numbers, from.n_numbers, kMaxNumbers, "numbers"));
  for (size_t i = 0; i < from.n_outline; ++i) to->outline.push_back(point_of(from.outline[i]));
  for (size_t i = 0; i < from.n_points; ++i) to->points.push_back(point_of(from.points[i]));
  to->skeleton = text_of(from.skeleton, kMaxTitleBytes);
  to->text = text_of(from.text, kMaxTextBytes);
  to->embedding.assign(from.embedding, from.embedding + from.n_embedding);
  for (size_t i = 0; i < from.n_numbers; ++i) {
    const dvnn_number& number = from.numbers[i];
    if (std::isfinite(number.value)) {
      to->numbers.push_back({text_of(number.name, kMaxTitleBytes), number.value});
    }
  }
  return {};
}

void CustomObjects::copy_mask(const dvnn_object& from, objects::Object* to) {
  // A mask's place without an area comes from the network, so the object only loses its mask.
  if (!from.mask || !is_place(from.mask_x0, from.mask_y0, from.mask_x1, from.mask_y1)) return;
  to->mask.place = {double{from.mask_x0}, double{from.mask_y0}, double{from.mask_x1},
                    double{from.mask_y1}};
  to->mask.width = from.mask_width;
  to->mask.height = from.mask_height;
  std::copy_n(from.mask, cells_of(from), to->mask.cells.resize(cells_of(from)));
}

// Takes an object. Returns false if it is left out.
Result<bool> CustomObjects::take(const dvnn_object& from) {
  if (from.class_id < 0 || from.class_id > kMaxClass) {
    return malformed(
        format("an object is of class %d, 0 to %d are allowed", from.class_id, kMaxClass));
  }
  if (!(from.confidence >= threshold_) || !std::isfinite(from.confidence)) return false;
  if (has_place(kind_) && !is_place(from.x0, from.y0, from.x1, from.y1)) return false;
  if (found_.size() >= kMaxFound) return false;
  DVNN_TRY(check_mask(from));
  const Result<bool> filled = fill(from, &found_.add());
  if (!filled.ok() || !filled.value()) found_.pop_back();
  return filled;
}

// Fills `to`. Returns false if the object has no use.
Result<bool> CustomObjects::fill(const dvnn_object& from, objects::Object* to) {
  objects::Object& object = *to;
  object.kind = kind_;
  object.class_id = from.class_id;
  object.confidence = std::min(1.0f, from.confidence);
  object.raw_score = from.confidence;
  object.box = image::Corners{0, 0, 1, 1};
  if (has_place(kind_))
    object.box = {double{from.x0}, double{from.y0}, double{from.x1}, double{from.y1}};
  // The cells are counted before they are copied.
  const size_t cells = cells_of(from);
  DVNN_TRY(copy_lists(from, &object));
  if (from.n_embedding > 0 && !are_finite(from.embedding, from.n_embedding)) return false;
  const size_t bytes = (object.outline.size() + object.points.size()) * sizeof(objects::Point) +
                       object.text.size() + object.embedding.size() * sizeof(float) +
                       object.numbers.size() * sizeof(objects::Number);
  if (bytes_ + bytes + cells > kMaxBytes) return false;
  copy_mask(from, &object);
  bytes_ += bytes + cells;
  return true;
}

// Leaves in order_ the objects that no better one of their class overlaps.
void CustomObjects::suppress() {
  boxes_.clear();
  for (const objects::Object& object : found_) {
    boxes_.push_back({static_cast<float>(object.box.x0), static_cast<float>(object.box.y0),
                      static_cast<float>(object.box.x1), static_cast<float>(object.box.y1)});
  }
  auto class_of = [this](const kernels::Candidate& c) { return nth(found_, c.index).class_id; };
  std::sort(order_.begin(), order_.end(), [&](const auto& a, const auto& b) {
    return class_of(a) != class_of(b) ? class_of(a) < class_of(b) : a.index < b.index;
  });
  kernels::NmsOptions options;
  options.iou_threshold = nms_threshold_;
  options.max_kept = kernels::kMaxKept;
  size_t left = 0;
  for (size_t first = 0; first < order_.size();) {
    size_t end = first;
    candidates_.clear();
    while (end < order_.size() && class_of(order_[end]) == class_of(order_[first])) {
      candidates_.push_back(order_[end++]);
    }
    kernels::suppress_non_maxima(boxes_, options, &candidates_, &kept_);
    for (const kernels::Candidate& c : candidates_) order_[left++] = c;
    first = end;
  }
  order_.resize(left);
}

Status CustomObjects::finish(objects::Objects* out) {
  DVNN_TRY(mistake_);
  order_.clear();
  for (size_t i = 0; i < found_.size(); ++i) {
    order_.push_back({found_[i].confidence, static_cast<int>(i)});
  }
  if (suppresses_) suppress();
  std::sort(order_.begin(), order_.end(), [](const auto& a, const auto& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  });
  for (const kernels::Candidate& c : order_) {
    std::swap(out->add(), nth(found_, c.index));
  }
  return {};
}

}  // namespace dvnn::decode
