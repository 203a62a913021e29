// SPDX-License-Identifier: Apache-2.0
#include "softdv/runs/working_run.h"

#include <algorithm>

#include "softdv/runs/pointwise.h"

namespace dvnn::softdv {
namespace {

// Calls f(band) for bands of `rows` rows, small enough for the second-level cache; `work` is the
// number of values to be touched.
template <typename F>
void for_each_band(int rows, size_t work, Team* team, F f) {
  constexpr size_t kWorthThreads = 1 << 14, kBandValues = 1 << 16;
  const int wanted = std::max(team->size(), static_cast<int>(work / kBandValues));
  const int count = work < kWorthThreads ? 1 : std::min(wanted, rows);
  team->run(count, [&](int i) { f(band_of(rows, i, count)); });
}

float* row(float* tensor, const WorkingShape& shape, int r) {
  return tensor + static_cast<size_t>(r) * shape.row();
}

size_t floats(const WorkingShape& shape, Band band) {
  return static_cast<size_t>(band.last - band.first) * shape.row();
}

// Two buffers of the calling thread.
float* thread_source(size_t count) {
  static thread_local AlignedFloats buffer;
  return buffer.room(count);
}
float* thread_result(size_t count) {
  static thread_local AlignedFloats buffer;
  return buffer.room(count);
}

}  // namespace

void WorkingRun::execute(const half_t* from, const half_t* operand, half_t* to,
                         Scratch* scratch) const {
  const WorkingShape before = working_shape(run.conv, hwc), after = working_shape(run.out, hwc);
  const Reduction reduction(run, hwc);
  const half_t* const early = reduction.follows_addition() ? operand : nullptr;
  const half_t* const late = reduction.follows_addition() ? nullptr : operand;
  auto finish = [&](Band band, float* rows) {
    if (late) add_rows(late, after, band, rows);
    if (activates) {
      activate(run.run.activation, run.run.activation_param,
               kernel ? kernel->slopes().data() : nullptr, run.absolute, after, band, rows);
    }
    store_rows(rows, after, band, to);
  };
  auto result_rows = [&](Band band) { return thread_result(floats(after, band)); };
  if (!kernel) {
    for_each_band(after.rows, before.size(), &scratch->team, [&](Band band) {
      const Band reached = reduction.input_rows(before, band);
      float* const rows = thread_source(floats(before, reached));
      load_rows(from, before, reached, rows);
      if (early) add_rows(early, before, reached, rows);
      float* const made = result_rows(band);
      reduction.apply({rows, reached.first}, before, made, after, band);
      finish(band, made);
    });
    return;
  }
  if (!reduction.on()) return convolve(from, scratch, result_rows, finish);
  float* const data = scratch->conv.room(before.size());
  convolve(
      from, scratch, [&](Band band) { return row(data, before, band.first); },
      [&](Band band, float* rows) {
        if (early) add_rows(early, before, band, rows);
      });
  for_each_band(after.rows, before.size(), &scratch->team, [&](Band band) {
    float* const made = result_rows(band);
    reduction.apply({data, 0}, before, made, after, band);
    finish(band, made);
  });
}

// The source of a deconvolution with zeros between its samples.
const float* WorkingRun::spread(const half_t* from, Scratch* scratch) const {
  const WorkingShape in = working_shape(run.in, hwc), source = kernel->source();
  const device::Extent& stride = run.run.stride;
  float* const whole = scratch->input.room(source.size());
  for_each_band(in.rows, source.size(), &scratch->team, [&](Band band) {
    spread_rows(from, in, band, hwc ? stride.y : stride.x, hwc ? stride.x : stride.y, whole);
  });
  return whole;
}

// Convolves band by band, to the rows that rows_of(band) returns, and calls then(band, rows) after
// each, on the same thread.
template <typename Rows, typename Then>
void WorkingRun::convolve(const half_t* from, Scratch* scratch, Rows rows_of, Then then) const {
  const WorkingShape& source = kernel->source();
  const float* const whole = device::is_deconv(run.run.conv) ? spread(from, scratch) : nullptr;
  scratch->team.run(static_cast<int>(kernel->bands().size()), [&](int k) {
    const size_t index = static_cast<size_t>(k);
    const Band reads = kernel->source_bands()[index], makes = kernel->bands()[index];
    float* const made = rows_of(makes);
    if (whole) {
      kernel->execute(index, whole + static_cast<size_t>(reads.first) * source.row(), made);
    } else {
      float* const rows = thread_source(floats(source, reads));
      load_rows(from, working_shape(run.in, hwc), reads, rows);
      kernel->execute(index, rows, made);
    }
    then(makes, made);
  });
}

}  // namespace dvnn::softdv
