// SPDX-License-Identifier: Apache-2.0
// dvnet's commands. Each gets the arguments from its own name on and returns the exit status: 0, 1
// for an error that was printed, 2 for wrong usage.
#pragma once

namespace dvnn::tools {

int convert_command(int argc, char** argv);
int doctor_command(int argc, char** argv);
int presets_command(int argc, char** argv);
int inspect_command(int argc, char** argv);
int run_command(int argc, char** argv);
int bench_convert_command(int argc, char** argv);
int bench_decode_command(int argc, char** argv);
int bench_network_command(int argc, char** argv);
int bench_pipeline_command(int argc, char** argv);

}  // namespace dvnn::tools
