// SPDX-License-Identifier: Apache-2.0
// Work that threads share: a slot's run lends the device's threads to the layers, and a layer
// cuts its work in pieces without knowing whose threads do them.
#pragma once

#include <type_traits>

namespace dvnn {

/// Calls call(work, i) for i in 0..count-1, each once, on any threads, and returns when all have
/// returned.
using ShareFunction = void (*)(int count, void (*call)(void* work, int i), void* work);

/// Lends `function` to this thread while it lives; null: this thread does its work alone.
class SharedThreads {
 public:
  explicit SharedThreads(ShareFunction function);
  ~SharedThreads();
  SharedThreads(const SharedThreads&) = delete;
  SharedThreads& operator=(const SharedThreads&) = delete;
  static ShareFunction current();

 private:
  ShareFunction before_;
};

/// Calls f(i), which takes an int or a size_t, for i in 0..count-1, on the threads that are lent to
/// this one. The pieces must not depend on one another nor on the number of threads, so that
/// results do not, and throw nothing.
template <typename F>
void share(int count, F&& f) {
  const ShareFunction shared = count > 1 ? SharedThreads::current() : nullptr;
  if (!shared) {
    for (int i = 0; i < count; ++i) f(i);
    return;
  }
  using Work = std::remove_reference_t<F>;
  shared(
      count, [](void* work, int i) { (*static_cast<Work*>(work))(i); }, &f);
}

}  // namespace dvnn
