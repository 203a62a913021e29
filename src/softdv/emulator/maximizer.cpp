// SPDX-License-Identifier: Apache-2.0
// The maximizer: for every pixel, the number of its largest channel.
#include "softdv/emulator/checks.h"
#include "tensor/half.h"

namespace dvnn::softdv {
namespace {

constexpr uint32_t kMaxPixels = 1u << 24;

class MaximizerPlan final : public Plan {
 public:
  MaximizerPlan(const Bytes& input, const Bytes& output, size_t pixels, size_t classes)
      : input_(input), output_(output), pixels_(pixels), classes_(classes) {}
  bool prepare() override { return aligned(input_, "input_buf") && aligned(output_, "output_buf"); }

  // Chunks of 8 classes come one after the other; within one, pixels lie as the output has them.
  // Only a strictly greater value wins, so the lowest of equal classes does, and no NaN.
  void execute(Scratch* scratch) override {
    const auto* from = reinterpret_cast<const half_t*>(input_.data());
    uint8_t* to = output_.data();
    float* best = scratch->result.room(pixels_);
    for (size_t c0 = 0; c0 < classes_; c0 += 8) {
      const size_t count = classes_ - c0 < 8 ? classes_ - c0 : 8;
      for (size_t i = 0; i < pixels_; ++i, from += count) {
        if (c0 == 0) {
          best[i] = half_to_float(from[0]);
          to[i] = 0;
        }
        for (size_t k = c0 == 0 ? 1 : 0; k < count; ++k) {
          const float value = half_to_float(from[k]);
          if (!(value > best[i])) continue;
          best[i] = value;
          to[i] = static_cast<uint8_t>(c0 + k);
        }
      }
    }
  }

 private:
  Bytes input_, output_;
  size_t pixels_, classes_;
};

}  // namespace

int accept_maximizer(const dmp_dv_cmdraw* raw, Accepted* accepted) {
  const auto& cmd = *reinterpret_cast<const dmp_dv_cmdraw_maximizer_v0*>(raw);
  if (raw->size != sizeof cmd) return refuse("header.size", raw->size);
  const uint32_t pixels = uint32_t{cmd.width} * cmd.height;
  if (pixels == 0) return refuse("width and height must be positive", 0);
  if (pixels >= kMaxPixels) return refuse("width * height must be below 2^24", pixels);
  if (cmd.nclass < 2) return refuse("nclass must be at least 2", cmd.nclass);
  Bytes input, output;
  if (const int rc = check_buffer(cmd.input_buf, uint64_t{pixels} * cmd.nclass * sizeof(half_t), 2,
                                  "input_buf", &input)) {
    return rc;
  }
  if (const int rc = check_buffer(cmd.output_buf, pixels, 2, "output_buf", &output)) return rc;
  accepted->plan = std::make_unique<MaximizerPlan>(input, output, pixels, cmd.nclass);
  accepted->memories = {input.mem, output.mem};
  return 0;
}

}  // namespace dvnn::softdv
