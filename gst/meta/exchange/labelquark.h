// SPDX-License-Identifier: Apache-2.0
// Labels as quarks, by which GstAnalytics and regions of interest name classes.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

/// Returns the quark of a label. Quarks are never freed, so labels must not create any number of
/// them: long labels, and new ones beyond a limit, share the quark "object".
GQuark label_quark(const gchar* label);

/// Returns whether label_quark() may have given `label` this quark.
bool is_quark_of(GQuark quark, const gchar* label);

}  // namespace dvnn::gst
