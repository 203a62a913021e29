// SPDX-License-Identifier: Apache-2.0
// Runs a convolution command: every run reads binary16, computes in float and rounds once.
#include <algorithm>
#include <cerrno>

#include "base/grid.h"
#include "softdv/emulator/conv_command.h"
#include "softdv/engine/runs/chunk_run.h"

namespace dvnn::softdv {
namespace {

using device::Dims;
using device::PoolKind;

size_t elements(Dims d) {
  return grid_size(d.w, d.h) * static_cast<size_t>(d.c);
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

constexpr size_t kPictureChannels = 3;  // of 8-bit input

class ConvPlan final : public Plan {
 public:
  explicit ConvPlan(SoftCommand command) : command_(std::move(command)) {
    kernels_.resize(command_.runs.size());
    prepared_.resize(command_.runs.size());
  }

  bool prepare() override {
    // The kernel driver demands room for binary16 even if the input is bytes.
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

  int follow(const dvnn_soft_chain& chain, std::vector<dmp_dv_mem>* memories) override {
    memories->reserve(Chain::kMostValues + 1);  // nothing may fail once there is a chain
    if (const int rc = decode_chain(chain, command_, &chain_)) return rc;
    memories->push_back(chain_.result.mem);
    for (const Bytes& tensor : chain_.tensors) memories->push_back(tensor.mem);
    return 0;
  }

  void add_written(std::vector<dmp_dv_mem>* memories) const override {
    memories->push_back(command_.output.mem);
    if (chain_.chain) memories->push_back(chain_.result.mem);
  }

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
    const size_t lane = scratch->lane;
    if (chain_.chain) place_chain(lane);
    for (size_t n = 0; n < batch; ++n) {
      const half_t* input =
          command_.table.mem ? look_up(n * in, scratch) : halves(command_.input, lane) + n * in;
      const half_t* addend =
          command_.eltwise_add ? halves(command_.eltwise, lane) + n * operand : nullptr;
      // The first bands of the output are written before the last rows of the input are read.
      if (!command_.table.mem && overwrites(command_.input)) {
        input = copy(input, in, &scratch->snapshot);
      }
      if (addend && overwrites(command_.eltwise)) {
        addend = copy(addend, operand, &scratch->operand);
      }
      execute_sample(input, n * out, addend, scratch);
    }
  }

 private:
  struct Prepared {
    uint64_t writes = 0, hash = 0;
  };

  // Returns whether one of the results overlaps `bytes`.
  bool overwrites(const Bytes& bytes) const {
    return overlap(bytes, command_.output) || (chain_.chain && overlap(bytes, chain_.result));
  }

  static half_t* halves(const Bytes& bytes, size_t lane) {
    return reinterpret_cast<half_t*>(bytes.data(lane));
  }

  void place_chain(size_t lane) {
    places_.clear();
    for (const Bytes& tensor : chain_.tensors) places_.push_back(halves(tensor, lane));
    chain_.chain->place(places_, halves(chain_.result, lane));
  }

  // Converts the bytes from `start` on to binary16 by the table, in the snapshot.
  const half_t* look_up(size_t start, Scratch* scratch) {
    constexpr size_t kLeast = 1 << 12;  // pixels of a piece that is worth its overhead
    const device::Dims in = command_.in;
    const uint8_t* from = command_.input.data(scratch->lane) + start;
    const half_t* table = halves(command_.table, scratch->lane);
    half_t* to = room(&scratch->snapshot, elements(in));
    const auto most = static_cast<int>(grid_size(in.w, in.h) / kLeast);
    const int pieces = std::clamp(most, 1, scratch->team.size());
    scratch->team.run(pieces, [&](int piece) {
      const Band rows = band_of(in.h, piece, pieces);
      for (size_t i = grid_size(in.w, rows.first); i < grid_size(in.w, rows.last); ++i) {
        for (size_t k = 0; k < kPictureChannels; ++k) {
          const size_t source = command_.to_bgr ? kPictureChannels - 1 - k : k;
          to[i * kPictureChannels + k] = table[k * 256 + from[i * kPictureChannels + source]];
        }
      }
    });
    return to;
  }

  bool prepare_run(size_t i) {
    const SoftRun& run = command_.runs[i];
    prepared_[i] = {run.weights.mem->writes, weights_hash(run.weights.span())};
    auto kernel = ConvKernel::get(run, run.weights.span(), command_.hwc);
    if (!kernel) {
      set_error("there is no memory to prepare the convolution");
      return false;
    }
    kernels_[i] = std::move(kernel);
    return true;
  }

  // Weights are read at execution, as on hardware: prepares them anew if they have changed.
  void refresh(size_t i) {
    const Bytes& weights = command_.runs[i].weights;
    if (!weights.mem) return;
    if (!weights.mem->mapped && weights.mem->writes == prepared_[i].writes) return;
    if (weights_hash(weights.span()) != prepared_[i].hash) {
      prepare_run(i);
    } else {
      prepared_[i].writes = weights.mem->writes;
    }
  }

  // `sample`: elements of the output before this sample.
  void execute_sample(const half_t* input, size_t sample, const half_t* operand, Scratch* scratch) {
    half_t* output = halves(command_.output, scratch->lane) + sample;
    const half_t* at = input;
    for (size_t i = 0; i < command_.runs.size(); ++i) {
      const SoftRun& run = command_.runs[i];
      const size_t count = elements(run.out);
      half_t* to = run.external ? output : room(&scratch->unified[i & 1], count);
      const ChunkRun chunks = {run, kernels_[i].get(), command_.hwc,
                               run.external ? chain_.chain.get() : nullptr, sample};
      chunks.execute(at, run.external ? operand : nullptr, to, &scratch->team);
      if (run.external) {
        output += count;
        if (operand) {
          operand += elements(run.run.pool == PoolKind::kAverage ? run.out : run.conv);
        }
      }
      at = run.external ? input : to;
    }
  }

  SoftCommand command_;
  SoftChain chain_;
  std::vector<const half_t*> places_;  // of its tensors, on the lane that runs
  std::vector<std::shared_ptr<ConvKernel>> kernels_;
  std::vector<Prepared> prepared_;
};

}  // namespace

int Plan::follow(const dvnn_soft_chain&, std::vector<dmp_dv_mem>*) {
  set_error("A chain can follow commands of the convolution block alone");
  return ENOTSUP;
}

std::unique_ptr<Plan> make_conv_plan(SoftCommand command) {
  return std::make_unique<ConvPlan>(std::move(command));
}

}  // namespace dvnn::softdv
