// SPDX-License-Identifier: Apache-2.0
#include "decode/custom_decoders.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/environment.h"
#include "base/file.h"
#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"
#include "base/nth.h"
#include "base/result.h"
#include "decode/box.h"
#include "dvnn_decoder.h"
#include "kernels/boxes/ssd.h"
#include "kernels/boxes/suppression.h"
#include "tensor/users_code.h"

namespace dvnn::decode {
namespace {

// Takes objects from a library: checks, copies and suppresses them like those of our own decoders.
// Values that come from the network may be anything, so objects with
// NaN or without a size are left out. Values that only a mistake in the library explains (a count
// without memory, an impossible size) are errors. Used by one thread at a time.
class CustomObjects final : public dvnn_objects {
 public:
  CustomObjects(objects::Kind kind, bool suppresses, float nms_threshold);
  CustomObjects(const CustomObjects&) = delete;
  CustomObjects& operator=(const CustomObjects&) = delete;

  // Call before each call of the library.
  void begin(float threshold);
  // Appends the collected objects, best first, or returns the first error.
  Status finish(objects::Objects* out);

 private:
  static int take(const dvnn_objects* self, const dvnn_object* object) noexcept;
  Result<bool> take(const dvnn_object& from);
  Result<bool> fill(const dvnn_object& from, objects::Object* to);
  static Status copy_lists(const dvnn_object& from, objects::Object* to);
  static void copy_mask(const dvnn_object& from, objects::Object* to);
  void suppress();

  objects::Kind kind_;
  bool suppresses_;
  float nms_threshold_, threshold_ = 0;
  size_t bytes_ = 0;  // of the objects' data in this call
  Status mistake_;
  objects::Objects found_;
  std::vector<kernels::Box> boxes_;
  std::vector<kernels::Candidate> order_, candidates_;
  kernels::KeptBoxes kept_;
};

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

constexpr size_t kLongestName = 64;    // of a decoder's name
constexpr size_t kMaxFileBytes = 255;  // of a library's file name

objects::Kind kind_of(const dvnn_decoder_class& type) {
  switch (type.kind) {
    case DVNN_CLASSIFICATIONS:
      return objects::Kind::kClassification;
    case DVNN_SEGMENTATIONS:
      return objects::Kind::kSegmentation;
    case DVNN_ATTRIBUTES:
      return objects::Kind::kAttributes;
    default:
      return objects::Kind::kDetection;
  }
}

class LibraryDecoder final : public Decoder {
 public:
  LibraryDecoder(const dvnn_decoder_class* type, void* object, float nms_threshold,
                 Span<const NamedOutput> outputs)
      : class_(type),
        object_(object),
        collector_(kind_of(*type), type->flags & DVNN_DECODER_SUPPRESSES, nms_threshold),
        values_(outputs.size()),
        in_(outputs.size()) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      values_[i].resize(outputs[i].desc.shape.count());
    }
  }
  ~LibraryDecoder() override {
    (void)guarded("freeing it", [this]() -> Status {
      if (class_->destroy) class_->destroy(object_);
      return {};
    });
  }
  LibraryDecoder(const LibraryDecoder&) = delete;
  LibraryDecoder& operator=(const LibraryDecoder&) = delete;

  objects::Kind kind() const override { return kind_of(*class_); }

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    for (size_t i = 0; i < in_.size(); ++i) {
      read_nchw(outputs[i], values_[i].data());
      in_[i] = values_[i].data();
    }
    collector_.begin(threshold);
    UsersMessage message;
    const Status status = guarded("its code", [&]() -> Status {
      if (class_->decode(object_, in_.data(), threshold, &collector_, &message.target) == 0) {
        return {};
      }
      return unsupported(message.said());
    });
    if (!status.ok()) return named(status.error());
    if (const Status taken = collector_.finish(out); !taken.ok()) return named(taken.error());
    return {};
  }

 private:
  Error named(const Error& error) const {
    return error.within("decoder '" + std::string(class_->name) + "' of a library");
  }

  const dvnn_decoder_class* class_;
  void* object_;
  CustomObjects collector_;
  std::vector<std::vector<float>> values_;
  std::vector<const float*> in_;
};

