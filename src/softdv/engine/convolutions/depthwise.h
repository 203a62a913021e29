// SPDX-License-Identifier: Apache-2.0
// The usual depthwise convolutions on the device's chunks as they lie in memory: 8 channels of one
// pixel beside those of the next. A few rows of one chunk are floats at a time, and stay in the
// first-level cache.
#pragma once

#include "base/aligned.h"
#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/convolutions/convolution.h"
#include "softdv/engine/convolutions/kernels.h"
#include "softdv/engine/finish/register_finish.h"
#include "softdv/engine/rows.h"

namespace dvnn::softdv {

class Depthwise final : public Convolution {
 public:
  /// Returns whether the kernel is 3x3 or 5x5 with strides of 1 or 2 and no dilation.
  static bool suits(const ConvShape& shape);
  /// `weights` are in ConvShape's order; they and `bias` are copied.
  Depthwise(const ConvShape& shape, const float* weights, const float* bias);
  void execute(const half_t* from, const Finish& finish, Team* team) const override;

 private:
  int chunks() const { return (shape_.out_channels + kChunk - 1) / kChunk; }
  // Number of channels in a chunk, which lie side by side.
  size_t channels(int chunk) const { return shape_.chunk_channels(chunk); }
  int out_columns() const { return shape_.columns.out; }

  // Convolves `rows` of one chunk. `from` is the whole input in chunks. Calls finish(band, floats)
  // for one band of them after the other; the floats, out_columns() times channels(chunk) for each
  // row, may be changed until the next call.
  template <typename Finish>
  void run(const half_t* from, int chunk, Band rows, Finish finish) const {
    if (is_small()) return finish(rows, convolve_small(from, chunk, rows, nullptr, nullptr));
    if (is_narrow()) return finish(rows, convolve_narrow(from, chunk, rows));
    Rows held(*this, from, chunk);
    while (rows.first < rows.last) {
      const Band made = held.convolve(rows, held.spare(), nullptr);
      finish(made, held.spare());
      rows.first = made.last;
    }
  }

  // Writes the rows' floats one after the other to `to`, which has room for kBeyond more.
  static constexpr size_t kBeyond = 32;
  void run(const half_t* from, int chunk, Band rows, float* to) const;

  // Convolves `rows` and writes finished results to memory; only if finishes(). `to`, `addend` and
  // `slopes` of `finish` are those of the whole result.
  void run(const half_t* from, int chunk, Band rows, RegisterFinish finish) const;
  bool finishes() const { return shape_.out_channels % kChunk == 0 && !is_narrow(); }

  // Convolves, and writes `rows` of the result's 2x2 maximum pooling (strides 2, no pads) to
  // memory; only if pools(). These rows have `pixels` pixels each.
  void run_pooled(const half_t* from, int chunk, Band rows, size_t pixels,
                  RegisterFinish finish) const;
  bool pools() const { return pairs_rows() && !is_narrow(); }

  static constexpr int kMostRows = 5, kMostMade = 2;
  static constexpr int kNarrow = 16;          // columns: the most that a narrow row has
  static constexpr int kSmallTile = 8 << 10;  // floats that stay in the first-level cache

  // A chunk's weights (tap, channel) and bias, repeated until they fill vectors.
  DepthwiseWeights kernel(int chunk) const;
  // Fetches them, because a small image is done before they come from memory.
  void fetch_kernel(int chunk) const;

  // The source rows of one chunk that the calling thread holds as floats.
  class Rows {
   public:
    Rows(const Depthwise& of, const half_t* from, int chunk);
    // Convolves the first row or two of `rows` to floats, or as `finish` says; returns these rows.
    // Up to kBeyond floats after them are overwritten, too.
    Band convolve(Band rows, float* to, const RegisterFinish* finish);
    // Computes `pixels` pixels of the 2x2 maximum pooling of result rows `row` and `row` + 1.
    void convolve_pooled(int row, size_t pixels, const RegisterFinish& finish);
    float* spare() { return spare_; }  // room for the results of one call

   private:
    const float* input(int row);
    float* held(int place) const { return held_ + static_cast<size_t>(place) * stride_; }
    void load(int row, float* held) const;
    // Sets `from` to the source rows of result rows `row` to `row` + rows - 1.
    void inputs(int row, int rows, const float** from);
    int held_rows() const { return of_.shape_.rows.kernel + (of_.pairs_rows() ? 1 : 0); }
    const Depthwise& of_;
    const DepthwiseWeights kernel_;
    const half_t* chunk_;
    size_t channels_, stride_;       // elements of a pixel, floats of a row with its zeros
    size_t odd_ = 0;                 // where its odd pixels begin, if even ones come first
    float *zeros_, *held_, *spare_;  // rows
    int holds_[kMostRows];           // which input row each held one is; -1: none
  };

  // Returns whether two rows of results are computed together from the source that they share.
  bool pairs_rows() const {
    return shape_.rows.kernel == 3 && shape_.rows.stride == 1 && shape_.columns.stride == 1 &&
           shape_.out_channels % kChunk == 0;
  }
  // Returns whether rows and columns are exchanged: few columns, and far more rows.
  bool is_turned() const {
    return 4 * shape_.columns.out <= shape_.rows.out && shape_.columns.out <= kNarrow &&
           shape_.rows.stride == 1 && shape_.out_channels % kChunk == 0;
  }
  // Returns whether the whole source of a chunk is converted to floats at once.
  bool is_small() const {
    return pairs_rows() && !is_turned() && shape_.columns.out > 1 &&
           (shape_.rows.out + 2) * (shape_.columns.out + 2) * kChunk <= kSmallTile;
  }
  // Returns whether several short rows are convolved as one long row, with zeros between them.
  bool is_narrow() const {
    return is_turned() || (!is_small() && shape_.columns.out <= kNarrow &&
                           shape_.columns.stride == 1 && shape_.rows.stride == 1);
  }
  // Writes to `to` or as `finish` says; without either, returns floats of the calling thread.
  float* convolve_small(const half_t* from, int chunk, Band rows, float* to,
                        const RegisterFinish* finish) const;
  float* convolve_narrow(const half_t* from, int chunk, Band rows) const;
  float* convolve_turned(const half_t* from, int chunk, Band rows) const;

  ConvShape shape_;
  AlignedVector<float> kernels_;  // chunk by chunk, the bias first
};

}  // namespace dvnn::softdv
