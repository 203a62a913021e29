// SPDX-License-Identifier: Apache-2.0
#include "tensor/packing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/tensor.h"

namespace dvnn {
namespace {

// Every block has 12 rows of 6 cells, for all sizes of kernels.
constexpr int kBlockCells = 72;
constexpr int kBlockColumns = 6;
constexpr size_t kTableBytes = 256 * sizeof(half_t);
constexpr size_t kOutputGroup = 8;  // kernels that share a bias group

size_t align16(size_t n) {
  return (n + 15) & ~size_t{15};
}

int padded_kernel(const PackedGeometry& g) {
  return std::max(g.kx, g.ky) | 1;
}

// Returns the input channels per block, and per group of blocks (the stream's order of channels).
size_t channels_per_block(int p) {
  return p == 1 ? 64 : p == 3 ? 8 : p == 5 ? 2 : 1;
}
size_t channels_per_group(int p) {
  return p == 1 ? 64 : 8;
}

// Returns the cell of kernel element (row j, column i) of channel c, in a p x p kernel.
int cell(int p, int c, int j, int i) {
  switch (p) {
    case 1: {
      const int t = c & 7, s = (c & 63) >> 3;
      return (11 - 3 * (t >> 1) - s / 3) * kBlockColumns + 3 * (t & 1) + s % 3;
    }
    case 3: {
      const int t = c & 7;
      return (9 - 3 * (t >> 1) + j) * kBlockColumns + 3 * (t & 1) + i;
    }
    case 5:
      return (7 - 6 * (c & 1) + j) * kBlockColumns + i;
    default: {
      static constexpr int kColumnSix[7] = {17, 3, 9, 15, 0, 6, 12};
      return i < kBlockColumns ? (5 + j) * kBlockColumns + i : kColumnSix[j];
    }
  }
}

// `count` weights of a block. Weight k is number first + k * step in the source (m, c, ky, kx) and
// is stored in cell cells[k] of the block at `offset`.
struct Block {
  size_t first, step, count;
  const uint8_t* cells;
  size_t offset;
};

// Returns the cells of a block's weights in the source's order (c, j, i), for kernels of ky rows
// and kx columns in a p x p grid: rows are at the bottom of it, columns at the left.
std::array<uint8_t, kBlockCells> block_cells(int p, int ky, int kx) {
  std::array<uint8_t, kBlockCells> cells{};
  size_t k = 0;
  const auto channels = static_cast<int>(channels_per_block(p));
  for (int c = 0; c < channels; ++c) {
    for (int j = p - ky; j < p; ++j) {
      // Kernels beyond 7 x 7 are refused much earlier, but must still not write past the table.
      for (int i = 0; i < kx && k < cells.size(); ++i)
        cells[k++] = static_cast<uint8_t>(cell(p, c, j, i));
    }
  }
  return cells;
}

// Parameters of one pass over a stream: kernels of ky x kx weights in a p x p grid. `stride` is the
// number of source weights between channels; `first` is the number of the first weight.
struct Pass {
  size_t m, c;
  int p;
  size_t taps;  // weights per kernel plane in this pass
  size_t stride, first;
  size_t element;  // bytes of a weight
  bool prelu;
};

// Walks through one pass in the order of the stream. Calls
//   group(m0, m1, offset of 8 biases), slopes(m0, m1, offset of 8 slopes), block(Block)
// and returns the stream's length.
template <typename Group, typename Slopes, typename OnBlock>
size_t walk(const Pass& pass, const uint8_t* cells, size_t start, Group group, Slopes slopes,
            OnBlock block) {
  size_t at = start;
  const size_t per_block = channels_per_block(pass.p), per_group = channels_per_group(pass.p);
  for (size_t m0 = 0; m0 < pass.m; m0 += kOutputGroup) {
    const size_t m1 = std::min(m0 + kOutputGroup, pass.m);
    group(m0, m1, at);
    at += kOutputGroup * sizeof(half_t);
    if (pass.prelu) {
      slopes(m0, m1, at);
      at += kOutputGroup * sizeof(half_t);
    }
    for (size_t c0 = 0; c0 < pass.c; c0 += per_group) {
      const size_t c1 = std::min(c0 + per_group, pass.c);
      for (size_t m = m0; m < m1; ++m) {
        for (size_t b = c0; b < c1; b += per_block) {
          const size_t plane = m * pass.c + b;
          const size_t channels = std::min(b + per_block, c1) - b;
          block(Block{pass.first + plane * pass.stride, pass.stride / pass.taps,
                      channels * pass.taps, cells, at});
          at += kBlockCells * pass.element;
        }
      }
    }
  }
  return align16(at);
}

// Walks through the whole stream: one pass, or one per kernel tap if it is dilated. `real` marks
// the pass whose biases and slopes are not zero.
template <typename Group, typename Slopes, typename OnBlock>
size_t walk_stream(const PackedGeometry& g, Group group, Slopes slopes, OnBlock block) {
  const size_t plane = g.taps();
  Pass pass = {
      g.outputs(), g.inputs(), padded_kernel(g), plane, plane, 0, g.quantised ? 1 : sizeof(half_t),
      g.prelu};
  size_t at = g.quantised ? kTableBytes : 0;
  bool real = true;
  auto on_group = [&](size_t a, size_t b, size_t o) { group(a, b, o, real); };
  auto on_slopes = [&](size_t a, size_t b, size_t o) { slopes(a, b, o, real); };
  if (!g.dilated) {
    const auto cells = block_cells(pass.p, g.ky, g.kx);
    return walk(pass, cells.data(), at, on_group, on_slopes, block);
  }
  pass.p = 1;
  pass.taps = 1;
  const auto cells = block_cells(1, 1, 1);
  for (pass.first = 0; pass.first < plane; ++pass.first) {
    real = pass.first == plane - 1;  // only the last pass has biases
    at = walk(pass, cells.data(), at, on_group, on_slopes, block);
  }
  return at;
}

half_t load_half(const uint8_t* from) {
  half_t h;
  std::memcpy(&h, from, sizeof h);
  return h;
}

}  // namespace

size_t packed_weights_size(const PackedGeometry& g) {
  const size_t m = g.outputs();
  const size_t groups = (m + kOutputGroup - 1) / kOutputGroup;
  const size_t heads = groups * kOutputGroup * sizeof(half_t) * (g.prelu ? 2 : 1);
  const size_t cell_bytes = g.quantised ? 1 : sizeof(half_t);
  auto blocks = [&](int p) {
    const size_t per = channels_per_block(p);
    return m * ((g.inputs() + per - 1) / per);
  };
  const size_t table = g.quantised ? kTableBytes : 0;
  if (!g.dilated) {
    return align16(table + heads + blocks(padded_kernel(g)) * kBlockCells * cell_bytes);
  }
  const size_t tap = align16(heads + blocks(1) * kBlockCells * cell_bytes);
  return table + g.taps() * tap;
}

void pack_weights(const PackedGeometry& g, const WeightSource& source, uint8_t* out) {
  std::memset(out, 0, packed_weights_size(g));
  if (g.quantised) std::memcpy(out, source.table, kTableBytes);
  auto copy = [&](const half_t* from, size_t m0, size_t m1, size_t offset, bool real) {
    if (from && real) {
      std::memcpy(out + offset, from + m0, (m1 - m0) * sizeof(half_t));
    }
  };
  walk_stream(
      g, [&](size_t a, size_t b, size_t o, bool real) { copy(source.bias, a, b, o, real); },
      [&](size_t a, size_t b, size_t o, bool real) { copy(source.prelu, a, b, o, real); },
      [&](const Block& block) {
        if (g.quantised) {
          const auto* from = static_cast<const uint8_t*>(source.weights) + block.first;
          uint8_t* to = out + block.offset;
          for (size_t k = 0; k < block.count; ++k) to[block.cells[k]] = from[k * block.step];
        } else {
          const auto* from = static_cast<const half_t*>(source.weights) + block.first;
          uint8_t* to = out + block.offset;
          for (size_t k = 0; k < block.count; ++k) {
            std::memcpy(to + block.cells[k] * sizeof(half_t), from + k * block.step,
                        sizeof(half_t));
          }
        }
      });
}

void unpack_weights(const PackedGeometry& g, const uint8_t* packed, float* weights, float* bias,
                    float* prelu) {
  std::array<float, 256> table{};
  for (size_t i = 0; g.quantised && i < table.size(); ++i) {
    table[i] = half_to_float(load_half(packed + i * sizeof(half_t)));
  }
  auto copy = [&](float* to, size_t m0, size_t m1, size_t offset, bool real) {
    for (size_t m = m0; to && real && m < m1; ++m) {
      to[m] = half_to_float(load_half(packed + offset + (m - m0) * sizeof(half_t)));
    }
  };
  walk_stream(
      g, [&](size_t a, size_t b, size_t o, bool real) { copy(bias, a, b, o, real); },
      [&](size_t a, size_t b, size_t o, bool real) { copy(prelu, a, b, o, real); },
      [&](const Block& block) {
        if (!weights) return;
        const uint8_t* from = packed + block.offset;
        for (size_t k = 0; k < block.count; ++k) {
          const size_t at = block.cells[k];
          weights[block.first + k * block.step] =
              g.quantised ? table[from[at]] : half_to_float(load_half(from + at * sizeof(half_t)));
        }
      });
}

size_t packed_fc_size(const PackedGeometry& g) {
  const size_t weights = g.kernels();
  return (g.quantised ? kTableBytes + align16(weights) : align16(weights * sizeof(half_t))) +
         align16(g.outputs() * sizeof(half_t));
}

void pack_fc(const FcGeometry& g, const WeightSource& source, uint8_t* out) {
  const Shape in = {1, g.ci, g.hi, g.wi}, result = {1, g.co, g.ho, g.wo};
  const size_t inputs = in.count();
  const size_t outputs = result.count();
  const PackedGeometry flat = {
      static_cast<int>(outputs), static_cast<int>(inputs), 1, 1, g.quantised, false, false};
  const size_t total = packed_fc_size(flat);
  const size_t element = g.quantised ? 1 : sizeof(half_t);
  std::memset(out, 0, total);
  if (g.quantised) std::memcpy(out, source.table, kTableBytes);
  uint8_t* weights = out + (g.quantised ? kTableBytes : 0);
  const auto* from = static_cast<const uint8_t*>(source.weights);
  // Calls visit(position in the tensor's buffer) in the source's order (c, h, w).
  auto each = [](const Shape& s, auto visit) {
    for (int c = 0; c < s.c(); ++c) {
      for (int h = 0; h < s.h(); ++h) {
        for (int w = 0; w < s.w(); ++w) {
          visit(static_cast<size_t>(element_offset(Layout::kWhc8, s, 0, c, h, w)));
        }
      }
    }
  };
  // Outputs are in the order (co, ho, wo), inputs in (ci, hi, wi).
  each(result, [&](size_t o) {
    each(in, [&](size_t i) {
      std::memcpy(weights + (o * inputs + i) * element, from, element);
      from += element;
    });
  });
  if (source.bias) {
    std::memcpy(out + total - align16(outputs * sizeof(half_t)), source.bias,
                outputs * sizeof(half_t));
  }
}

void unpack_fc(const PackedGeometry& g, const uint8_t* packed, float* weights, float* bias) {
  const size_t count = g.kernels();
  const uint8_t* indices = packed + kTableBytes;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* at = packed + (g.quantised ? indices[i] : i) * sizeof(half_t);
    weights[i] = half_to_float(load_half(at));
  }
  const uint8_t* biases = packed + packed_fc_size(g) - align16(g.outputs() * sizeof(half_t));
  for (size_t m = 0; m < g.outputs(); ++m) {
    bias[m] = half_to_float(load_half(biases + m * sizeof(half_t)));
  }
}

}  // namespace dvnn
