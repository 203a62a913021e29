// SPDX-License-Identifier: Apache-2.0
// Seeded random commands with random chains, against a scalar reference (scalar_conv.h) for both in
// doubles: the device rounds only once, at the end.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "check_suite.h"
#include "conv_cases.h"
#include "device/device.h"
#include "device/soft_extension.h"
#include "kernels/arithmetic/elementwise.h"
#include "scalar_conv.h"
#include "tensor/tensor.h"

namespace dvnn::test::chain_sweep_tests {

DVNN_SUITE(softdv_chain_sweep);

using namespace dvnn::device;
using kernels::Curve;
using kernels::Operation;

namespace {

constexpr float kRootHalf = 0.70710678f;

// A chain with the tensors and values that it reads.
struct ChainCase {
  std::vector<dvnn_soft_operand> operands;
  std::vector<std::vector<float>> numbers;  // by operand: NCHW, or by channel, or one
  std::vector<dvnn_soft_step> steps;
};

dvnn_soft_step curve(Curve function, int x, float a = 0, float b = 0) {
  return {0, static_cast<int32_t>(function), a, b, x, 0};
}

dvnn_soft_step operation(Operation function, int x, int y) {
  return {1, static_cast<int32_t>(function), 0, 0, x, y};
}

// Returns a chain that is common after convolutions, on one operand, the sums; add_operands() adds
// others.
std::vector<dvnn_soft_step> common_steps(int kind) {
  switch (kind) {
    case 0:  // SiLU, as frameworks export it
      return {curve(Curve::kSigmoid, 0), operation(Operation::kMul, 0, 1)};
    case 1:
      return {curve(Curve::kSwish, 0, 1.702f)};
    case 2:
      return {curve(Curve::kHardSwish, 0)};
    case 3:  // hard-swish, written out
      return {curve(Curve::kLine, 0, 1, 3), curve(Curve::kClip, 1, 0, 6),
              operation(Operation::kMul, 0, 2), curve(Curve::kLine, 3, 1.0f / 6, 0)};
    case 9:  // hard-swish, with the factor after the clip
      return {curve(Curve::kLine, 0, 1, 3), curve(Curve::kClip, 1, 0, 6),
              curve(Curve::kLine, 2, 1.0f / 6, 0), operation(Operation::kMul, 3, 0)};
    case 10:  // with a negative factor: no gate
      return {curve(Curve::kLine, 0, 1, 3), curve(Curve::kClip, 1, 0, 6),
              operation(Operation::kMul, 0, 2), curve(Curve::kLine, 3, -1.0f / 6, 0)};
    case 11:
      return {curve(Curve::kLine, 0, 0.5f, 1), curve(Curve::kClip, 1, -1, 1.5f),
              operation(Operation::kMul, 2, 0)};
    case 12:  // a product without the operand: no gate
      return {curve(Curve::kLine, 0, 1, 3), curve(Curve::kClip, 1, 0, 6),
              operation(Operation::kMul, 1, 2)};
    case 4:
      return {curve(Curve::kGelu, 0)};
    case 13:  // GELU, written out, with its 1/2 elsewhere
      return {curve(Curve::kLine, 0, kRootHalf), curve(Curve::kErf, 1),
              curve(Curve::kLine, 2, 1, 1), operation(Operation::kMul, 0, 3)};
    case 14:
      return {curve(Curve::kLine, 0, kRootHalf), curve(Curve::kErf, 1),
              curve(Curve::kLine, 2, 1.5f, 1.5f), operation(Operation::kMul, 3, 0),
              curve(Curve::kLine, 4, -0.5f)};
    case 15:  // of another width: no GELU
      return {curve(Curve::kLine, 0, 0.5f), curve(Curve::kErf, 1), curve(Curve::kLine, 2, 1, 1),
              operation(Operation::kMul, 0, 3)};
    case 5:
      return {curve(Curve::kGeluTanh, 0)};
    case 6:
      return {curve(Curve::kTanh, 0), curve(Curve::kAbs, 1)};
    case 7:
      return {curve(Curve::kElu, 0, 1)};
    default:
      return {curve(Curve::kClip, 0, -1.5f, 2)};
  }
}

double value_of(const dvnn_soft_step& step, double x, double y) {
  if (step.combines) {
    switch (static_cast<Operation>(step.function)) {
      case Operation::kAdd:
        return x + y;
      case Operation::kDiv:
        return x / y;
      case Operation::kMax:
        return std::max(x, y);
      case Operation::kMin:
        return std::min(x, y);
      case Operation::kMul:
        return x * y;
      case Operation::kPrelu:
        return x > 0 ? x : x * y;
      case Operation::kSub:
        return x - y;
      default:
        ck_abort_msg("operation %d is not computed in vectors", step.function);
    }
  }
  const double a = double{step.a}, b = double{step.b};
  switch (static_cast<Curve>(step.function)) {
    case Curve::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Curve::kSwish:
      return x / (1 + std::exp(-a * x));
    case Curve::kHardSwish:
      return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    case Curve::kLine:
      return a * x + b;
    case Curve::kClip:
      return std::min(std::max(x, a), b);
    case Curve::kErf:
      return std::erf(x);
    case Curve::kGelu:
      return x / 2 * std::erfc(-x / std::sqrt(2));
    case Curve::kGeluTanh:
      return x / (1 + std::exp(-std::sqrt(8 / std::acos(-1)) * (x + 0.044715 * x * x * x)));
    case Curve::kTanh:
      return std::tanh(x);
    case Curve::kAbs:
      return std::fabs(x);
    case Curve::kElu:
      return x > 0 ? x : a * std::expm1(x);
    default:
      ck_abort_msg("the reference has no curve %d", step.function);
  }
}

// Computes the chain on one sum, in doubles: element `i` of the result, of channel `channel`.
double chain_of(const ChainCase& c, double sum, size_t i, size_t channel) {
  std::vector<double> values;
  for (size_t k = 0; k < c.operands.size(); ++k) {
    const dvnn_soft_operand& operand = c.operands[k];
    values.push_back(operand.kind == DVNN_SOFT_SUMS     ? sum
                     : operand.kind == DVNN_SOFT_TENSOR ? double{c.numbers[k][i]}
                     : operand.count == 1               ? double{c.numbers[k][0]}
                                                        : double{c.numbers[k][channel]});
  }
  for (const dvnn_soft_step& step : c.steps) {
    values.push_back(value_of(step, values[static_cast<size_t>(step.x)],
                              values[static_cast<size_t>(step.combines ? step.y : step.x)]));
  }
  return values.back();
}

// Returns the tolerance: one rounding to binary16, the errors of FP32 steps, and the sum's error.
double slack_of(const ChainCase& c, const Expected& sum, double want, size_t i, size_t channel) {
  const double ends = std::fabs(chain_of(c, sum.value + sum.slack, i, channel) - want) +
                      std::fabs(chain_of(c, sum.value - sum.slack, i, channel) - want);
  double largest = std::fabs(sum.value);
  for (const auto& numbers : c.numbers) {
    if (!numbers.empty()) largest = std::max(largest, 4.0);
  }
  return ends + std::fabs(want) * std::ldexp(1.001, -11) + std::ldexp(1.0, -25) +
         (std::fabs(want) + largest) * 2e-6;
}

struct Sizes {
  Dims in, conv, out;
  bool hwc, add, keeps;
};

template <typename T>
T taken(Result<T> result) {
  ck_assert_msg(result.ok(), "%s", result.ok() ? "" : result.error().message.c_str());
  return std::move(result.value());
}

// Hands out memory for one tensor after the other.
class Places {
 public:
  explicit Places(Device* device) : memory_(taken(device->allocate(size_t{4} << 20))) {}
  Memory& memory() { return memory_; }
  size_t take(size_t bytes) {
    const size_t at = next_;
    next_ += (bytes + 63) / 64 * 64 + 64;
    ck_assert_uint_le(next_, memory_.size());
    return at;
  }

