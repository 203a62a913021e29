// SPDX-License-Identifier: Apache-2.0
// Memory that CPU layers need only while they run. Layers run one after the other, so a slot needs
// as much as its greediest layer, not the sum of all: each keeping its own, a small network with a
// large picture would take gigabytes.
//
// A slot owns a Workspace and lends it to its thread while it runs a layer. It grows during the
// first run and stays: later frames allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.h"

namespace dvnn::layers {

class Workspace {
 public:
  /// The workspace that is lent to this thread, or else one that the thread keeps for itself.
  static Workspace& current();

  /// `count` floats of any value, which stay until the layer's run ends.
  float* floats(size_t count);
  /// The same by size, for elements of any type.
  uint8_t* bytes(size_t size) {
    return reinterpret_cast<uint8_t*>(floats((size + sizeof(float) - 1) / sizeof(float)));
  }

  /// The memory that layers have made it take so far.
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

  /// One layer's run; its end returns all that the layer borrowed.
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
  std::vector<AlignedVector<float>> blocks_;  // one, but for the first run of a greedier layer
  size_t used_ = 0;                           // floats of the last block
};

}  // namespace dvnn::layers