// Returns the folders for libraries that network files may name.
std::vector<std::string> folders() {
  const char* list = environment("DVNN_DECODER_PATH");
  std::vector<std::string> found;
  for (std::string rest = list ? list : ""; !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) found.push_back(rest.substr(0, colon));
    rest.erase(0, colon + 1);
  }
  found.emplace_back(DVNN_DECODER_DIR);
  return found;
}

}  // namespace

Status CustomDecoders::add(const dvnn_decoder_class* const* classes) {
  const std::vector<std::string> built_in = decoder_names();
  for (; *classes; ++classes) {
    const dvnn_decoder_class& c = **classes;
    if (c.size < sizeof(dvnn_decoder_class) || !c.name || !*c.name || !c.create || !c.decode ||
        c.kind > DVNN_ATTRIBUTES || (c.flags & ~DVNN_DECODER_SUPPRESSES)) {
      return malformed("a decoder is not described completely");
    }
    if (short_text(c.name, kLongestName) != c.name) {
      return malformed("decoder '" + short_text(c.name, kLongestName) +
                       "' has too long a name, or " + "one that cannot be printed");
    }
    if (std::count(built_in.begin(), built_in.end(), c.name) > 0 || classes_.count(c.name)) {
      return malformed(format("decoder '%s' exists already: choose another name", c.name));
    }
    classes_[c.name] = &c;
  }
  return {};
}

Result<std::shared_ptr<const CustomDecoders>> CustomDecoders::open(const std::string& path) {
  const std::string where = "decoder library '" + path + "'";
  return guarded(where, [&]() -> Result<std::shared_ptr<const CustomDecoders>> {
    DVNN_ASSIGN(const auto list, open_classes<dvnn_decoder_class>(
                                     where, path, "dvnn_decoder_classes_v1", "dvnn_decoder.h"));
    std::shared_ptr<CustomDecoders> library(new CustomDecoders);
    library->path_ = path;
    if (Status s = library->add(list); !s.ok()) return s.error().within(where);
    return std::shared_ptr<const CustomDecoders>(std::move(library));
  });
}

Result<std::shared_ptr<const CustomDecoders>> CustomDecoders::open_named(const std::string& name) {
  if (name.find('/') != std::string::npos || name.size() > kMaxFileBytes || name == "." ||
      name == "..") {
    return malformed("field 'library': '" + short_text(name, kLongestName) +
                     "' is no file's name: a network file names a library without its folder");
  }
  std::string searched;
  for (const std::string& folder : folders()) {
    auto opened = open(folder + "/" + name);
    if (opened.ok() || opened.error().code != ErrorCode::kNotFound) return opened;
    searched += (searched.empty() ? "" : ", ") + folder;
  }
  return Error{ErrorCode::kNotFound,
               "the network names decoder library '" + short_text(name, kLongestName) +
                   "', which is in none of these folders: " + searched +
                   " (see DVNN_DECODER_PATH, or give it by dvdecode's library or dvnet's "
                   "--decoder-library)"};
}

std::string CustomDecoders::names() const {
  return joined(classes_, ", ", [](const auto& one) { return one.first; });
}

Result<std::unique_ptr<Decoder>> CustomDecoders::create(const std::string& name, const Json& params,
                                                        Span<const NamedOutput> outputs) const {
  const auto it = classes_.find(name);
  if (it == classes_.end()) return std::unique_ptr<Decoder>();
  const dvnn_decoder_class* const found = it->second;
  JsonReader in(params, "the parameters");
  const double nms_threshold = in.number("nms_threshold", 0.45);
  DVNN_TRY(in.status());
  std::vector<dvnn_output> given;
  for (const NamedOutput& output : outputs) {
    if (output.desc.shape.rank > DVNN_LAYER_MAX_RANK || output.desc.shape.elements() <= 0) {
      return unsupported("output '" + output.name + "' is " + output.desc.shape.to_string());
    }
    given.push_back({output.name.c_str(), shape_for_users(output.desc)});
  }
  UsersMessage message;
  const std::string text = text_for_users(params);
  void* object = found->create(text.c_str(), given.data(), given.size(), &message.target);
  if (!object) return unsupported(message.said());
  return std::unique_ptr<Decoder>(
      new LibraryDecoder(found, object, static_cast<float>(nms_threshold), outputs));
}

}  // namespace dvnn::decode
