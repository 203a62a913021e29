// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dvnn::image {

/// Returns Highway's name of the vector instructions that this folder's code uses on this CPU:
/// "AVX2".
const char* vector_target();

}  // namespace dvnn::image
