// SPDX-License-Identifier: Apache-2.0
// Seeded random commands of several runs and of a batch, which must give the same bytes as single
// runs (test_conv_sweep.cpp compares those with the scalar reference); LRN and fully connected
// commands against plain formulas.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check_suite.h"
#include "conv_cases.h"
#include "dmp_dv_cmdraw_v1.h"
#include "soft_library.h"

namespace dvnn::test::command_sweep_tests {

DVNN_SUITE(softdv_command_sweep);

using namespace dvnn::device;

namespace {

std::shared_ptr<Device> soft() {
  auto device = Device::open("soft");
  ck_assert_msg(device.ok(), "%s", device.ok() ? "" : device.error().message.c_str());
  return device.value();
}

Memory allocate(Device* device, size_t bytes) {
  auto memory = device->allocate(bytes);
  ck_assert_msg(memory.ok(), "%s", memory.ok() ? "" : memory.error().message.c_str());
  return std::move(memory.value());
}

// Runs a command; false if the device refuses it.
bool run(Device* device, const ConvCommand& command, BufferRef in, BufferRef out,
         const Memory& weights) {
  auto list = device->create_command_list();
  ck_assert(list.ok());
  if (!list.value().add(command, in, out, {}, weights).ok()) return false;
  ck_assert(list.value().commit().ok());
  const auto id = list.value().exec();
  ck_assert(id.ok());
  ck_assert(list.value().wait(id.value()).ok());
  return true;
}

// A command of several runs: the runs' inputs and outputs follow from the topo bits.
struct Branches {
  ConvCommand command;
  std::vector<Dims> in, out;
  std::vector<std::vector<uint8_t>> weights;
  size_t weight_bytes = 0, output_bytes = 0;
};

size_t bytes_of(Dims d) {
  return static_cast<size_t>(d.w) * static_cast<size_t>(d.h) * static_cast<size_t>(d.c) *
         sizeof(half_t);
}

// Makes the runs; false if none was found that can use the results of the runs before it.
bool make_branches(Randomness* r, Branches* b) {
  ConvCommand& command = b->command;
  const Dims input = {r->edgy(1, 20), r->edgy(1, 20), r->channels()};
  command.w = input.w;
  command.h = input.h;
  command.c = input.c;
  command.hwc = r->chance(3);
  const int runs = r->chance(10) ? 32 : r->between(2, 6);
  const uint32_t last = uint32_t{1} << (runs - 1);  // writes memory
  command.topo = last | (static_cast<uint32_t>(r->between(0, 0x7fffffff)) & (last - 1));
  Dims at = input;
  for (int i = 0; i < runs; ++i) {
    RunCase c;
    Dims out;
    for (int tries = 0;; ++tries) {
      if (tries == 50) return false;
      c = make_run_case(r, at);
      out = run_output(c.run, at);
      const bool dilated = c.run.dilation.x > 1 || c.run.dilation.y > 1;  // for topo 1 only
      if (!dilated && is_real(conv_output(c.run, at)) && is_real(out)) break;
    }
    c.run.weight_offset = b->weight_bytes;
    b->weights.push_back(c.run.conv == ConvKind::kNone ? std::vector<uint8_t>()
                                                       : pack(c, at.c, command.hwc));
    b->weight_bytes += (b->weights.back().size() + 15) / 16 * 16;
    command.runs.push_back(c.run);
    b->in.push_back(at);
    b->out.push_back(out);
    const bool external = device::writes_memory(command.topo, i);
    if (external) b->output_bytes += bytes_of(out);
    at = external ? input : out;
  }
  return true;
}

bool check_branches(Device* device, Randomness* r, int number) {
  Branches b;
  if (!make_branches(r, &b)) return false;
  Memory weights = allocate(device, std::max<size_t>(b.weight_bytes, 16));
  for (size_t i = 0; i < b.weights.size(); ++i) {
    std::copy(b.weights[i].begin(), b.weights[i].end(),
              weights.data() + b.command.runs[i].weight_offset);
  }
  Memory input = allocate(device, bytes_of(b.in[0]));
  fill(r, &input, device_desc(b.command.hwc, b.in[0]), 0);
  Memory output = allocate(device, b.output_bytes);
  if (!run(device, b.command, {&input, 0}, {&output, 0}, weights)) return false;

  size_t written = 0;
  Memory previous;
  for (size_t i = 0; i < b.in.size(); ++i) {
    const bool starts = i == 0 || device::writes_memory(b.command.topo, i - 1);
    ConvCommand single;
    single.w = b.in[i].w;
    single.h = b.in[i].h;
    single.c = b.in[i].c;
    single.hwc = b.command.hwc;
    single.runs = {b.command.runs[i]};
    Memory result = allocate(device, bytes_of(b.out[i]));
    ck_assert(run(device, single, {starts ? &input : &previous, 0}, {&result, 0}, weights));
    if (device::writes_memory(b.command.topo, i)) {
      ck_assert_msg(std::memcmp(result.data(), output.data() + written, bytes_of(b.out[i])) == 0,
                    "case %d, topo %x: run %zu does not give what it gives alone", number,
                    b.command.topo, i);
      written += bytes_of(b.out[i]);
    }
    previous = std::move(result);
  }
  return true;
}

void write_halves(Randomness* r, uint8_t* to, size_t count, float scale) {
  auto* halves = reinterpret_cast<half_t*>(to);
  for (size_t i = 0; i < count; ++i) halves[i] = float_to_half(r->value(scale));
}

dmp_dv_cmdraw_conv_v0 conv_command(Dims in) {
  dmp_dv_cmdraw_conv_v0 cmd;
  std::memset(&cmd, 0, sizeof cmd);
  cmd.header.size = sizeof cmd;
  cmd.header.device_type = DMP_DV_DEV_CONV;
  cmd.topo = 1;
  cmd.w = static_cast<uint16_t>(in.w);
  cmd.h = static_cast<uint16_t>(in.h);
  cmd.z = 1;
  cmd.c = static_cast<uint16_t>(in.c);
  cmd.run[0].p = 1;
  cmd.run[0].pz = 1;
  cmd.run[0].conv_stride = 0x0101;
  return cmd;
}

// Runs `work`, which returns a value, in a process of its own with an environment variable set: the
// device's threads live as long as the process and read their settings once. Tests that use it come
// first: a forked process has none of the device's threads.
template <typename Work>
uint64_t in_process(const char* variable, const std::string& value, Work work) {
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv(variable, value.c_str(), 1);
    const uint64_t result = work();
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  int status = 1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  uint64_t result = 0;
  ck_assert_int_eq(read(ends[0], &result, sizeof result), sizeof result);
  close(ends[0]);
  close(ends[1]);
  return result;
}

// Returns the FNV-1a hash of the results of random commands, every other one of them large and with
// three taps: tiles of results lie across the bands that threads share.
uint64_t results_digest() {
  const auto device = soft();
  Randomness random(dvnn_seed(9));
  uint64_t hash = 1469598103934665603u;
  for (int i = 0; i < 40; ++i) {
    const bool three = i % 2 == 1;
    const Dims in = {random.between(three ? 30 : 1, 60), random.between(three ? 30 : 1, 60),
                     three ? random.between(16, 40) : random.channels()};
    const RunCase c = three ? make_run_of_three(&random, in) : make_run_case(&random, in);
    const Dims out = run_output(c.run, in);
    if (!is_real(conv_output(c.run, in)) || !is_real(out)) continue;
    ConvCommand command;
    command.w = in.w;
    command.h = in.h;
    command.c = in.c;
    command.runs = {c.run};
    const std::vector<uint8_t> packed = pack(c, in.c, false);
    Memory weights = allocate(device.get(), packed.size());
    std::memcpy(weights.data(), packed.data(), packed.size());
    Memory input = allocate(device.get(), bytes_of(in));
    fill(&random, &input, device_desc(false, in), 0);
    Memory output = allocate(device.get(), bytes_of(out));
    ck_assert(run(device.get(), command, {&input, 0}, {&output, 0}, weights));
    for (size_t k = 0; k < bytes_of(out); ++k) hash = (hash ^ output.data()[k]) * 1099511628211u;
  }
  return hash;
}

// Returns the microseconds that a command took by the device's own clock.
uint64_t paced_run() {
  Bench bench;
  auto cmd = conv_command({64, 32, 8});
  cmd.run[0].m = 8;
  cmd.run[0].pool_enable = 1;
  cmd.run[0].pool_size = 0x0202;
  cmd.run[0].pool_stride = 0x0202;
  cmd.input_buf = bench.at(0);
  cmd.output_buf = bench.at(500000);
  dmp_dv_cmdlist list = fn().cmdlist_create(bench.ctx);
  ck_assert_int_eq(fn().cmdlist_add_raw(list, &cmd.header), 0);
  ck_assert_int_eq(fn().cmdlist_commit(list), 0);
  ck_assert_int_eq(fn().cmdlist_wait(list, fn().cmdlist_exec(list)), 0);
  const int64_t us = fn().cmdlist_get_last_exec_time(list);
  fn().cmdlist_release(list);
  return static_cast<uint64_t>(us);
}

}  // namespace

DVNN_TEST(results_do_not_depend_on_the_number_of_threads) {
  const uint64_t one = in_process("DVNN_SOFT_THREADS", "1", results_digest);
  for (const char* threads : {"2", "3", "8"}) {
    ck_assert_uint_eq(in_process("DVNN_SOFT_THREADS", threads, results_digest), one);
  }
}

DVNN_TEST(a_paced_device_takes_as_long_as_the_board_would) {
  // 64 x 32 pixels of 8 channels at one pixel per clock of 1 MHz; the bus is out of the way.
  ck_assert_uint_ge(in_process("DVNN_SOFT_PACE", "clock=1,bus=1000", paced_run), 64 * 32);
}

DVNN_TEST(runs_of_a_command_give_what_they_give_alone) {
  const auto device = soft();
  Randomness random(dvnn_seed(5));
  int ran = 0;
  const int rounds = dvnn_rounds(800);
  for (int i = 0; i < rounds; ++i) ran += check_branches(device.get(), &random, i);
  ck_assert_int_ge(ran, rounds / 8 * 7);
}

DVNN_TEST(samples_of_a_batch_give_what_they_give_alone) {
  Bench bench;
  Randomness random(dvnn_seed(6));
  constexpr uint64_t kWeights = 0, kIn = 200000, kOut = 500000, kAlone = 800000;
  for (int round = 0; round < dvnn_rounds(150); ++round) {
    const Dims in = {random.edgy(1, 12), random.edgy(1, 12), random.channels()};
    const int m = random.channels(), batch = random.edgy(2, 9);
    auto cmd = conv_command(in);
    cmd.run[0].m = static_cast<uint16_t>(m);
    cmd.run[0].conv_enable = 1;
    cmd.run[0].weight_fmt = 1;
    cmd.run[0].actfunc = static_cast<uint16_t>(random.between(0, 3));
    cmd.run[0].weight_buf = bench.at(kWeights);
    cmd.output_buf = bench.at(kOut);
    const PackedGeometry g = {m, in.c, 1, 1, false, false, false};
    std::vector<half_t> weights(static_cast<size_t>(m * in.c)), bias(static_cast<size_t>(m));
    write_halves(&random, reinterpret_cast<uint8_t*>(weights.data()), weights.size(), 1);
    write_halves(&random, reinterpret_cast<uint8_t*>(bias.data()), bias.size(), 1);
    pack_weights(g, {nullptr, weights.data(), bias.data(), nullptr}, bench.data + kWeights);
    const size_t sample = bytes_of(in), result = bytes_of({in.w, in.h, m});
    write_halves(&random, bench.data + kIn, sample / 2 * static_cast<size_t>(batch), 2);
    cmd.input_buf = bench.at(kIn);
    cmd.input_circular_offset = static_cast<uint16_t>(batch);
    ck_assert_int_eq(bench.run(cmd), 0);
    cmd.input_circular_offset = 0;
    cmd.output_buf = bench.at(kAlone);
    for (size_t n = 0; n < static_cast<size_t>(batch); ++n) {
      cmd.input_buf = bench.at(kIn + n * sample);
      ck_assert_int_eq(bench.run(cmd), 0);
      ck_assert_mem_eq(bench.data + kAlone, bench.data + kOut + n * result, result);
    }
  }
}

// Tolerance: one rounding to binary16 (2^-11 relative) of a product of a few FP32 operations.
DVNN_TEST(response_normalisation_follows_the_segments) {
  Bench bench;
  Randomness random(dvnn_seed(7));
  constexpr uint64_t kOut = 500000;
  for (int round = 0; round < dvnn_rounds(120); ++round) {
    const Dims in = {random.edgy(1, 9), random.edgy(1, 9), 16 * random.between(1, 4)};
    const int prescale = random.edgy(0, 8);
    auto cmd = conv_command(in);
    cmd.run[0].m = cmd.c;
    cmd.run[0].lrn = static_cast<uint16_t>(prescale << 8 | 3);
    cmd.input_buf = bench.at(0);
    cmd.output_buf = bench.at(kOut);
    const size_t count = bytes_of(in) / 2;
    // From sums below 1, in the first segment, to beyond 4^12, in the last.
    write_halves(&random, bench.data, count, std::ldexp(1.0f, random.between(-2, 12)));
    ck_assert_int_eq(bench.run(cmd), 0);
    const auto* x = reinterpret_cast<const half_t*>(bench.data);
    const auto* y = reinterpret_cast<const half_t*>(bench.data + kOut);
    const int pixels = in.w * in.h;
    auto at = [&](int p, int c) { return c / 8 * 8 * pixels + p * 8 + c % 8; };
    auto g = [](double s) { return std::pow(1 + 2e-5 * s, -0.75); };
    for (int p = 0; p < pixels; ++p) {
      for (int c = 0; c < in.c; ++c) {
        double sum = 0;
        for (int k = std::max(0, c - 2); k <= std::min(in.c - 1, c + 2); ++k) {
          const double v = half_to_float(x[at(p, k)]);
          sum += v * v;
        }
        const int a = sum < 1 ? 0 : std::min(11, static_cast<int>(std::floor(std::log2(sum))) >> 1);
        const double left = std::pow(4.0, a), right = 4 * left;
        const double factor = g(left) + (sum - left) * (g(right) - g(left)) / (right - left);
        const double want = half_to_float(x[at(p, c)]) * factor;
        // FP32 sums differ by 2^-22 relative, which the segment's slope passes on.
        const double slack = std::fabs(want) * std::ldexp(1.0, -11) + std::ldexp(1.0, -25) +
                             std::fabs(half_to_float(x[at(p, c)])) * std::ldexp(1.0, -20);
        ck_assert_msg(std::fabs(half_to_float(y[at(p, c)]) - want) <= slack,
                      "sum %g, segment %d: %g, not %g +- %g", sum, a, half_to_float(y[at(p, c)]),
                      want, slack);
      }
    }
  }
}

// Tolerance as in test_conv_sweep.cpp.
DVNN_TEST(fully_connected_commands_match_the_scalar_reference) {
  Bench bench;
  Randomness random(dvnn_seed(8));
  constexpr uint64_t kWeights = 0, kIn = 700000, kOut = 800000;
  for (int round = 0; round < dvnn_rounds(300); ++round) {
    const int inputs = random.edgy(1, 400), outputs = random.edgy(1, 300);
    const bool quantised = random.chance(3);
    dmp_dv_cmdraw_fc_v0 cmd;
    std::memset(&cmd, 0, sizeof cmd);
    cmd.header.size = sizeof cmd;
    cmd.header.device_type = DMP_DV_DEV_FC;
    cmd.weight_buf = bench.at(kWeights);
    cmd.input_buf = bench.at(kIn);
    cmd.output_buf = bench.at(kOut);
    cmd.input_size = static_cast<uint16_t>(inputs);
    cmd.output_size = static_cast<uint16_t>(outputs);
    cmd.weight_fmt = quantised;
    cmd.actfunc = static_cast<uint16_t>(random.between(0, 4));
    const float slope = random.value(0.5f);
    cmd.actfunc_param = float_to_half(slope);

    const size_t n = static_cast<size_t>(inputs), m = static_cast<size_t>(outputs);
    std::vector<half_t> table(256), weights(n * m), bias(m);
    std::vector<uint8_t> indices(n * m);
    for (half_t& v : table) v = float_to_half(random.value(1));
    for (size_t i = 0; i < n * m; ++i) {
      indices[i] = static_cast<uint8_t>(random.between(0, 255));
      weights[i] = quantised ? table[indices[i]] : float_to_half(random.value(1));
    }
    for (half_t& v : bias) v = float_to_half(random.value(2));
    const FcGeometry g = {inputs, 1, 1, outputs, 1, 1, quantised};
    const void* source = quantised ? static_cast<const void*>(indices.data()) : weights.data();
    pack_fc(g, {table.data(), source, bias.data(), nullptr}, bench.data + kWeights);
    write_halves(&random, bench.data + kIn, n, 2);
    ck_assert_int_eq(bench.run(cmd), 0);

    const auto* x = reinterpret_cast<const half_t*>(bench.data + kIn);
    const auto* y = reinterpret_cast<const half_t*>(bench.data + kOut);
    for (size_t k = 0; k < m; ++k) {
      double sum = half_to_float(bias[k]), size = std::fabs(sum);
      for (size_t i = 0; i < n; ++i) {
        const double product = double{half_to_float(weights[k * n + i])} * half_to_float(x[i]);
        sum += product;
        size += std::fabs(product);
      }
      double want = sum;
      if (cmd.actfunc == 1 || cmd.actfunc == 3) want = sum > 0 ? sum : sum * slope;
      if (cmd.actfunc == 2) want = std::tanh(sum);
      if (cmd.actfunc == 4) want = 1 / (1 + std::exp(-sum));
      const double slack = static_cast<double>(n + 1) * size * std::ldexp(1.0, -24) +
                           std::fabs(want) * std::ldexp(1.0, -11) * 1.001 + std::ldexp(1.0, -25) +
                           1e-6 * std::fabs(want);
      ck_assert_msg(std::fabs(half_to_float(y[k]) - want) <= slack,
                    "%d -> %d, act %d: output %zu is %g, not %g +- %g", inputs, outputs,
                    cmd.actfunc, k, half_to_float(y[k]), want, slack);
    }
  }
}

}  // namespace dvnn::test::command_sweep_tests
