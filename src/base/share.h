// SPDX-License-Identifier: Apache-2.0
// Work that threads share: a slot's run lends the device's threads to the layers, and a layer
// splits its work without knowing which threads do it.
#pragma once

#include <type_traits>

namespace dvnn {

/// Calls call(work, i) once for each i in 0..count-1, on any threads, and returns when all calls
/// have.
using ShareFunction = void (*)(int count, void (*call)(void* work, int i), void* work);

/// Lends `function` to this thread during its lifetime. Null: this thread works alone.
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

/// Calls f(i), with an int or a size_t, for i in 0..count-1, on the threads lent to this one. Calls
/// must not depend on each other nor on the number of threads, so that results do not, and must not
/// throw.
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
