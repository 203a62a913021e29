// SPDX-License-Identifier: Apache-2.0
#include "base/share.h"

namespace dvnn {
namespace {

thread_local ShareFunction lent_threads = nullptr;

}  // namespace

SharedThreads::SharedThreads(ShareFunction function) : before_(lent_threads) {
  lent_threads = function;
}

SharedThreads::~SharedThreads() {
  lent_threads = before_;
}

ShareFunction SharedThreads::current() {
  return lent_threads;
}

}  // namespace dvnn
