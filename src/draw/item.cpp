// SPDX-License-Identifier: Apache-2.0
#include "draw/item.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/grid.h"

namespace dvnn::draw {
namespace {

constexpr size_t kMostLabelBytes = 67, kMostTextBytes = 160, kMostNameBytes = 32;
constexpr size_t kMostNumbers = 6;

template <typename Element>
std::vector<Element> first_of(const std::vector<Element>& list, size_t most) {
  return {list.begin(), list.begin() + static_cast<ptrdiff_t>(std::min(list.size(), most))};
}

void add_word(const std::string& word, std::string* line) {
  if (word.empty()) return;
  if (!line->empty()) *line += ' ';
  *line += word;
}

// It says little without what it numbers, such as a marker.
bool is_short_number(const std::string& text) {
  constexpr size_t kShort = 4;
  return !text.empty() && text.size() <= kShort &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::string line_of(const Caption& caption, const CaptionSettings& settings) {
  std::string line;
  if (settings.tracks && caption.track != 0) line = '#' + std::to_string(caption.track);
  if (settings.labels) {
    if (is_short_number(caption.text)) add_word(short_text(caption.label, kMostLabelBytes), &line);
    add_word(caption.text.empty() ? short_text(caption.label, kMostLabelBytes)
                                  : short_text(caption.text, kMostTextBytes),
             &line);
  }
  if (settings.confidence && caption.confidence >= 0) {
    add_word(format("%.0f%%", 100 * std::min(caption.confidence, 1.0)), &line);
  }
  if (!settings.labels) return line;
  for (size_t i = 0; i < std::min(caption.numbers.size(), kMostNumbers); ++i) {
    const objects::Number& number = caption.numbers[i];
    add_word(short_text(number.name, kMostNameBytes) + format(" %.4g", number.value), &line);
  }
  return line;
}

Item item_of(const objects::Object& object, const CaptionSettings& settings) {
  Item item;
  item.place = object.box;
  item.box = object.kind == objects::Kind::kDetection;
  item.color = object.class_id;
  Caption caption;
  // Objects of the whole picture speak for themselves: their class and confidence say nothing.
  const bool of_whole =
      object.kind == objects::Kind::kSegmentation || object.kind == objects::Kind::kAttributes;
  if (!of_whole) {
    caption.label = object.label;
    caption.confidence = static_cast<double>(object.confidence);
  }
  caption.text = object.text;
  caption.numbers = first_of(object.numbers, kMostNumbers);
  item.text = line_of(caption, settings);
  item.outline = first_of(object.outline, kMostCorners);
  item.points = first_of(object.points, kMostPoints);
  item.skeleton = object.skeleton;
  const objects::Mask& mask = object.mask;
  if (mask.width > 0 && mask.height > 0 &&
      mask.cells.size() >= grid_size(mask.width, mask.height)) {
    item.mask.place = mask.place;
    item.mask.width = mask.width;
    item.mask.height = mask.height;
    item.mask.cells = std::shared_ptr<const uint8_t>(std::shared_ptr<void>(), mask.cells.data());
    item.mask.classes = object.kind == objects::Kind::kSegmentation;
  }
  return item;
}

}  // namespace dvnn::draw
