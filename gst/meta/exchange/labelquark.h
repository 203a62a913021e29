// SPDX-License-Identifier: Apache-2.0
// Labels as quarks, which metas of others name classes by.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

/// The quark of a label. Quarks stay for ever, and a stream of labels must not fill the memory
/// by them: a long label, and a new one beyond many, is "object".
GQuark label_quark(const gchar* label);

/// True if label_quark() may have given `label` this quark.
bool is_quark_of(GQuark quark, const gchar* label);

}  // namespace dvnn::gst
