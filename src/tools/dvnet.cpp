// SPDX-License-Identifier: Apache-2.0
// dvnet: converts models to .dvn files, and inspects, runs and benchmarks them.
#include <glib.h>

#include <cstdio>
#include <cstring>

#include "base/guard.h"
#include "kernels/instruction_sets.h"
#include "tools/commands.h"
#include "tools/manual.h"
#include "tools/options.h"

namespace {

struct Command {
  const char* name;
  const char* second;  // "network" of "bench network"; null for one-word commands
  int (*run)(int argc, char** argv);
  const char* summary;
};

// In the order in which people come to need them.
constexpr Command kCommands[] = {
    {"doctor", nullptr, dvnn::tools::doctor_command, "say what works here, and what does not"},
#ifdef DVNN_HAVE_CONVERT
    {"presets", nullptr, dvnn::tools::presets_command, "list what convert --preset knows"},
    {"convert", nullptr, dvnn::tools::convert_command,
     "make a .dvn file of a Caffe, Keras or ONNX model, or of a .dvn for another size"},
#endif
#ifdef DVNN_HAVE_OPENCV
    {"run", nullptr, dvnn::tools::run_command, "run a network on pictures and print what it finds"},
#endif
    {"inspect", nullptr, dvnn::tools::inspect_command,
     "show a network's steps, shapes and sizes, also as a page"},
#ifdef DVNN_HAVE_OPENCV
    {"bench", "network", dvnn::tools::bench_network_command,
     "time a network, alone or against another engine"},
#endif
#ifdef DVNN_HAVE_GST
    {"bench", "pipeline", dvnn::tools::bench_pipeline_command,
     "time the GStreamer pipeline and its elements"},
#endif
#ifdef DVNN_HAVE_OPENCV
    {"bench", "convert", dvnn::tools::bench_convert_command,
     "time frame conversion against OpenCV and the memory"},
#endif
    {"bench", "decode", dvnn::tools::bench_decode_command, "time decoders against plain code"},
};

std::string name_of(const Command& command) {
  return command.second ? std::string(command.name) + " " + command.second : command.name;
}

void print_usage(FILE* to) {
  std::fprintf(to, "Usage: dvnet COMMAND ...\n\n");
  for (const Command& c : kCommands) {
    std::fprintf(to, "  %-16s  %s\n", name_of(c).c_str(), c.summary);
  }
  std::fprintf(to,
               "\ndvnet COMMAND --help describes a command, dvnet --version tells the version.\n"
               "Status: 0 done, 1 an error that was printed, 2 wrong usage.\n");
}

bool is_help(const char* word) {
  return std::strcmp(word, "--help") == 0 || std::strcmp(word, "-h") == 0 ||
         std::strcmp(word, "help") == 0;
}

// The commands that begin with a word which is none alone, as "bench". Whether there are any.
bool print_group(FILE* to, const char* first) {
  bool any = false;
  for (const Command& c : kCommands) {
    if (!c.second || std::strcmp(c.name, first) != 0) continue;
    if (!any) std::fprintf(to, "Usage: dvnet %s WHAT ...\n\n", first);
    any = true;
    std::fprintf(to, "  %-16s  %s\n", name_of(c).c_str(), c.summary);
  }
  return any;
}

std::vector<dvnn::tools::CommandManual> manual() {
  std::vector<dvnn::tools::CommandManual> all;
  for (const Command& c : kCommands) {
    all.push_back({name_of(c), dvnn::tools::help_of(c.run)});
  }
  return all;
}

int run(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  if (is_help(argv[1])) {
    print_usage(stdout);
    return 0;
  }
  if (std::strcmp(argv[1], "--version") == 0) {
    std::printf("dvnet %s\n", DVNN_VERSION);
    return 0;
  }
  // The build asks for the manual pages, which it installs.
  if (std::strcmp(argv[1], "--man") == 0) {
    std::fputs(dvnn::tools::manual_page(manual(), DVNN_VERSION).c_str(), stdout);
    return 0;
  }
  if (std::strcmp(argv[1], "--completion") == 0) {
    std::fputs(dvnn::tools::bash_completion(manual()).c_str(), stdout);
    return 0;
  }
  for (const Command& c : kCommands) {
    if (std::strcmp(argv[1], c.name) != 0) continue;
    if (c.second && (argc == 2 || std::strcmp(argv[2], c.second) != 0)) continue;
    const int words = c.second ? 2 : 1;
    g_set_prgname(("dvnet " + name_of(c)).c_str());  // in the usage line of --help
    return c.run(argc - words, argv + words);
  }
  const bool asks = argc > 2 && is_help(argv[2]);
  if ((argc == 2 || asks) && print_group(asks ? stdout : stderr, argv[1])) return asks ? 0 : 2;
  std::fprintf(stderr, "dvnet: no command '%s%s%s'; see dvnet --help\n", argv[1],
               argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* missing = dvnn::kernels::missing_instruction_set()) {
    std::fprintf(
        stderr,
        "dvnet: this build is for processors with %s: configure it with -Dinstruction_sets=all\n",
        missing);
    return 1;
  }
  // An exception from a library is reported like any other error: one line, and no core file.
  const auto status =
      dvnn::guarded("out of the ordinary", [&]() -> dvnn::Result<int> { return run(argc, argv); });
  return status.ok() ? status.value() : dvnn::tools::fail(status.error());
}
