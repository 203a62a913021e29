// SPDX-License-Identifier: Apache-2.0
#include "layers/workspace.h"

namespace dvnn::layers {
namespace {

thread_local Workspace* lent = nullptr;

}  // namespace

Workspace& Workspace::current() {
  thread_local Workspace own;
  return lent ? *lent : own;
}

float* Workspace::floats(size_t count) {
  constexpr size_t kFloatsPerLine = 16;  // pieces begin on cache lines
  count = (count + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
  if (blocks_.empty() || blocks_.back().size() - used_ < count) {
    // A new block: memory that was lent before must stay where it is.
    blocks_.emplace_back(count);
    used_ = 0;
  }
  float* const piece = blocks_.back().data() + used_;
  used_ += count;
  return piece;
}

size_t Workspace::bytes_held() const {
  size_t floats = 0;
  for (const auto& block : blocks_) floats += block.size();
  return floats * sizeof(float);
}

void Workspace::reset() noexcept {
  used_ = 0;
  if (blocks_.size() < 2) return;
  const size_t all = bytes_held() / sizeof(float);
  blocks_.clear();
  try {  // one block for the next run; without the memory for it, that run asks again
    blocks_.emplace_back(all);
  } catch (...) {
    blocks_.clear();
  }
}

Workspace::Loan::Loan(Workspace* workspace) : before_(lent) {
  lent = workspace;
}

Workspace::Loan::~Loan() {
  lent = before_;
}

}  // namespace dvnn::layers