 private:
  Memory memory_;
  size_t next_ = 64;
};

// Adds operations with a tensor, a value per channel and one value for all to some chains.
void add_operands(Randomness* r, const Dims& out, const TensorDesc& desc, Places* places,
                  ChainCase* c) {
  auto add = [&](const dvnn_soft_operand& operand, std::vector<float> numbers) {
    c->operands.push_back(operand);
    c->numbers.push_back(std::move(numbers));
  };
  c->operands.push_back({});  // the sums
  c->numbers.emplace_back();
  const bool tensor = r->chance(2), channels = r->chance(3), single = r->chance(4);
  if (tensor) {
    dvnn_soft_operand operand = {};
    operand.kind = DVNN_SOFT_TENSOR;
    const size_t at = places->take(desc.bytes());
    operand.tensor.mem = static_cast<dmp_dv_mem>(places->memory().handle());
    operand.tensor.offs = at;
    add(operand, fill(r, &places->memory(), desc, at));
  }
  for (const int count : {channels ? out.c : 0, single ? 1 : 0}) {
    if (count == 0) continue;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& v : values) v = r->value(2);
    dvnn_soft_operand operand = {};
    operand.kind = DVNN_SOFT_VALUES;
    operand.count = count;
    add(operand, std::move(values));
  }
  for (size_t i = 0; i < c->operands.size(); ++i) c->operands[i].values = c->numbers[i].data();
  const int more = static_cast<int>(c->operands.size()) - 1;
  c->steps = common_steps(r->between(0, 15));
  // Steps are numbered after the operands; before, there was one operand.
  for (dvnn_soft_step& step : c->steps) {
    if (step.x > 0) step.x += more;
    if (step.y > 0) step.y += more;
  }
  static constexpr Operation kOperations[] = {Operation::kAdd, Operation::kMul,   Operation::kMax,
                                              Operation::kMin, Operation::kPrelu, Operation::kSub};
  for (int i = 1; i <= more; ++i) {
    const int last = more + static_cast<int>(c->steps.size());
    c->steps.push_back(operation(kOperations[r->between(0, 5)], last, i));
  }
}

Plane sums_of(const RunCase& c, const Sizes& s, const std::vector<float>& pixels,
              const std::vector<float>& addend) {
  Plane plane;
  if (c.run.conv != ConvKind::kNone) {
    plane = convolve(c, pixels, s.in, s.conv);
  } else {
    for (float p : pixels) plane.push_back({p, 0});
  }
  const bool add_first = c.run.pool != PoolKind::kAverage;
  if (s.add && add_first) add(&plane, addend);
  if (c.run.pool != PoolKind::kNone) plane = pool(c.run, plane, s.conv, s.out);
  if (s.add && !add_first) add(&plane, addend);
  const size_t per_channel = static_cast<size_t>(s.out.w * s.out.h);
  for (size_t i = 0; i < plane.size(); ++i) {
    plane[i].value = activate(c.run, plane[i].value, c.slopes[i / per_channel]);
  }
  return plane;
}

void check_own(const Plane& sums, const std::vector<float>& have, int number) {
  for (size_t i = 0; i < have.size(); ++i) {
    const double want = sums[i].value;
    const double slack =
        sums[i].slack + std::fabs(want) * std::ldexp(1.003, -11) + std::ldexp(1.0, -25);
    ck_assert_msg(std::fabs(have[i] - want) <= slack, "case %d: own element %zu is %g, not %g",
                  number, i, have[i], want);
  }
}

// Runs one case; false if its sizes make no output.
bool check_case(Device* device, Randomness* r, const RunCase& c, Dims in, int number) {
  Sizes s = {in,
             conv_output(c.run, in),
             run_output(c.run, in),
             r->chance(3),
             c.run.pool != PoolKind::kUpsample && r->chance(4),
             r->chance(3)};
  if (!is_real(s.conv) || !is_real(s.out)) return false;
  ConvCommand command;
  command.w = in.w;
  command.h = in.h;
  command.c = in.c;
  command.hwc = s.hwc;
  command.eltwise_add = s.add;
  command.runs = {c.run};
  const TensorDesc in_desc = device_desc(s.hwc, in), out_desc = device_desc(s.hwc, s.out);
  const TensorDesc operand_desc =
      device_desc(s.hwc, c.run.pool == PoolKind::kAverage ? s.out : s.conv);
  Places places(device);
  Memory& io = places.memory();
  const size_t in_at = places.take(in_desc.bytes()), operand_at = places.take(operand_desc.bytes());
  const size_t own_at = places.take(out_desc.bytes()), to_at = places.take(out_desc.bytes());
  const std::vector<uint8_t> packed = pack(c, in.c, s.hwc);
  auto weights = device->allocate(packed.size());
  std::memcpy(weights.value().data(), packed.data(), packed.size());
  const std::vector<float> pixels = fill(r, &io, in_desc, in_at);
  const std::vector<float> addend = fill(r, &io, operand_desc, operand_at);
  ChainCase chain;
  add_operands(r, s.out, out_desc, &places, &chain);
  std::memset(io.data() + own_at - 64, 0x5a, to_at + out_desc.bytes() + 128 - own_at);

  auto list = device->create_command_list();
  ck_assert(list.value()
                .add(command, {&io, in_at}, {&io, own_at},
                     s.add ? BufferRef{&io, operand_at} : BufferRef{}, weights.value())
                .ok());
  dmp_dv_buf to = {};
  to.mem = static_cast<dmp_dv_mem>(io.handle());
  to.offs = to_at;
  const Status follows =
      list.value().follow({sizeof(dvnn_soft_chain), DVNN_SOFT_FUNCTIONS, chain.operands.data(),
                           chain.steps.data(), static_cast<int32_t>(chain.operands.size()),
                           static_cast<int32_t>(chain.steps.size()), to, s.keeps});
  ck_assert_msg(follows.ok(), "case %d: %s", number,
                follows.ok() ? "" : follows.error().message.c_str());
  ck_assert(list.value().commit().ok());
  ck_assert(list.value().run().ok());

  const Plane sums = sums_of(c, s, pixels, addend);
  std::vector<float> have(out_desc.shape.count()), own(have.size());
  read_nchw({out_desc, io.data() + to_at}, have.data());
  read_nchw({out_desc, io.data() + own_at}, own.data());
  const size_t per_channel = static_cast<size_t>(s.out.w * s.out.h);
  for (size_t i = 0; i < have.size(); ++i) {
    const size_t channel = i / per_channel;
    const double want = chain_of(chain, sums[i].value, i, channel);
    const double slack = slack_of(chain, sums[i], want, i, channel);
    ck_assert_msg(std::fabs(have[i] - want) <= slack,
                  "case %d (%dx%dx%d m%d k%dx%d kind %d pool %d act %d): element %zu is %g, not %g "
                  "+- %g",
                  number, in.w, in.h, in.c, c.run.m, c.run.kernel.x, c.run.kernel.y,
                  static_cast<int>(c.run.conv), static_cast<int>(c.run.pool),
                  static_cast<int>(c.run.activation), i, have[i], want, slack);
  }
  if (s.keeps) check_own(sums, own, number);
  for (size_t i = 0; i < (s.keeps ? 0 : out_desc.bytes()); ++i) {
    ck_assert_uint_eq(io.data()[own_at + i], 0x5a);  // not stored, as no one reads it
  }
  for (size_t i = 1; i <= 64; ++i) {
    ck_assert_uint_eq(io.data()[own_at - i], 0x5a);
    ck_assert_uint_eq(io.data()[to_at - i], 0x5a);
    ck_assert_uint_eq(io.data()[to_at + out_desc.bytes() + i - 1], 0x5a);
  }
  return true;
}

}  // namespace

