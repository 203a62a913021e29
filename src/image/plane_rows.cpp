// SPDX-License-Identifier: Apache-2.0
#include "image/plane_rows.h"

#include "image/formats.h"

namespace dvnn::image {

void ExpandedRows::prepare(int width, int first, int end) {
  first_ = first;
  end_ = end;
  for (Row& row : rows_) row.bytes.resize(static_cast<size_t>(width) * kExpandedBytes);
  forget();
}

void ExpandedRows::forget() {
  for (Row& row : rows_) row.y = -1;
}

const uint8_t* ExpandedRows::row(const uint8_t* plane, ptrdiff_t stride, int y) {
  if (rows_[latest_].y != y) latest_ = 1 - latest_;
  Row& row = rows_[latest_];
  if (row.y != y) {
    row.y = y;
    expand_565(plane + y * stride + ptrdiff_t{first_} * k565Bytes,
               static_cast<size_t>(end_ - first_),
               row.bytes.data() + ptrdiff_t{first_} * kExpandedBytes);
  }
  return row.bytes.data();
}

}  // namespace dvnn::image
