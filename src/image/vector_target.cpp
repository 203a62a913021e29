// SPDX-License-Identifier: Apache-2.0
#include "image/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/vector_target.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image::HWY_NAMESPACE {

const char* TargetName() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace dvnn::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(TargetName);

const char* vector_target() {
  return HWY_DYNAMIC_DISPATCH(TargetName)();
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
