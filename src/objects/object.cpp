// SPDX-License-Identifier: Apache-2.0
#include "objects/object.h"

#include <numeric>

#include "base/grid.h"
#include "base/nth.h"

namespace dvnn::objects {
namespace {

// Moves the memory of an old string or vector to a new one.
template <typename List>
void hand_down(List* old, List* next) {
  old->clear();
  *next = std::move(*old);
}

}  // namespace

bool Mask::there() const {
  return width > 0 && height > 0 && cells.size() >= grid_size(width, height);
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kDetection:
      return "detection";
    case Kind::kClassification:
      return "classification";
    case Kind::kSegmentation:
      return "segmentation";
    case Kind::kAttributes:
      return "attributes";
  }
  return "detection";
}

bool has_box(const Object& object) {
  return image::is_place(object.box);
}

bool keep_agreed(Object* object) {
  if (!object->identity.agreed) object->identity = {};
  if (object->agreement.looks == 0 || object->agreement.reached) return true;
  if (object->kind == Kind::kClassification) return false;
  object->text.clear();
  object->text_format.clear();
  object->text_confidences.clear();
  object->embedding.clear();
  object->numbers.clear();
  return object->kind != Kind::kAttributes || !object->points.empty();
}

void Object::reset() {
  Object next;
  hand_down(&label, &next.label);
  hand_down(&region_name, &next.region_name);
  hand_down(&network, &next.network);
  hand_down(&outline, &next.outline);
  hand_down(&points, &next.points);
  hand_down(&skeleton, &next.skeleton);
  hand_down(&mask.cells, &next.mask.cells);
  hand_down(&text, &next.text);
  hand_down(&text_format, &next.text_format);
  hand_down(&text_confidences, &next.text_confidences);
  hand_down(&embedding, &next.embedding);
  hand_down(&numbers, &next.numbers);
  hand_down(&identity.name, &next.identity.name);
  *this = std::move(next);
}

Object& Objects::add() {
  if (size_ == all_.size()) {
    all_.emplace_back();
  } else {
    all_[size_].reset();
  }
  return all_[size_++];
}

void Objects::take(Objects* other) {
  for (Object& object : *other) std::swap(add(), object);
  other->clear();
}

void Objects::sort_from(size_t first) {
  order_.resize(size_);
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin() + static_cast<std::ptrdiff_t>(first), order_.end(),
            [this](uint32_t a, uint32_t b) {
              const float sure_a = all_[a].confidence, sure_b = all_[b].confidence;
              return sure_a != sure_b ? sure_a > sure_b : a < b;
            });
  // Applies the permutation cycle by cycle: each place gets the object that belongs there.
  for (size_t i = first; i < size_; ++i) {
    size_t place = i;
    while (order_[place] != i) {
      const size_t from = order_[place];
      std::swap(all_[place], all_[from]);
      order_[place] = static_cast<uint32_t>(place);
      place = from;
    }
    order_[place] = static_cast<uint32_t>(place);
  }
}

std::string label_of(Span<const std::string> labels, int class_id) {
  if (has_nth(labels, class_id)) return nth(labels, class_id);
  return "class " + std::to_string(class_id);
}

void set_labels(Span<const std::string> labels, Objects* objects) {
  for (Object& object : *objects) {
    // Assigning reuses the text's memory.
    if (has_nth(labels, object.class_id)) {
      object.label.assign(nth(labels, object.class_id));
    } else {
      object.label = label_of(labels, object.class_id);
    }
  }
}

bool clip_box(const image::Corners& bounds, image::Corners* box) {
  box->x0 = std::clamp(box->x0, bounds.x0, bounds.x1);
  box->x1 = std::clamp(box->x1, bounds.x0, bounds.x1);
  box->y0 = std::clamp(box->y0, bounds.y0, bounds.y1);
  box->y1 = std::clamp(box->y1, bounds.y0, bounds.y1);
  return image::has_area(*box);  // false for NaN, which clamp() passes on
}

namespace {

struct ToFrame {
  const image::Transform& transform;
  double width, height;  // of the network's input
  std::vector<uint8_t>* turned;

  image::Corners operator()(const image::Corners& part) const {
    return transform.invert({part.x0 * width, part.y0 * height, part.x1 * width, part.y1 * height});
  }
  void operator()(std::vector<Point>* points) const {
    for (Point& point : *points) {
      point.x *= width;
      point.y *= height;
      transform.invert(&point.x, &point.y);
    }
  }
  void operator()(Mask* mask) const {
    if (transform.is_sheared()) mask->width = mask->height = 0, mask->cells.clear();
    mask->place = (*this)(mask->place);
    const image::CellTurn turn = image::turn_back(transform);
    const size_t cells = grid_size(mask->width, mask->height);
    if (!turn.moves() || cells == 0 || mask->cells.size() < cells) return;
    turned->resize(cells);
    image::turn_cells(turn, mask->cells.data(), mask->width, mask->height, turned->data());
    std::copy(turned->begin(), turned->end(), mask->cells.resize(cells));
    if (turn.swap_xy) std::swap(mask->width, mask->height);
  }
};

}  // namespace

void map_to_frame(const FrameMap& map, Objects* objects) {
  std::vector<uint8_t> turned;  // allocates only if cells have to be turned
  const ToFrame to_frame{map.transform, map.input.width, map.input.height, &turned};
  objects->remove_if([&](Object& object) {
    if (map.transform.is_sheared() && object.kind == Kind::kDetection && object.outline.empty()) {
      const image::Corners& b = object.box;
      object.outline = {{b.x0, b.y0}, {b.x1, b.y0}, {b.x1, b.y1}, {b.x0, b.y1}};
    }
    object.box = to_frame(object.box);
    to_frame(&object.outline);
    to_frame(&object.points);
    to_frame(&object.mask);
    return map.clip && !clip_box(*map.clip, &object.box);
  });
}

}  // namespace dvnn::objects
