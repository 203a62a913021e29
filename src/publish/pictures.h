// SPDX-License-Identifier: Apache-2.0
// The pictures of a document.
#pragma once

#include "publish/document.h"

namespace dvnn::publish {

/// An error where this build makes no pictures.
Status check_pictures();

/// Makes JPEGs of all that still have pixels, and writes those that have a file's name. Pictures
/// that cannot be made or written are left out; the error says why, of the last of them.
Status encode_pictures(Document* document);

}  // namespace dvnn::publish
