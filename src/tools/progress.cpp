// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/format.h"

namespace dvnn::tools {
namespace {

constexpr std::chrono::milliseconds kBetween{100};  // least time between two updates of the line

bool line_is_shown = false;

}  // namespace

std::string progress_text(const std::string& doing, size_t done, size_t total, double seconds) {
  if (total == 0) return doing;
  std::string text = format("%s %zu of %zu", doing.c_str(), done, total);
  if (done == 0 || seconds <= 0) return text;
  const double rate = static_cast<double>(done) / seconds;
  const auto left = static_cast<long>(static_cast<double>(total - std::min(done, total)) / rate);
  return text + format(", %.*f/s, %ld:%02ld left", rate < 10 ? 1 : 0, rate, left / 60, left % 60);
}

Progress::Progress(std::string doing, size_t total)
    : doing_(printable(doing)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      begin_(Clock::now()),
      last_(begin_) {
  show();
}

Progress::~Progress() {
  clear();
}

void Progress::advance() {
  ++done_;
  if (Clock::now() - last_ >= kBetween) show();
}

void Progress::show() {
  if (!terminal_) return;
  last_ = Clock::now();
  const double seconds = std::chrono::duration<double>(last_ - begin_).count();
  std::fprintf(stderr, "\r\033[K%s", progress_text(doing_, done_, total_, seconds).c_str());
  std::fflush(stderr);
  line_is_shown = true;
}

void Progress::clear() {
  if (line_is_shown) std::fprintf(stderr, "\r\033[K");
  line_is_shown = false;
}

}  // namespace dvnn::tools
