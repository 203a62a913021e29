// SPDX-License-Identifier: Apache-2.0
// Opens what is to be evaluated, by the command line: networks in one or several forms, and files
// of what other programs have found.
#pragma once

#include <string>
#include <vector>

#include "tools/evaluate/subject.h"
#include "tools/options.h"

namespace dvnn::tools {

/// The form in which a network runs: on the device as its file is, or only if its weights have 16
/// bits, or with weights of 8 bits; on the software device; or in FP32 without a device.
enum class Form { kDevice, kFp16, kInt8, kSoft, kFp32 };

/// Names of the forms, in the order of the enum.
inline constexpr const char* kFormNames[] = {"device", "fp16", "int8", "soft", "fp32"};

/// Parses a list of forms between commas; "both" is "fp32,device".
Result<std::vector<Form>> parse_forms(const std::string& text);

/// Opens one subject. A file of results has one form.
Result<Subject> open_subject(const std::string& path, Form form, bool by_index,
                             const Arguments& arguments, const evaluate::DataSet& data);

/// Whether a path is of a network, and not of what was found.
bool is_network(const std::string& path, const evaluate::DataSet& data);

/// Opens a network that is in memory; `path` is its name.
Result<Subject> open_model(network::Model model, const std::string& path, bool by_index,
                           const Arguments& arguments, const evaluate::DataSet& data);

/// Reads the network at `path` with the size that the command line asks for.
Result<network::Model> read_sized(const std::string& path, const Arguments& arguments);

}  // namespace dvnn::tools
