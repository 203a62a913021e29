// SPDX-License-Identifier: Apache-2.0
// Runs a convolution command: every run reads binary16, computes in float and rounds once.
#include <cstring>

#include "softdv/conv_command.h"
#include "softdv/conv_kernel.h"
#include "softdv/parallel.h"
#include "softdv/pointwise.h"

namespace dvnn::softdv {
namespace {

using device::Activation;
using device::ConvKind;
using device::Dims;
using device::PoolKind;

size_t elements(Dims d) {
  return static_cast<size_t>(d.w) * static_cast<size_t>(d.h) * static_cast<size_t>(d.c);
}

template <typename T>
T* room(std::vector<T>* buffer, size_t count) {
  if (buffer->size() < count) buffer->resize(count);
  return buffer->data();
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

  // The next command often reads just what this one wrote: it then gets the rounded floats and need
  // not convert them back.
  void hand_over_to(Plan* next) override {
    auto* reader = dynamic_cast<ConvPlan*>(next);
    if (!reader || !is_single() || !reader->is_single() || reader->command_.table.mem) return;
    const Bytes &ours = command_.output, &theirs = reader->command_.input;
    const SoftRun &from = command_.runs[0], &to = reader->command_.runs[0];
    const Dims a = from.out, b = to.in;
    if (ours.mem != theirs.mem || ours.offset != theirs.offset ||
        command_.y_major != reader->command_.y_major || a.w != b.w || a.h != b.h || a.c != b.c) {
      return;
    }
    const bool deconv = static_cast<int>(to.run.conv) & 4;
    const int lanes = result_lanes(0);
    if (deconv || lanes != reader->source_lanes(0) || a.c % lanes != 0) return;
    keeps_ = reader->takes_ = true;
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
      execute_sample(input, halves(command_.output) + n * out,
                     command_.eltwise_add ? halves(command_.eltwise) + n * operand : nullptr,
                     scratch);
    }
  }

 private:
  struct Prepared {
    uint64_t writes = 0, hash = 0;
  };

  bool is_single() const { return command_.runs.size() == 1 && command_.batch == 1; }

  int result_lanes(size_t i) const {
    const SoftRun& run = command_.runs[i];
    return kernels_[i] ? kernels_[i]->result().lanes : (run.lrn & 1) ? run.in.c : 8;
  }
  int source_lanes(size_t i) const {
    return kernels_[i] ? kernels_[i]->source().lanes : result_lanes(i);
  }

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
    kernels_[i] = ConvKernel::get(run, command_.y_major, fuses_relu(run));
    return kernels_[i] != nullptr;
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
    const half_t* command_input = input;
    if (command_.runs.size() > 1 &&
        !command_.table.mem) {  // later runs read it again, after the output was written
      half_t* copy = room(&scratch->snapshot, elements(command_.in));
      std::memcpy(copy, input, elements(command_.in) * sizeof(half_t));
      command_input = copy;
    }
    const half_t* at = command_input;
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
      at = run.external ? command_input : to;
    }
  }

  WorkingShape working(Dims d, int lanes) const {
    return command_.y_major ? WorkingShape{d.h, d.w, d.c, lanes}
                            : WorkingShape{d.w, d.h, d.c, lanes};
  }

  PoolWindow window(const device::ConvRun& run) const {
    const auto &size = run.pool_size, &stride = run.pool_stride;
    if (command_.y_major) {
      return {size.y, size.x, stride.y, stride.x, run.pool_pad.top, run.pool_pad.left};
    }
    return {size.x, size.y, stride.x, stride.y, run.pool_pad.left, run.pool_pad.top};
  }

  void execute_run(size_t i, const half_t* from, half_t* to, const half_t* operand,
                   Scratch* scratch) {
    const SoftRun& run = command_.runs[i];
    const ConvKernel* kernel = kernels_[i].get();
    const bool pooled = run.run.pool != PoolKind::kNone;
    const bool add_after_pool = run.run.pool == PoolKind::kAverage;
    const int lanes = result_lanes(i);
    const WorkingShape before = working(run.conv, lanes), after = working(run.out, lanes);

    std::vector<float>* holder = &scratch->conv;
    float* data = nullptr;
    if (kernel) {
      const float* source = takes_ ? scratch->carried.data() : load(from, run, *kernel, scratch);
      data = room(holder, before.size());
      kernel->execute(source, data);
    } else if (takes_) {
      holder = &scratch->carried;
      data = holder->data();
    } else {
      data = room(holder, before.size());
      load_working(from, before, data, 1, 1);
    }
    if (operand && !add_after_pool) add(operand, before, data, scratch);
    if (pooled || (run.lrn & 1)) {
      float* result = room(&scratch->result, after.size());
      if (run.run.pool == PoolKind::kMax) max_pool(data, before, window(run.run), result, after);
      if (run.run.pool == PoolKind::kAverage) {
        average_pool(data, before, window(run.run), run.run.pool_scale, result, after);
      }
      if (run.run.pool == PoolKind::kUpsample) upsample(data, before, result, after);
      if (run.lrn & 1) lrn(data, before, run.lrn >> 8 & 0xf, result);
      data = result;
      holder = &scratch->result;
    }
    if (operand && add_after_pool) add(operand, after, data, scratch);
    if (!(kernel && fuses_relu(run))) {
      activate(run.run.activation, run.run.activation_param,
               kernel ? kernel->slopes().data() : nullptr, run.absolute, after, data);
    }
    store_working(data, after, keeps_, to);
    if (keeps_) std::swap(*holder, scratch->carried);
  }

  // The run's input as the kernel wants it.
  const float* load(const half_t* from, const SoftRun& run, const ConvKernel& kernel,
                    Scratch* scratch) const {
    const bool deconv = static_cast<int>(run.run.conv) & 4;
    const device::Extent stride = deconv ? run.run.stride : device::Extent{1, 1};
    float* source = room(&scratch->input, kernel.source().size());
    load_working(from, working(run.in, kernel.source().lanes), source,
                 command_.y_major ? stride.y : stride.x, command_.y_major ? stride.x : stride.y);
    return source;
  }

  static void add(const half_t* operand, const WorkingShape& shape, float* data, Scratch* scratch) {
    float* addend = room(&scratch->input, shape.size());  // the convolution is done with it
    load_working(operand, shape, addend, 1, 1);
    parallel_for(shape.groups() * shape.rows, shape.size(), [&](int row) {
      const size_t count = shape.size() / static_cast<size_t>(shape.groups() * shape.rows);
      const size_t start = static_cast<size_t>(row) * count;
      for (size_t k = start; k < start + count; ++k) data[k] += addend[k];
    });
  }

  SoftCommand command_;
  std::vector<std::shared_ptr<ConvKernel>> kernels_;
  std::vector<Prepared> prepared_;
  bool keeps_ = false,
       takes_ = false;  // leaves its result in Scratch::carried; finds its input there
};

}  // namespace

std::unique_ptr<Plan> make_conv_plan(SoftCommand command) {
  return std::make_unique<ConvPlan>(std::move(command));
}

}  // namespace dvnn::softdv
