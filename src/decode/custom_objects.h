// SPDX-License-Identifier: Apache-2.0
// Collects objects from users' decoders: checks, copies and suppresses them like those of our own
// decoders.
#pragma once

#include <vector>

#include "decode/box.h"
#include "decode/decoder.h"
#include "dvnn_decoder.h"
#include "kernels/boxes/suppression.h"

namespace dvnn::decode {

/// Takes objects from a library. Values that come from the network may be anything, so objects with
/// NaN or without a size are left out. Values that only a mistake in the library explains (a count
/// without memory, an impossible size) are errors. Used by one thread at a time.
class CustomObjects final : public dvnn_objects {
 public:
  CustomObjects(objects::Kind kind, bool suppresses, float nms_threshold);
  CustomObjects(const CustomObjects&) = delete;
  CustomObjects& operator=(const CustomObjects&) = delete;

  /// Call before each call of the library.
  void begin(float threshold);
  /// Appends the collected objects, best first, or returns the first error.
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

}  // namespace dvnn::decode
