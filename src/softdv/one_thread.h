// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

namespace dvnn::softdv {

/// While it lives, oneDNN uses one thread: the team's own are enough, and a primitive keeps the
/// number of threads from when it was made. Whoever calls the device keeps the setting that he had.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace dvnn::softdv
