// SPDX-License-Identifier: Apache-2.0
// Runs a convolution command: every run reads binary16, computes in float and rounds once.
#include <algorithm>

#include "softdv/chunk_run.h"
#include "softdv/conv_command.h"
#include "softdv/conv_kernel.h"
#include "softdv/pointwise.h"

namespace dvnn::softdv {
namespace {

using device::Activation;
using device::Dims;
using device::PoolKind;

size_t elements(Dims d) {
  return static_cast<size_t>(d.w) * static_cast<size_t>(d.h) * static_cast<size_t>(d.c);
}

half_t* room(std::vector<half_t>* buffer, size_t count) {
  if (buffer->size() < count) buffer->resize(count);
  return buffer->data();
}

const half_t* copy(const half_t* from, size_t count, std::vector<half_t>* to) {
  half_t* made = room(to, count);
  std::copy(from, from + count, made);
  return made;
}

bool overlap(const Bytes& a, const Bytes& b) {
  return a.mem == b.mem && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

constexpr size_t kPictureChannels = 3;  // of 8-bit input

class ConvPlan final : public Plan {
 public:
  explicit ConvPlan(SoftCommand command) : command_(std::move(command)) {
    kernels_.resize(command_.runs.size());
    prepared_.resize(command_.runs.size());
  }

  bool prepare() override {
    // The kernel driver wants room for binary16 even where the input is bytes.
    const uint64_t room = elements(command_.in) * sizeof(half_t);
    if (command_.input.mem->size - command_.input.offset < room) {
      set_error("Insufficient space detected in the provided buffer: input_buf needs %llu bytes",
                static_cast<unsigned long long>(room));
      return false;
    }
    if (!aligned(command_.table, "u8tofp16_table")) return false;
    for (size_t i = 0; i < command_.runs.size(); ++i) {
      if (!aligned(command_.runs[i].weights, "weight_buf")) return false;
      if (command_.runs[i].weights.mem && !prepare_run(i)) return false;
    }
    return true;
  }

  /// Later commands of a list often read just what an earlier one wrote: they then get the rounded
  /// floats and need not convert them back. Memory looks as if they had not.
  static void share_results(Span<ConvPlan* const> plans);

  double estimate_us(const device::Hardware& hardware) const override {
    device::ConvCommand command;
    command.w = command_.in.w;
    command.h = command_.in.h;
    command.c = command_.in.c;
    command.eltwise_add = command_.eltwise_add;
    command.topo = 0;
    for (size_t i = 0; i < command_.runs.size(); ++i) {
      command.topo |= static_cast<uint32_t>(command_.runs[i].external) << i;
      command.runs.push_back(command_.runs[i].run);
    }
    return command_.batch * device::estimate(command, hardware).microseconds;
  }

  void execute(Scratch* scratch) override {
    for (size_t i = 0; i < command_.runs.size(); ++i) refresh(i);
    const size_t in = elements(command_.in);
    const size_t batch = static_cast<size_t>(command_.batch);
    const size_t out = command_.output.size / sizeof(half_t) / batch;
    const size_t operand = command_.eltwise.size / sizeof(half_t) / batch;
    for (size_t n = 0; n < batch; ++n) {
      const half_t* input =
          command_.table.mem ? look_up(n * in, scratch) : halves(command_.input) + n * in;
      const half_t* addend =
          command_.eltwise_add ? halves(command_.eltwise) + n * operand : nullptr;
      // Bands of the output are written while others of the input have yet to be read.
      if (!command_.table.mem && overlap(command_.input, command_.output)) {
        input = copy(input, in, &scratch->snapshot);
      }
      if (addend && overlap(command_.eltwise, command_.output)) {
        addend = copy(addend, operand, &scratch->operand);
      }
      execute_sample(input, halves(command_.output) + n * out, addend, scratch);
    }
  }

 private:
  struct Prepared {
    uint64_t writes = 0, hash = 0;
  };

  bool is_single() const { return command_.runs.size() == 1 && command_.batch == 1; }
  bool works_in_chunks() const { return kernels_[0] && kernels_[0]->works_in_chunks(); }
  bool reads_result_of(const ConvPlan& writer) const;
  bool overwrites_input_of(const ConvPlan& reader) const;

  static half_t* halves(const Bytes& bytes) { return reinterpret_cast<half_t*>(bytes.data()); }

  // The bytes from `start` on as binary16, in the snapshot.
  const half_t* look_up(size_t start, Scratch* scratch) {
    const size_t pixels = elements(command_.in) / kPictureChannels;
    const uint8_t* from = command_.input.data() + start;
    const half_t* table = halves(command_.table);
    half_t* to = room(&scratch->snapshot, elements(command_.in));
    for (size_t i = 0; i < pixels; ++i) {
      for (size_t k = 0; k < kPictureChannels; ++k) {
        const size_t source = command_.to_bgr ? kPictureChannels - 1 - k : k;
        to[i * kPictureChannels + k] = table[k * 256 + from[i * kPictureChannels + source]];
      }
    }
    return to;
  }

  bool prepare_run(size_t i) {
    const SoftRun& run = command_.runs[i];
    prepared_[i] = {run.weights.mem->writes, weights_hash(run.weights)};
    auto kernel = ConvKernel::get(run, command_.hwc, fuses_relu(run),
                                  ChunkRun::suits(Reduction(run, command_.hwc)));
    if (!kernel) return false;
    kernels_[i] = std::move(kernel);
    return true;
  }

  // ReLU may come before a maximum pooling as it never changes which value is the largest; but not
  // before an addition.
  bool fuses_relu(const SoftRun& run) const {
    return run.run.activation == Activation::kRelu && run.run.activation_param >= 0 &&
           !command_.eltwise_add;
  }

  // Weights count at execution: prepare anew if they have changed since.
  void refresh(size_t i) {
    const Bytes& weights = command_.runs[i].weights;
    if (!weights.mem) return;
    if (!weights.mem->mapped && weights.mem->writes == prepared_[i].writes) return;
    if (weights_hash(weights) != prepared_[i].hash) {
      prepare_run(i);
    } else {
      prepared_[i].writes = weights.mem->writes;
    }
  }

  void execute_sample(const half_t* input, half_t* output, const half_t* operand,
                      Scratch* scratch) {
    const half_t* at = input;
    for (size_t i = 0; i < command_.runs.size(); ++i) {
      const SoftRun& run = command_.runs[i];
      const size_t count = elements(run.out);
      half_t* to = run.external ? output : room(&scratch->unified[i & 1], count);
      execute_run(i, at, to, run.external ? operand : nullptr, scratch);
      if (run.external) {
        output += count;
        if (operand) {
          operand += elements(run.run.pool == PoolKind::kAverage ? run.out : run.conv);
        }
      }
      at = run.external ? input : to;
    }
  }

  WorkingShape working(Dims d) const { return working_shape(d, command_.hwc); }

  // Calls f(band) for bands of `rows` rows, small enough for the second-level cache; `work` is the
  // number of values to be touched.
  template <typename F>
  static void for_each_band(int rows, size_t work, Scratch* scratch, F f) {
    constexpr size_t kWorthThreads = 1 << 14, kBandValues = 1 << 16;
    const int wanted = std::max(scratch->team.size(), static_cast<int>(work / kBandValues));
    const int count = work < kWorthThreads ? 1 : std::min(wanted, rows);
    scratch->team.run(count, [&](int i) { f(band_of(rows, i, count)); });
  }

  static float* row(float* tensor, const WorkingShape& shape, int r) {
    return tensor + static_cast<size_t>(r) * shape.row();
  }

  void execute_run(size_t i, const half_t* from, half_t* to, const half_t* operand,
                   Scratch* scratch) {
    const SoftRun& run = command_.runs[i];
    const ConvKernel* kernel = kernels_[i].get();
    const bool chunks =
        kernel ? kernel->works_in_chunks() : ChunkRun::suits(Reduction(run, command_.hwc));
    if (chunks) {
      return ChunkRun{run, kernel, command_.hwc}.execute(from, operand, to, &scratch->team);
    }
    const WorkingShape before = working(run.conv), after = working(run.out);
    const Reduction reduction(run, command_.hwc);
    const bool reduced = reduction.on();
    // An addition before a pooling has the size of the pooling's input.
    const bool adds_first = reduction.follows_addition();
    const half_t* addend = adds_first ? operand : nullptr;
    float* shared = keeps_ < 0 ? nullptr : scratch->shared(keeps_).room(after.size());
    // Rows of the result as floats: where later commands read them, else in the thread's cache.
    auto result_rows = [&](Band band) {
      return shared ? row(shared, after, band.first)
                    : thread_result(static_cast<size_t>(band.last - band.first) * after.row());
    };

    auto finish = [&](Band band, float* rows) {
      if (operand && !adds_first) add_rows(operand, after, band, rows);
      if (!(kernel && fuses_relu(run))) {
        activate(run.run.activation, run.run.activation_param,
                 kernel ? kernel->slopes().data() : nullptr, run.absolute, after, band, rows);
      }
      store_rows(rows, after, band, shared != nullptr, to);
    };
    if (kernel) {
      if (!reduced) return convolve(run, *kernel, from, scratch, result_rows, finish);
      float* data = scratch->conv.room(before.size());
      convolve(
          run, *kernel, from, scratch, [&](Band band) { return row(data, before, band.first); },
          [&](Band band, float* rows) {
            if (addend) add_rows(addend, before, band, rows);
          });
      for_each_band(after.rows, before.size(), scratch, [&](Band band) {
        float* rows = result_rows(band);
        reduction.apply({data, 0}, before, rows, after, band);
        finish(band, rows);
      });
      return;
    }
    for_each_band(after.rows, before.size(), scratch, [&](Band band) {
      float* made = result_rows(band);
      if (!reduced) {
        load_rows(from, before, band, made);
        return finish(band, made);
      }
      const Band reached = reduction.input_rows(before, band);
      float* rows = thread_rows(static_cast<size_t>(reached.last - reached.first) * before.row());
      load_rows(from, before, reached, rows);
      if (addend) add_rows(addend, before, reached, rows);
      reduction.apply({rows, reached.first}, before, made, after, band);
      finish(band, made);
    });
  }

  // Convolves band by band, to the rows that rows_of(band) returns, and calls then(band, rows)
  // after each, on the same thread.
  template <typename Rows, typename Then>
  void convolve(const SoftRun& run, const ConvKernel& kernel, const half_t* from, Scratch* scratch,
                Rows rows_of, Then then) const {
    const WorkingShape in = working(run.in), source = kernel.source();
    float* whole = takes_ >= 0 ? scratch->shared(takes_).data() : nullptr;
    if (device::is_deconv(run.run.conv)) {  // spread out first
      whole = scratch->input.room(source.size());
      const device::Extent& stride = run.run.stride;
      for_each_band(in.rows, source.size(), scratch, [&](Band band) {
        spread_rows(from, in, band, command_.hwc ? stride.y : stride.x,
                    command_.hwc ? stride.x : stride.y, whole);
      });
    }
    if (!kernel.parts().empty()) {
      if (!whole) {
        whole = scratch->input.room(source.size());
        for_each_band(source.rows, source.size(), scratch, [&](Band band) {
          load_rows(from, in, band, row(whole, source, band.first));
        });
      }
      return convolve_parts(kernel, whole, scratch, rows_of, then);
    }
    scratch->team.run(static_cast<int>(kernel.bands().size()), [&](int k) {
      const size_t index = static_cast<size_t>(k);
      const Band reads = kernel.source_bands()[index], makes = kernel.bands()[index];
      float* rows = nullptr;
      if (whole) {
        rows = row(whole, source, reads.first);
      } else {
        rows = thread_rows(static_cast<size_t>(reads.last - reads.first) * source.row());
        load_rows(from, in, reads, rows);
      }
      float* const made = rows_of(makes);
      kernel.execute(index, rows, made);
      then(makes, made);
    });
  }

  // The same by parts of the result's channels, which are put together afterwards.
  template <typename Rows, typename Then>
  static void convolve_parts(const ConvKernel& kernel, const float* source, Scratch* scratch,
                             Rows rows_of, Then then) {
    const WorkingShape& result = kernel.result();
    const std::vector<ConvKernel::Part>& parts = kernel.parts();
    float* const made = scratch->parts.room(result.size());
    auto start = [&](const ConvKernel::Part& part) {
      return made + static_cast<size_t>(part.first) * result.pixels();
    };
    scratch->team.run(static_cast<int>(parts.size()), [&](int i) {
      const auto index = static_cast<size_t>(i);
      kernel.execute_part(index, source, start(parts[index]));
    });
    for_each_band(result.rows, result.size(), scratch, [&](Band band) {
      float* const rows = rows_of(band);
      const size_t columns = static_cast<size_t>(result.cols);
      const size_t before = static_cast<size_t>(band.first) * columns;
      const size_t pixels = static_cast<size_t>(band.last - band.first) * columns;
      for (const ConvKernel::Part& part : parts) {
        const size_t count = static_cast<size_t>(part.count);
        const float* from = start(part) + before * count;
        float* to = rows + part.first;
        for (size_t i = 0; i < pixels; ++i, from += count, to += result.channels) {
          std::copy(from, from + count, to);
        }
      }
      then(band, rows);
    });
  }

  // A buffer of the calling thread, of at least `count` floats.
  static float* thread_rows(size_t count) {
    static thread_local AlignedFloats buffer;
    return buffer.room(count);
  }

  // Another one.
  static float* thread_result(size_t count) {
    static thread_local AlignedFloats buffer;
    return buffer.room(count);
  }

  SoftCommand command_;
  std::vector<std::shared_ptr<ConvKernel>> kernels_;
  std::vector<Prepared> prepared_;
  // Indices of Scratch::shared(), -1: none. Where the result is left; where the input is found.
  int keeps_ = -1, takes_ = -1;
};

bool ConvPlan::overwrites_input_of(const ConvPlan& reader) const {
  return overlap(command_.output, reader.command_.input);
}

bool ConvPlan::reads_result_of(const ConvPlan& writer) const {
  if (!is_single() || !writer.is_single() || command_.table.mem || !kernels_[0]) return false;
  if (works_in_chunks() || writer.works_in_chunks()) return false;  // no floats
  if (device::is_deconv(command_.runs[0].run.conv)) return false;   // is spread out first
  const Dims a = writer.command_.runs[0].out, b = command_.in;
  return writer.command_.output.offset == command_.input.offset && a.w == b.w && a.h == b.h &&
         a.c == b.c && writer.command_.hwc == command_.hwc;
}

void ConvPlan::share_results(Span<ConvPlan* const> plans) {
  std::vector<size_t> last_reader(plans.size(), 0);  // by writer; 0: none, the first has no writer
  std::vector<size_t> writer_of(plans.size(), plans.size());
  for (size_t i = 1; i < plans.size(); ++i) {
    size_t writer = i;  // the last one before i that touches its input
    while (writer > 0 && !plans[writer - 1]->overwrites_input_of(*plans[i])) --writer;
    if (writer == 0 || !plans[i]->reads_result_of(*plans[writer - 1])) continue;
    writer_of[i] = writer - 1;
    last_reader[writer - 1] = i;
  }
  std::vector<size_t> busy_until;  // by buffer: the last reader of its contents
  for (size_t i = 0; i < plans.size(); ++i) {
    if (writer_of[i] < i) plans[i]->takes_ = plans[writer_of[i]]->keeps_;
    if (last_reader[i] == 0) continue;
    // A buffer that this very command reads is not free yet.
    const auto free =
        std::find_if(busy_until.begin(), busy_until.end(), [&](size_t last) { return last < i; });
    plans[i]->keeps_ = static_cast<int>(free - busy_until.begin());
    if (free == busy_until.end()) {
      busy_until.push_back(last_reader[i]);
    } else {
      *free = last_reader[i];
    }
  }
}

}  // namespace

std::unique_ptr<Plan> make_conv_plan(SoftCommand command) {
  return std::make_unique<ConvPlan>(std::move(command));
}

void share_conv_results(Span<const std::unique_ptr<Plan>> plans) {
  std::vector<ConvPlan*> all;
  for (const auto& plan : plans) all.push_back(static_cast<ConvPlan*>(plan.get()));
  ConvPlan::share_results(all);
}

}  // namespace dvnn::softdv
