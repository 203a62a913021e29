// SPDX-License-Identifier: Apache-2.0
// The pictures of a document, as JPEG.
#pragma once

#include "publish/document.h"

namespace dvnn::publish {

/// Returns an error if this build cannot encode pictures.
Status check_pictures();

/// Encodes the pixels of a picture as JPEG, and writes the file if the picture names one.
Status encode_picture(Picture* picture);

/// Encodes all pictures that still have pixels as JPEG, and writes those with a file name. Pictures
/// that cannot be encoded or written are left out; the error is that of the last one.
Status encode_pictures(Document* document);

}  // namespace dvnn::publish
