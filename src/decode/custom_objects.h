// SPDX-License-Identifier: Apache-2.0
// Objects of a user's decoder: checked, copied and suppressed as our own decoders' objects are.
#pragma once

#include <vector>

#include "decode/box.h"
#include "decode/decoder.h"
#include "dvnn_decoder.h"
#include "kernels/boxes/suppression.h"

namespace dvnn::decode {

/// Takes objects from a library's code. Numbers that come from the network may be anything: objects
/// with a NaN or without a size are left out. What only a mistake in the library gives (a count
/// without memory, a size that makes no sense) is an error. For one thread at a time.
class CustomObjects final : public dvnn_objects {
 public:
  CustomObjects(objects::Kind kind, bool suppresses, float nms_threshold);
  CustomObjects(const CustomObjects&) = delete;
  CustomObjects& operator=(const CustomObjects&) = delete;

  /// Before each call of the library.
  void begin(float threshold);
  /// Appends what was taken, best first; or the first mistake.
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
  size_t bytes_ = 0;  // of what objects hold, in this call
  Status mistake_;
  objects::Objects found_;
  std::vector<kernels::Box> boxes_;
  std::vector<kernels::Candidate> order_, candidates_;
  kernels::KeptBoxes kept_;
};

}  // namespace dvnn::decode
