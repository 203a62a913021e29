// SPDX-License-Identifier: Apache-2.0
#include "layers/cost.h"

#include <algorithm>

#include "base/budget.h"
#include "base/numbers.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {

Cost& Cost::keep_bytes(uint64_t bytes) {
  kept_bytes = saturating_sum(kept_bytes, bytes);
  return *this;
}

Cost& Cost::keep_floats(uint64_t count) {
  return keep_bytes(saturating_product(count, sizeof(float)));
}

Cost& Cost::borrow_floats(uint64_t count) {
  shared_bytes = saturating_sum(shared_bytes, saturating_product(count, sizeof(float)));
  return *this;
}

Cost& Cost::add_work(uint64_t elements) {
  work = saturating_sum(work, elements);
  return *this;
}

Cost& Cost::add_macs(uint64_t products) {
  macs = saturating_sum(macs, products);
  return add_work(products);
}

Cost& Cost::operator+=(const Cost& other) {
  kept_bytes = saturating_sum(kept_bytes, other.kept_bytes);
  shared_bytes = std::max(shared_bytes, other.shared_bytes);
  work = saturating_sum(work, other.work);
  macs = saturating_sum(macs, other.macs);
  candidates = saturating_sum(candidates, other.candidates);
  return *this;
}

Cost one_look(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) {
  Cost cost;
  for (Span<const TensorDesc> tensors : {inputs, outputs}) {
    for (const TensorDesc& desc : tensors) {
      cost.add_work(elements_of(desc));
      if (!is_plain_float(desc)) cost.borrow_floats(elements_of(desc));
    }
  }
  return cost;
}

uint64_t elements_of(const TensorDesc& tensor) {
  return static_cast<uint64_t>(std::max<int64_t>(tensor.shape.elements(), 0));
}

uint64_t elements_of(Span<const TensorDesc> tensors) {
  uint64_t sum = 0;
  for (const TensorDesc& tensor : tensors) sum = saturating_sum(sum, elements_of(tensor));
  return sum;
}

uint64_t last_extent(const Shape& shape) {
  return shape.rank > 0 ? static_cast<uint64_t>(std::max(shape[shape.rank - 1], 1)) : 1;
}

uint64_t part_bytes(Span<const TensorDesc> outputs) {
  // Upper bound: one part per element, but at most 1,024.
  constexpr uint64_t kMost = 1024, kBytes = 256;
  return std::min(saturating_product(elements_of(outputs), sizeof(float)), kMost * kBytes);
}

uint64_t index_bytes(Span<const TensorDesc> tensors) {
  constexpr uint64_t kBytesPerIndex = 64;
  uint64_t indices = 0;
  for (const TensorDesc& desc : tensors) {
    for (int i = 0; i < desc.shape.rank; ++i) {
      indices = saturating_sum(indices, static_cast<uint64_t>(std::max(desc.shape[i], 1)));
    }
  }
  return saturating_product(indices, kBytesPerIndex);
}

bool are_pictures(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) {
  return inputs.size() == 1 && outputs.size() == 1 && inputs[0].shape.rank == 4 &&
         outputs[0].shape.rank == 4;
}

void add_cost(const Cost& cost, BudgetSheet* sheet) {
  sheet->add(Budget::kScratchBytes, saturating_sum(cost.kept_bytes, cost.shared_bytes),
             "memory of CPU layers beside their tensors");
  sheet->add(Budget::kCpuWork, cost.work, "elements that CPU layers read, write and multiply");
  sheet->add(Budget::kCandidates, cost.candidates, "boxes that CPU layers look at for overlaps");
}

Status check_cost(const Cost& cost, const std::string& whose) {
  BudgetSheet sheet;
  add_cost(cost, &sheet);
  const Status status = sheet.result("");
  if (!status.ok()) return status.error().within(whose);
  return status;
}

}  // namespace dvnn::layers
