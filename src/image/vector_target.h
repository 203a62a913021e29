// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dvnn::image {

/// Name of the vector instructions that this folder's code uses here, as Highway calls them:
/// "AVX2".
const char* vector_target();

}  // namespace dvnn::image