DVNN_TEST(chains_of_random_commands_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok() && device.value()->follows());
  Randomness random(dvnn_seed(20261127));
  int ran = 0;
  const int rounds = dvnn_rounds(1500);
  for (int i = 0; i < rounds; ++i) {
    const Dims in = {random.edgy(1, 23), random.edgy(1, 23), random.channels()};
    ran += check_case(device.value().get(), &random, make_run_case(&random, in), in, i);
  }
  ck_assert_int_ge(ran, rounds / 4 * 3);
}

DVNN_TEST(chains_of_tensors_that_threads_share_match_the_scalar_reference) {
  // 1x1 and 3x3 convolutions and depthwise ones, large enough for several bands.
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(5));
  const int rounds = dvnn_rounds(60);
  for (int i = 0; i < rounds; ++i) {
    const Dims in = {random.between(30, 70), random.between(30, 70), 8 * random.between(1, 5)};
    ConvRun run;
    run.conv = i % 3 == 0 ? ConvKind::kDepthwise : ConvKind::kConv;
    run.m = i % 3 == 0 ? in.c : random.channels();
    const int size = i % 3 == 1 ? 1 : 3;
    run.kernel = {size, size};
    run.conv_pad = {size / 2, size / 2, size / 2, size / 2};
    run.weight_format = WeightFormat::kHalf;
    ck_assert(check_case(device.value().get(), &random, with_weights(&random, run, in), in, i));
  }
}

