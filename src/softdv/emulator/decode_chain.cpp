// SPDX-License-Identifier: Apache-2.0
// Reads a chain (device/soft_extension.h) into a Chain: callers' numbers and sizes are checked.
#include <cerrno>
#include <utility>

#include "softdv/emulator/conv_command.h"

namespace dvnn::softdv {
namespace {

using kernels::Curve;
using kernels::Operation;

int refuse_chain(const char* what, int64_t value) {
  refuse(what, value);
  return EINVAL;
}

int decode_operand(const dvnn_soft_operand& raw, const SoftCommand& command, SoftChain* chain,
                   Chain::Operand* out) {
  const int channels = command.runs.back().out.c;
  switch (raw.kind) {
    case DVNN_SOFT_SUMS:
      return 0;
    case DVNN_SOFT_TENSOR: {
      Bytes bytes;
      if (const int rc = check_buffer(raw.tensor, command.output.size, 2, "tensor", &bytes)) {
        return rc;
      }
      if (overlap(bytes, chain->result) || overlap(bytes, command.output)) {
        return refuse_chain("a tensor of the chain lies where results do, offs",
                            static_cast<int64_t>(bytes.offset));
      }
      chain->tensors.push_back(bytes);
      out->kind = Chain::Kind::kTensor;
      return 0;
    }
    case DVNN_SOFT_VALUES:
      if (!raw.values || (raw.count != 1 && raw.count != channels)) {
        return refuse_chain("values must be one, or one for each channel, count", raw.count);
      }
      out->kind = raw.count == 1 ? Chain::Kind::kSingle : Chain::Kind::kChannels;
      out->values.assign(raw.values, raw.values + raw.count);
      return 0;
    default:
      return refuse_chain("no kind of operand has the number", raw.kind);
  }
}

// `before`: number of values that the step may read.
int decode_step(const dvnn_soft_step& raw, size_t before, Chain::Step* out) {
  const auto most =
      raw.combines ? static_cast<int32_t>(Operation::kSub) : static_cast<int32_t>(Curve::kTanh);
  if (raw.function < 0 || raw.function > most) {
    return refuse_chain("no function has the number", raw.function);
  }
  for (const int32_t operand : {raw.x, raw.combines ? raw.y : raw.x}) {
    if (operand < 0 || static_cast<size_t>(operand) >= before) {
      return refuse_chain("a step reads a value that is not there", operand);
    }
  }
  out->combines = raw.combines != 0;
  if (out->combines) {
    out->operation = static_cast<Operation>(raw.function);
    out->y = static_cast<size_t>(raw.y);
  } else {
    out->curve = static_cast<Curve>(raw.function);
  }
  out->a = raw.a;
  out->b = raw.b;
  out->x = static_cast<size_t>(raw.x);
  return 0;
}

int check_chain(const dvnn_soft_chain& raw, const SoftCommand& command) {
  if (raw.size != sizeof raw) return refuse_chain("size of the chain", raw.size);
  if (raw.functions != DVNN_SOFT_FUNCTIONS) {
    return refuse_chain("the caller has other functions, functions", raw.functions);
  }
  constexpr auto kMost = static_cast<int32_t>(Chain::kMostValues);
  if (!raw.operands || !raw.steps || raw.operand_count < 1 || raw.step_count < 1 ||
      raw.operand_count > kMost || raw.step_count > kMost - raw.operand_count) {
    return refuse_chain("operands and steps must be 1..24 together, steps", raw.step_count);
  }
  for (size_t i = 0; i + 1 < command.runs.size(); ++i) {
    if (command.runs[i].external) {
      set_error("A chain follows a command with one result, and this one's are several");
      return ENOTSUP;
    }
  }
  return 0;
}

}  // namespace

int decode_chain(const dvnn_soft_chain& raw, const SoftCommand& command, SoftChain* out) {
  if (out->chain) return refuse_chain("a chain follows the command already, steps", raw.step_count);
  if (const int rc = check_chain(raw, command)) return rc;
  SoftChain made;
  if (const int rc = check_buffer(raw.output, command.output.size, 2, "output", &made.result)) {
    return rc;
  }
  if (raw.keeps_own && overlap(made.result, command.output)) {
    return refuse_chain("both results lie in one place, offs",
                        static_cast<int64_t>(made.result.offset));
  }
  std::vector<Chain::Operand> operands(static_cast<size_t>(raw.operand_count));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const int rc = decode_operand(raw.operands[i], command, &made, &operands[i])) return rc;
  }
  std::vector<Chain::Step> steps(static_cast<size_t>(raw.step_count));
  for (size_t i = 0; i < steps.size(); ++i) {
    if (const int rc = decode_step(raw.steps[i], operands.size() + i, &steps[i])) return rc;
  }
  made.chain = std::make_unique<Chain>(std::move(operands), std::move(steps), raw.keeps_own != 0);
  *out = std::move(made);
  return 0;
}

}  // namespace dvnn::softdv
