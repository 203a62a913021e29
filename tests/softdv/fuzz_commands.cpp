// SPDX-License-Identifier: Apache-2.0
// Commands made of arbitrary bytes: none may make the device touch anything but its memories, which
// lie between pages that fault. A libFuzzer target (clang++ -fsanitize=fuzzer,address, with
// DVNN_FUZZER defined); without it, a test that feeds the target from a seed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "dmp_dv_cmdraw_v1.h"
#include "soft_library.h"

using dvnn::test::fn;

namespace {

constexpr size_t kMemory = 64 * 1024;

// Takes the input apart; zeros when it is used up.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  void fill(void* to, size_t size) {
    const size_t n = size < left_ ? size : left_;
    std::memcpy(to, data_, n);
    data_ += n;
    left_ -= n;
  }
  uint8_t next() {
    uint8_t v = 0;
    fill(&v, 1);
    return v;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

// Most buffers are good, so that commands get past the first checks.
void bind(Bytes* bytes, const dmp_dv_mem* memories, dmp_dv_buf* buf) {
  const uint8_t choice = bytes->next();
  buf->rsvd = 0;
  buf->mem = choice == 0 ? nullptr : memories[choice & 1];
  buf->offs &= choice < 16 ? 0xffff0 : 0x1ff0;
}

void bind_conv(Bytes* bytes, const dmp_dv_mem* memories, dmp_dv_cmdraw_conv_v0* cmd) {
  cmd->header.size = sizeof *cmd;
  bind(bytes, memories, &cmd->input_buf);
  bind(bytes, memories, &cmd->output_buf);
  bind(bytes, memories, &cmd->eltwise_buf);
  const bool small = bytes->next() >= 16;
  if (!small) return;  // sometimes everything stays as the bytes have it
  cmd->topo = bytes->next() & 1 ? 1 : cmd->topo % 15 + 1;
  cmd->w = cmd->w % 12 + 1;
  cmd->h = cmd->h % 12 + 1;
  cmd->c = cmd->c % 24 + 1;
  cmd->z = 1;
  cmd->input_circular_offset &= 0x8003;
  cmd->output_mode &= 1;
  // x and y in 1..limit, packed as the command has them.
  auto pair = [](uint16_t v, int limit) {
    return static_cast<uint16_t>(v % limit + 1 + ((v >> 8) % limit + 1) * 256);
  };
  static constexpr uint16_t kConv[] = {0, 1, 3, 5, 7}, kPool[] = {0, 1, 2, 4};
  static constexpr uint16_t kFormat[] = {0, 1, 1, 3};
  for (auto& run : cmd->run) {
    auto wild = [&] { return bytes->next() < 8; };  // a field stays as it came
    bind(bytes, memories, &run.weight_buf);
    run.conv_enable = kConv[run.conv_enable % 5];
    run.m = run.conv_enable == 1 || run.conv_enable == 5 ? run.m % 24 + 1 : cmd->c;
    run.pool_enable = kPool[run.conv_enable ? run.pool_enable % 2 : run.pool_enable % 4];
    run.pz = 1;
    if (!wild()) run.p = pair(run.p, 7);
    run.conv_pad &= 0x07070707;
    run.pool_pad &= 0x01010101;
    if (!wild()) run.conv_stride = pair(run.conv_stride, 3);
    run.conv_dilation = bytes->next() >= 32 ? 0 : run.conv_dilation & 0x0303;
    if (!wild()) {
      run.pool_size = pair(run.pool_size, 3);
      run.pool_stride = pair(run.pool_stride, 3);
    }
    run.weight_fmt = kFormat[run.weight_fmt & 3];
    run.actfunc = wild() ? run.actfunc : run.actfunc % 4;
    run.lrn = wild() ? 0x503 : 0;
  }
}

int executed = 0;

void run_list(dmp_dv_context context, dmp_dv_cmdraw* command) {
  dmp_dv_cmdlist list = fn().cmdlist_create(context);
  if (fn().cmdlist_add_raw(list, command) == 0 && fn().cmdlist_commit(list) == 0) {
    const int64_t id = fn().cmdlist_exec(list);
    if (id < 0 || fn().cmdlist_wait(list, id) != 0) std::abort();
    ++executed;
  }
  fn().cmdlist_release(list);
}

union Command {
  dmp_dv_cmdraw header;
  dmp_dv_cmdraw_conv_v0 conv;
  dmp_dv_cmdraw_conv_v1 conv1;
  dmp_dv_cmdraw_fc_v0 fc;
  dmp_dv_cmdraw_ipu_v0 ipu;
  dmp_dv_cmdraw_maximizer_v0 maximizer;
};

void make_command(Bytes* bytes, const dmp_dv_mem* memories, Command* command) {
  const uint8_t kind = bytes->next();
  bytes->fill(command, sizeof *command);
  command->header.version = kind >> 3 & 1;
  switch (kind & 7) {
    case 0:
      command->header = {sizeof command->fc, DMP_DV_DEV_FC, 0, {0, 0}};
      bind(bytes, memories, &command->fc.weight_buf);
      bind(bytes, memories, &command->fc.input_buf);
      bind(bytes, memories, &command->fc.output_buf);
      command->fc.input_size &= 0xff;
      command->fc.output_size &= 0x7f;
      command->fc.weight_fmt &= 1;
      command->fc.actfunc &= 7;
      return;
    case 1:
      command->header = {sizeof command->ipu, DMP_DV_DEV_IPU, 0, {0, 0}};
      bind(bytes, memories, &command->ipu.tex);
      bind(bytes, memories, &command->ipu.rd);
      bind(bytes, memories, &command->ipu.wr);
      command->ipu.tex_width &= 0xff;
      command->ipu.tex_height &= 0xff;
      command->ipu.rect_width &= 0xff;
      command->ipu.rect_height &= 0xff;
      command->ipu.stride_rd %= 2000;
      command->ipu.stride_wr %= 2000;
      command->ipu.fmt_tex = command->ipu.fmt_tex % 3 == 2 ? 7 : command->ipu.fmt_tex % 3;
      command->ipu.fmt_rd &= 1;
      command->ipu.fmt_wr %= 3;
      command->ipu.cnv_type &= 1;
      if (kind & 0x70) {
        command->ipu.ridx = 0, command->ipu.gidx = 2, command->ipu.bidx = 1;
        command->ipu.aidx = 3;
      }
      return;
    case 2:
      command->header = {sizeof command->maximizer, DMP_DV_DEV_MAXIMIZER, 0, {0, 0}};
      bind(bytes, memories, &command->maximizer.input_buf);
      bind(bytes, memories, &command->maximizer.output_buf);
      command->maximizer.width &= 0xff;
      command->maximizer.height &= 0xff;
      return;
    case 3:
      command->header = {sizeof command->conv1, DMP_DV_DEV_CONV, 1, {0, 0}};
      bind(bytes, memories, &command->conv1.u8tofp16_table);
      bind_conv(bytes, memories, &command->conv1.conv_cmd);
      if (kind & 0x70) command->conv1.conv_cmd.c = 3;
      return;
    default:
      command->header = {sizeof command->conv, DMP_DV_DEV_CONV, 0, {0, 0}};
      bind_conv(bytes, memories, &command->conv);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dmp_dv_context context = fn().context_create();
  static const dmp_dv_mem memories[] = {fn().mem_alloc(context, kMemory),
                                        fn().mem_alloc(context, kMemory)};
  Bytes bytes(data, size);
  Command command;
  std::memset(&command, 0, sizeof command);
  make_command(&bytes, memories, &command);
  run_list(context, &command.header);
  return 0;
}

#ifndef DVNN_FUZZER
int main() {
  constexpr int kInputs = 20000;
  std::mt19937 random(11);
  std::vector<uint8_t> input(sizeof(Command) + 200);
  for (int i = 0; i < kInputs; ++i) {
    for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%d of %d commands were executed\n", executed, kInputs);
  // If nearly all are refused, the device's arithmetic has not been tried.
  return executed > kInputs / 50 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