// A 1x1 convolution of 8 to 8 channels over 4x4 pixels; tests change its chain.
struct Small {
  std::shared_ptr<Device> device = Device::open("soft").value();
  Memory io = taken(device->allocate(8192)), weights = taken(device->allocate(1024));
  CommandList list = taken(device->create_command_list());
  dvnn_soft_operand operands[2] = {};
  dvnn_soft_step step = curve(Curve::kSigmoid, 0);
  dvnn_soft_chain chain = {sizeof chain, DVNN_SOFT_FUNCTIONS, operands, &step, 1, 1, at(1024), 0};

  Small() {
    ConvCommand command;
    command.w = command.h = 4;
    command.c = 8;
    ConvRun run;
    run.m = 8;
    run.conv = ConvKind::kConv;
    run.weight_format = WeightFormat::kHalf;
    command.runs = {run};
    ck_assert(list.add(command, {&io, 0}, {&io, 512}, {}, weights).ok());
  }
  dmp_dv_buf at(uint64_t offset) const {
    dmp_dv_buf buf = {};
    buf.mem = static_cast<dmp_dv_mem>(io.handle());
    buf.offs = offset;
    return buf;
  }
  bool takes() { return list.follow(chain).ok(); }
};

DVNN_TEST(chains_that_do_not_fit_are_refused) {
  const float values[3] = {1, 2, 3};
  void (*const faults[])(Small*) = {
      [](Small* s) { s->chain.size = 1; },
      [](Small* s) { ++s->chain.functions; },
      [](Small* s) { s->chain.operands = nullptr; },
      [](Small* s) { s->chain.steps = nullptr; },
      [](Small* s) { s->chain.operand_count = 0; },
      [](Small* s) { s->chain.step_count = 0; },
      [](Small* s) { s->chain.step_count = 24; },
      [](Small* s) { s->chain.output.mem = nullptr; },
      [](Small* s) { s->chain.output.offs = 8192 - 128; },
      [](Small* s) { s->chain.output.offs = 1; },
      [](Small* s) {
        s->chain = {s->chain.size, s->chain.functions, s->operands, &s->step, 1, 1, s->at(512), 1};
      },
      [](Small* s) { s->step.x = 1; },
      [](Small* s) { s->step.x = -1; },
      [](Small* s) { s->step.function = static_cast<int>(Curve::kTanh) + 1; },
      [](Small* s) { s->step = operation(Operation::kAdd, 0, 1); },
      [](Small* s) { s->step = {1, static_cast<int>(Operation::kSub) + 1, 0, 0, 0, 0}; },
      [](Small* s) { s->operands[0].kind = 3; },
      [](Small* s) { s->operands[0].kind = DVNN_SOFT_TENSOR; },
  };
  for (const auto fault : faults) {
    Small small;
    fault(&small);
    ck_assert(!small.takes());
  }
  Small counted;
  counted.operands[0].kind = DVNN_SOFT_VALUES;
  counted.operands[0].values = values;
  counted.operands[0].count = 3;  // for 8 channels
  ck_assert(!counted.takes());
  Small twice;
  ck_assert(twice.takes());
  ck_assert(!twice.takes());
  ck_assert(twice.list.commit().ok());
  ck_assert(!twice.takes());
  Small empty;
  empty.list = taken(empty.device->create_command_list());
  ck_assert(!empty.takes());
}

DVNN_TEST(a_tensor_may_not_lie_where_results_do) {
  for (const uint64_t offset : {512u, 640u, 1024u, 1278u}) {
    Small small;
    small.operands[1].kind = DVNN_SOFT_TENSOR;
    small.operands[1].tensor = small.at(offset);
    small.chain.operand_count = 2;
    small.step = operation(Operation::kAdd, 0, 1);
    ck_assert(!small.takes());
    small.operands[1].tensor = small.at(1280);
    ck_assert(small.takes());  // earlier refusals left the list unchanged
  }
}

}  // namespace dvnn::test::chain_sweep_tests
