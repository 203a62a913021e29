// SPDX-License-Identifier: Apache-2.0
// Spectra of sound: Fourier transforms as products with known sines, and what is computed of known
// numbers for them. Private to the ONNX front end.
#pragma once

#include <functional>

#include "import/onnx/import.h"

namespace dvnn::import {

/// Returns whether the operator is one of these: STFT, DFT, a window, or MelWeightMatrix.
bool spectral_onnx(const std::string& type);

/// Imports such an operator. `import` imports another node, in the operator's place.
Status spectrum_onnx(const OnnxNode& node,
                     const std::function<Status(const onnx::NodeProto&)>& import);

}  // namespace dvnn::import
