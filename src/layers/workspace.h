// SPDX-License-Identifier: Apache-2.0
// Memory that CPU layers need only while they run. Layers run one after the other, so a run needs
// as much as its largest layer, not the sum of all: with memory of their own, a small network's
// layers would take gigabytes for a large picture.
//
// Whoever runs layers lends their thread a Workspace meanwhile. It grows during its first run and
// is lent again: later frames allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.h"

namespace dvnn::layers {

class Workspace {
 public:
  /// Returns the workspace lent to this thread, or else one that belongs to the thread.
  static Workspace& current();

  /// Returns `count` uninitialised floats, valid until the layer's run ends.
  float* floats(size_t count);
  /// Returns `size` uninitialised bytes, for elements of any type.
  uint8_t* bytes(size_t size) {
    return reinterpret_cast<uint8_t*>(floats((size + sizeof(float) - 1) / sizeof(float)));
  }

  /// Returns the bytes that the workspace has allocated so far.
  size_t bytes_held() const;

  /// Lends a workspace to this thread while it lives.
  class Loan {
   public:
    explicit Loan(Workspace* workspace);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    Workspace* before_;
  };

  /// One layer's run: its end takes back all memory that the layer borrowed.
  class Run {
   public:
    Run() : workspace_(current()) {}
    ~Run() { workspace_.reset(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    Workspace& workspace_;
  };

 private:
  void reset() noexcept;
  std::vector<AlignedVector<float>> blocks_;  // one, except in the first run of a larger layer
  size_t used_ = 0;                           // floats lent from the last block
};

}  // namespace dvnn::layers
