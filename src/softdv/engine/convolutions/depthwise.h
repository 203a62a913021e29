// SPDX-License-Identifier: Apache-2.0
// The usual depthwise convolutions on the device's chunks as they lie in memory: 8 channels of one
// pixel beside those of the next. A few rows of one chunk are floats at a time, and stay in the
// first-level cache.
#pragma once

#include "base/aligned.h"
#include "softdv/engine/bands.h"
#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/convolutions/convolution.h"
#include "softdv/engine/convolutions/depthwise_kernel.h"
#include "softdv/engine/finish/register_finish.h"

namespace dvnn::softdv {

class Depthwise final : public Convolution {
 public:
  /// Kernels of 3x3 or 5x5 with strides of 1 or 2 and no dilation.
  static bool suits(const ConvShape& shape);
  /// `weights` are as ConvShape says, and are copied as `bias` is.
  Depthwise(const ConvShape& shape, const float* weights, const float* bias);
  void execute(const half_t* from, const Finish& finish, Team* team) const override;

 private:
  int chunks() const { return (shape_.out_channels + kChunk - 1) / kChunk; }
  // Channels of a chunk, which are side by side.
  size_t channels(int chunk) const { return shape_.chunk_channels(chunk); }
  int out_columns() const { return shape_.columns.out; }

  // Convolves some rows of one chunk. `from` is the whole input in chunks. Calls finish(band,
  // floats) for some of them after the other, where the floats, out_columns() times
  // channels(chunk) for each row, may be changed until the next call.
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

  // The rows' floats one after the other; `to` has room for kBeyond more.
  static constexpr size_t kBeyond = 32;
  void run(const half_t* from, int chunk, Band rows, float* to) const;

  // The same, all the way to results in memory, if finishes(): `to`, `addend` and `slopes` are of
  // the whole result.
  void run(const half_t* from, int chunk, Band rows, RegisterFinish finish) const;
  bool finishes() const { return shape_.out_channels % kChunk == 0 && !is_narrow(); }

  // Some rows of what a maximum pooling of 2x2 with strides of 2, without pads, makes of the whole
  // result, all the way to memory, if pools(). They have `pixels` pixels.
  void run_pooled(const half_t* from, int chunk, Band rows, size_t pixels,
                  RegisterFinish finish) const;
  bool pools() const { return pairs_rows() && !is_narrow(); }

  static constexpr int kMostRows = 5, kMostMade = 2;
  static constexpr int kNarrow = 16;          // columns: a row of them is not worth the way to it
  static constexpr int kSmallTile = 8 << 10;  // floats that stay in the first-level cache

  // One chunk's weights (tap, channel) and bias, repeated until they fill vectors.
  struct Kernel {
    AlignedVector<float> weights, bias;
    DepthwiseWeights both() const { return {weights.data(), bias.data()}; }
  };

  // The calling thread's rows of one chunk.
  class Rows {
   public:
    Rows(const Depthwise& of, const half_t* from, int chunk);
    // Convolves the first row or two of `rows` to floats or as `finish` says; returns them. Up to
    // kBeyond floats after them are changed, too.
    Band convolve(Band rows, float* to, const RegisterFinish* finish);
    // Makes what a pooling of 2x2 makes of rows `row` and `row` + 1: `pixels` of them.
    void convolve_pooled(int row, size_t pixels, const RegisterFinish& finish);
    float* spare() { return spare_; }  // room for what one call makes

   private:
    const float* input(int row);
    float* held(int place) const { return held_ + static_cast<size_t>(place) * stride_; }
    void load(int row, float* held) const;
    // The source rows of result rows `row` .. `row` + rows - 1.
    void inputs(int row, int rows, const float** from);
    int held_rows() const { return of_.shape_.rows.kernel + (of_.pairs_rows() ? 1 : 0); }
    const Depthwise& of_;
    const Kernel& kernel_;
    const half_t* chunk_;
    size_t channels_, stride_;       // elements of a pixel, floats of a row with its zeros
    size_t odd_ = 0;                 // where its odd pixels begin, if even ones come first
    float *zeros_, *held_, *spare_;  // rows
    int holds_[kMostRows];           // which input row each held one is; -1: none
  };

  // Two rows of results share their source.
  bool pairs_rows() const {
    return shape_.rows.kernel == 3 && shape_.rows.stride == 1 && shape_.columns.stride == 1 &&
           shape_.out_channels % kChunk == 0;
  }
  // Rows and columns change places where there are few columns and far more rows.
  bool is_turned() const {
    return 4 * shape_.columns.out <= shape_.rows.out && shape_.columns.out <= kNarrow &&
           shape_.rows.stride == 1 && shape_.out_channels % kChunk == 0;
  }
  // The whole source of a chunk is floats at a time.
  bool is_small() const {
    return pairs_rows() && !is_turned() && shape_.columns.out > 1 &&
           (shape_.rows.out + 2) * (shape_.columns.out + 2) * kChunk <= kSmallTile;
  }
  // Other rows of a few pixels are convolved as one long row, with their zeros between them.
  bool is_narrow() const {
    return is_turned() || (!is_small() && shape_.columns.out <= kNarrow &&
                           shape_.columns.stride == 1 && shape_.rows.stride == 1);
  }
  // To `to`, or as `finish` says, or else to floats of the calling thread's, which are returned.
  float* convolve_small(const half_t* from, int chunk, Band rows, float* to,
                        const RegisterFinish* finish) const;
  float* convolve_narrow(const half_t* from, int chunk, Band rows) const;
  float* convolve_turned(const half_t* from, int chunk, Band rows) const;

  ConvShape shape_;
  std::vector<Kernel> kernels_;  // by chunk
};

}  // namespace dvnn::softdv
