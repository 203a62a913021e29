// SPDX-License-Identifier: Apache-2.0
// What is built and installed. GStreamer's own programs are asked, so that the answers are those
// that users get: dvnet need not be linked with GStreamer, and a plugin that crashes does not end
// dvnet.
#include <glib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <thread>

#include "base/environment.h"
#include "base/format.h"
#include "image/vectors.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/child.h"

namespace dvnn::tools {
namespace {

constexpr int kMaxThreads = 256;  // the most that DVNN_SOFT_THREADS accepts

}  // namespace

Finding check_build() {
  std::string left_out;
#ifndef DVNN_HAVE_GST
  left_out += " no elements;";
#endif
#ifndef DVNN_HAVE_CONVERT
  left_out += " no converter;";
#endif
#ifndef DVNN_HAVE_OPENCV
  left_out += " no OpenCV;";
#endif
#ifndef DVNN_PICTURE_READER
  left_out += " no pictures, so no dvnet run;";
#endif
#ifndef DVNN_HAVE_OVERLAY
  left_out += " no dvoverlay;";
#endif
  if (!left_out.empty()) left_out.pop_back();
  return {Level::kOk, "build",
          "gst-dvnn " DVNN_VERSION ", built with " DVNN_BUILT_WITH +
              (left_out.empty() ? "; everything is built in" : ";" + left_out),
          ""};
}

Findings check_processor() {
  Findings findings;
  findings.push_back({Level::kOk, "processor",
                      std::string("frames are converted with ") + image::vector_target(), ""});
  const unsigned processors = std::thread::hardware_concurrency();
  const char* text = environment("DVNN_SOFT_THREADS");
  if (!text) {
    findings.push_back({Level::kOk, "processor",
                        format("the software device uses all %u processors", processors), ""});
    return findings;
  }
  const uint64_t threads = environment_number("DVNN_SOFT_THREADS").value_or(0);
  if (threads >= 1 && threads <= kMaxThreads) {
    findings.push_back(
        {Level::kOk, "processor",
         format("the software device uses %s threads, as DVNN_SOFT_THREADS says, on %u processors",
                text, processors),
         ""});
  } else {
    findings.push_back({Level::kWarning, "processor",
                        std::string("DVNN_SOFT_THREADS is '") + text +
                            "', which is not taken: the software device uses all processors",
                        format("set it to 1 to %d, or unset it", kMaxThreads)});
  }
  return findings;
}

namespace {

constexpr const char* kInspect = "gst-inspect-1.0";
constexpr const char* kPluginFile = "libgstdvnn.so";

std::string text_of(const char* variable) {
  const char* value = environment(variable);
  return value ? value : "";
}

// Reads the variable as GStreamer does: the one with the version takes precedence.
std::string gst_environment(const std::string& name) {
  const std::string versioned = text_of((name + "_1_0").c_str());
  return versioned.empty() ? text_of(name.c_str()) : versioned;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

bool exists(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0;
}

// Returns the folders that GStreamer searches for plugins, in order of precedence.
std::vector<std::string> searched_folders() {
  std::vector<std::string> folders = split(gst_environment("GST_PLUGIN_PATH"), ':');
  std::vector<std::string> system = split(gst_environment("GST_PLUGIN_SYSTEM_PATH"), ':');
  if (system.empty()) {
    system = {std::string(g_get_user_data_dir()) + "/gstreamer-1.0/plugins", DVNN_GST_PLUGIN_DIR};
  }
  folders.insert(folders.end(), system.begin(), system.end());
  return folders;
}

std::string registry_file() {
  const std::string named = gst_environment("GST_REGISTRY");
  return named.empty() ? std::string(g_get_user_cache_dir()) + "/gstreamer-1.0/registry.*.bin"
                       : named;
}

// Returns a field's value: "1.22.0" from "  Version                  1.22.0".
std::string field(const std::string& text, const std::string& name) {
  std::smatch match;
  const std::regex line("(^|\n) *" + name + " +(\\S[^\n]*)");
  return std::regex_search(text, match, line) ? match[2].str() : std::string();
}

std::string last_line(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  return lines.empty() ? std::string() : lines.back();
}

// Returns the names of the elements in gst-inspect-1.0's output for a plugin.
std::vector<std::string> elements_in(const std::string& text) {
  std::vector<std::string> names;
  const std::regex line("(^|\n)  ([a-z0-9]+): ");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    names.push_back((*it)[2].str());
  }
  return names;
}

// Finds out why GStreamer does not load a plugin's file.
Finding refused_plugin(const std::string& file, int seconds) {
  const std::string look_again = "rm " + registry_file() + ", so that GStreamer looks again";
  const ChildEnd load = run_child({kInspect, "--no-colors", file}, seconds);
  if (load.succeeded()) {
    return {Level::kFailure, "plugin",
            file +
                " is on GStreamer's list of files to leave alone, as it could not be loaded once; "
                "now it can",
            look_again};
  }
  std::string why = load.how();
  std::string remedy;
  if (load.started && load.in_time && load.signal == 0) {
    why = last_line(load.output);
    remedy = remedy_for_library(why);
  }
  if (remedy.empty()) remedy = "install gst-dvnn again";
  return {Level::kFailure, "plugin", "GStreamer does not load " + file + ": " + why,
          remedy + "; then " + look_again};
}

Finding missing_plugin(int seconds) {
  const std::vector<std::string> folders = searched_folders();
  for (const std::string& folder : folders) {
    const std::string file = folder + "/" + kPluginFile;
    if (exists(file)) return refused_plugin(file, seconds);
  }
  const std::string searched = joined(folders);
  const std::string installed = DVNN_PLUGIN_DIR;
  if (exists(installed + "/" + kPluginFile)) {
    return {Level::kFailure, "plugin",
            std::string(kPluginFile) + " is in " + installed + ", where GStreamer does not look (" +
                searched + ")",
            "export GST_PLUGIN_PATH=" + installed};
  }
  return {Level::kFailure, "plugin",
          std::string(kPluginFile) + " is in none of the folders that GStreamer searches (" +
              searched + ")",
          "install gst-dvnn, name its folder in GST_PLUGIN_PATH, or run '. scripts/env.sh build' "
          "where it was built"};
}

Finding found_plugin(const std::string& text) {
  const std::string file = field(text, "Filename"), version = field(text, "Version");
  if (version != DVNN_VERSION) {
    return {
        Level::kWarning, "plugin",
        "GStreamer finds version " + version + " of the plugin, " + file +
            "; dvnet is of version " DVNN_VERSION,
        "remove one of the two installations, or set GST_PLUGIN_PATH and PATH for the same one"};
  }
  return {Level::kOk, "plugin", "GStreamer finds " + file + ", version " + version, ""};
}

Finding check_elements(const std::string& text) {
  std::istringstream wanted(DVNN_ELEMENTS);
  const std::vector<std::string> have = elements_in(text);
  std::string missing;
  for (std::string name; wanted >> name;) {
    if (std::find(have.begin(), have.end(), name) != have.end()) continue;
    missing += (missing.empty() ? "" : ", ") + name;
  }
  if (missing.empty()) return {Level::kOk, "elements", joined(have), ""};
  return {Level::kFailure, "elements", "the plugin has no " + missing,
          "install gst-dvnn again, all of it from one build"};
}

// Checks the other elements that README's pipelines need.
Finding check_companions(int seconds) {
  struct Companion {
    const char *element, *package;
  };
  constexpr Companion kCompanions[] = {{"videoconvert", "gstreamer1.0-plugins-base"},
                                       {"decodebin", "gstreamer1.0-plugins-base"},
                                       {"v4l2src", "gstreamer1.0-plugins-good"},
                                       {"vp8dec", "gstreamer1.0-plugins-good"},
                                       {"avdec_h264", "gstreamer1.0-libav"},
                                       {"ximagesink", "gstreamer1.0-x"},
                                       {"dvzones", "gstreamer1.0-dvnn"},
                                       {"dvpublish", "gstreamer1.0-dvnn-publish"}};
  std::string missing, packages, there;
  // Each line is "plugin:  element: description".
  const std::string all = run_child({kInspect, "--no-colors"}, seconds).output;
  for (const Companion& c : kCompanions) {
    if (all.find(std::string(":  ") + c.element + ": ") != std::string::npos) {
      there += (there.empty() ? "" : ", ") + std::string(c.element);
      continue;
    }
    missing += (missing.empty() ? "" : ", ") + std::string(c.element);
    if (packages.find(c.package) == std::string::npos) packages += std::string(" ") + c.package;
  }
  if (missing.empty()) {
    return {Level::kOk, "elements", "of others, what pipelines often need: " + there, ""};
  }
  return {Level::kWarning, "elements", "GStreamer has no " + missing,
          "if your pipelines need them: apt-get install" + packages};
}

}  // namespace

Findings check_plugin(int seconds) {
  const ChildEnd version = run_child({kInspect, "--version"}, seconds);
  if (!version.succeeded()) {
    return {{Level::kFailure, "GStreamer", std::string(kInspect) + " " + version.how(),
             "apt-get install gstreamer1.0-tools"}};
  }
  std::smatch match;
  const bool found =
      std::regex_search(version.output, match, std::regex("GStreamer ([0-9][^\n ]*)"));
  Findings findings = {{Level::kOk, "GStreamer",
                        "GStreamer " + (found ? match[1].str() : std::string("of some version")) +
                            "; registry " + registry_file(),
                        ""}};
  const ChildEnd plugin = run_child({kInspect, "--no-colors", "--plugin", "dvnn"}, seconds);
  if (plugin.started && !plugin.in_time) {
    findings.push_back(
        {Level::kFailure, "plugin", std::string(kInspect) + " " + plugin.how(),
         "a plugin hangs while GStreamer looks at it: GST_DEBUG=GST_PLUGIN_LOADING:5 " +
             std::string(kInspect) + " dvnn tells which"});
    return findings;
  }
  if (!plugin.succeeded() || field(plugin.output, "Filename").empty()) {
    findings.push_back(missing_plugin(seconds));
    return findings;
  }
  findings.push_back(found_plugin(plugin.output));
  findings.push_back(check_elements(plugin.output));
  findings.push_back(check_companions(seconds));
  return findings;
}

Finding check_pipeline(const std::string& network, const std::string& device, int seconds) {
  std::vector<std::string> line = {"gst-launch-1.0", "-q", "videotestsrc", "num-buffers=3", "!",
                                   "dvconvert",      "!",  "dvinfer"};
  if (!network.empty()) line.push_back("network=" + network);
  if (!device.empty()) line.push_back("device=" + device);
  // Of a device that hangs, dvinfer tells more than that the pipeline does not end.
  line.push_back("watchdog-ms=" + std::to_string(std::min<int64_t>(seconds * 500LL, 86400000)));
  for (const char* word : {"!", "queue", "!", "fakesink"}) line.push_back(word);
  const ChildEnd end = run_child(line, seconds);
  const char* const kLine = "videotestsrc ! dvconvert ! dvinfer ! queue ! fakesink";
  if (end.succeeded()) return {Level::kOk, "pipeline", std::string(kLine) + " runs", ""};
  std::string why = end.how();
  if (const size_t at = end.output.find("ERROR"); at != std::string::npos) {
    why = end.output.substr(at, end.output.find('\n', at) - at);
  }
  return {Level::kFailure, "pipeline", std::string(kLine) + ": " + why,
          "mend what is above; then GST_DEBUG=3 gst-launch-1.0 with this pipeline tells more"};
}

}  // namespace dvnn::tools
