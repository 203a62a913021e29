// SPDX-License-Identifier: Apache-2.0
// The metas of other elements in which objects are written beside our own.
#pragma once

#include "properties.h"

namespace dvnn::gst {

enum Export : guint { kRegions = 1 << 0, kAnalytics = 1 << 1 };
#ifdef DVNN_HAVE_ANALYTICS
constexpr guint kDefaultExports = kRegions | kAnalytics;
#else
constexpr guint kDefaultExports = kRegions;
#endif

/// Returns the flags type of the property `exports`.
inline GType exports_type() {
  static const GFlagsValue values[] = {{kRegions, "GstVideoRegionOfInterestMeta", "regions"},
#ifdef DVNN_HAVE_ANALYTICS
                                       {kAnalytics, "GstAnalyticsRelationMeta", "analytics"},
#endif
                                       {0, nullptr, nullptr}};
  return register_flags("GstDvExports", values);
}

}  // namespace dvnn::gst
