// SPDX-License-Identifier: Apache-2.0
#include "draw/item.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace dvnn::draw {
namespace {

constexpr size_t kMostLabelBytes = 67, kMostTextBytes = 160, kMostNameBytes = 32;
constexpr size_t kMostNumbers = 6;

void add_word(const std::string& word, std::string* line) {
  if (word.empty()) return;
  if (!line->empty()) *line += ' ';
  *line += word;
}

// A short number says little without its label, such as the kind of a marker.
bool is_short_number(const std::string& text) {
  constexpr size_t kShort = 4;
  return !text.empty() && text.size() <= kShort &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

// A name that is not agreed yet has a question mark.
std::string who_of(const objects::Identity& identity) {
  const std::string name = identity.name.empty() ? "stranger " + std::to_string(identity.stranger)
                                                 : short_text(identity.name, kMostNameBytes);
  return identity.agreed ? name : name + "?";
}

}  // namespace

std::string caption_of(const objects::Object& object, const CaptionSettings& settings) {
  // The class and confidence of a segmentation or of attributes carry no information.
  const bool of_whole =
      object.kind == objects::Kind::kSegmentation || object.kind == objects::Kind::kAttributes;
  const std::string label = of_whole ? "" : short_text(object.label, kMostLabelBytes);
  std::string line;
  if (settings.tracks && object.track_id != 0) line = '#' + std::to_string(object.track_id);
  if (object.identity.is_known()) add_word(who_of(object.identity), &line);
  if (settings.labels) {
    if (object.text.empty() || is_short_number(object.text)) add_word(label, &line);
    add_word(short_text(object.text, kMostTextBytes), &line);
  }
  const bool agreed_class =
      object.kind == objects::Kind::kClassification && object.agreement.looks > 0;
  if (settings.confidence && !of_whole && !agreed_class && object.confidence >= 0) {
    add_word(format("%.0f%%", 100 * std::min(static_cast<double>(object.confidence), 1.0)), &line);
  }
  if (settings.confidence && object.agreement.looks > 0) {
    // A class has the agreed probability as its confidence.
    const auto sure = std::clamp(static_cast<double>(object.agreement.probability), 0.0, 1.0);
    add_word(format("%.0f%%/%u", 100 * sure, object.agreement.looks), &line);
  }
  if (!settings.labels) return line;
  for (size_t i = 0; i < std::min(object.numbers.size(), kMostNumbers); ++i) {
    const objects::Number& number = object.numbers[i];
    add_word(short_text(number.name, kMostNameBytes) + format(" %.4g", number.value), &line);
  }
  if (object.ground && object.ground->knows_speed()) {
    add_word(format("%.1f m/s", object.ground->speed), &line);
  }
  return line;
}

bool Item::is_part() const {
  const bool says =
      object.kind == objects::Kind::kClassification || object.kind == objects::Kind::kAttributes;
  return says && (object.parent != 0 || !object.region_name.empty()) && objects::has_box(object);
}

Item item_of(objects::Object object, const CaptionSettings& settings) {
  Item item;
  item.color = object.class_id;
  item.caption = caption_of(object, settings);
  if (object.outline.size() > kMostCorners) object.outline.resize(kMostCorners);
  if (object.points.size() > kMostPoints) object.points.resize(kMostPoints);
  item.object = std::move(object);
  return item;
}

}  // namespace dvnn::draw
