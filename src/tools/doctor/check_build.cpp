// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <thread>

#include "base/environment.h"
#include "base/format.h"
#include "image/vector_target.h"
#include "tools/doctor/checks.h"

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

}  // namespace dvnn::tools
