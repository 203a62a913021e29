// SPDX-License-Identifier: Apache-2.0
// Reads Caffe's two files into their schema, old layer spellings brought to the new one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "caffe.pb.h"

namespace dvnn::import {

/// Parses a .prototxt. Fields that the schema does not know are noted in `warnings` and skipped.
Result<caffe::NetParameter> read_prototxt(const std::string& path,
                                          std::vector<std::string>* warnings);

/// Parses a .caffemodel.
Result<caffe::NetParameter> read_caffemodel(const std::string& path);

}  // namespace dvnn::import
