// SPDX-License-Identifier: Apache-2.0
// dvnet's commands, each in its own file.
#pragma once

#include "tools/options.h"

namespace dvnn::tools {

extern const Command kConvertCommand;
extern const Command kDoctorCommand;
extern const Command kPresetsCommand;
extern const Command kGetCommand;
extern const Command kInspectCommand;
extern const Command kRunCommand;
extern const Command kEvaluateCommand;
extern const Command kEnrolCommand;
extern const Command kBenchConvertCommand;
extern const Command kBenchDecodeCommand;
extern const Command kBenchNetworkCommand;
extern const Command kBenchPipelineCommand;

}  // namespace dvnn::tools
