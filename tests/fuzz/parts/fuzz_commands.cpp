// SPDX-License-Identifier: Apache-2.0
// Lists of commands made of arbitrary bytes, through the device's C functions: none may make the
// device touch anything but its memories, which lie between pages that fault.
#include <algorithm>
#include <vector>

#include "device/loader.h"
#include "device/soft_extension.h"
#include "dmp_dv_cmdraw_v1.h"
#include "fuzzed_data.h"
#include "kernels/arithmetic/elementwise.h"
#include "target.h"

namespace dvnn::fuzz::commands_target {

using fuzz::FuzzedData;

namespace {

constexpr size_t kMemory = 64 * 1024;

const device::Functions& fn() {
  static const auto library = device::Library::load(std::getenv("DVNN_SOFT_DEVICE"));
  if (!library.ok()) {
    std::fprintf(stderr, "%s\n", library.error().message.c_str());
    std::exit(1);
  }
  return library.value()->fn();
}

// Most buffers are good, so that commands get past the first checks.
void bind(FuzzedData* bytes, const dmp_dv_mem* memories, dmp_dv_buf* buf) {
  const uint8_t choice = bytes->byte();
  buf->rsvd = 0;
  buf->mem = choice == 255 ? nullptr : memories[choice & 1];
  buf->offs &= choice >= 240 ? 0xffff0 : 0x1ff0;
}

void bind_conv(FuzzedData* bytes, const dmp_dv_mem* memories, dmp_dv_cmdraw_conv_v0* cmd) {
  cmd->header.size = sizeof *cmd;
  bind(bytes, memories, &cmd->input_buf);
  bind(bytes, memories, &cmd->output_buf);
  bind(bytes, memories, &cmd->eltwise_buf);
  if (bytes->rarely()) return;  // everything stays as the bytes have it
  cmd->topo = bytes->flag() ? cmd->topo % 15 + 1 : 1;
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
    auto wild = [&] { return bytes->byte() >= 248; };  // a field stays as it came
    bind(bytes, memories, &run.weight_buf);
    run.conv_enable = kConv[run.conv_enable % 5];
    run.m = run.conv_enable == 1 || run.conv_enable == 5 ? run.m % 24 + 1 : cmd->c;
    run.pool_enable = kPool[run.conv_enable ? run.pool_enable % 2 : run.pool_enable % 4];
    run.pz = 1;
    if (!wild()) run.p = pair(run.p, 7);
    run.conv_pad &= 0x07070707;
    run.pool_pad &= 0x01010101;
    if (!wild()) run.conv_stride = pair(run.conv_stride, 3);
    run.conv_dilation = bytes->byte() < 224 ? 0 : run.conv_dilation & 0x0303;
    if (!wild()) {
      run.pool_size = pair(run.pool_size, 3);
      run.pool_stride = pair(run.pool_stride, 3);
    }
    run.weight_fmt = kFormat[run.weight_fmt & 3];
    run.actfunc = wild() ? run.actfunc : run.actfunc % 4;
    run.lrn = wild() ? 0x503 : 0;
  }
}

// The image unit: sizes and rows that fit the memories, channels that are a permutation.
void bind_ipu(FuzzedData* bytes, const dmp_dv_mem* memories, dmp_dv_cmdraw_ipu_v0* cmd) {
  static constexpr uint8_t kTextures[] = {DMP_DV_RGBA8888, DMP_DV_RGB888, DMP_DV_LUT};
  static constexpr uint8_t kResults[] = {DMP_DV_RGBA8888, DMP_DV_RGB888, DMP_DV_RGBFP16};
  static constexpr int8_t kSwizzles[][4] = {{0, 1, 2, 3}, {2, 1, 0, 3}, {0, 2, 1, 3}, {3, 0, 1, 2}};
  bind(bytes, memories, &cmd->tex);
  bind(bytes, memories, &cmd->rd);
  bind(bytes, memories, &cmd->wr);
  if (bytes->rarely()) return;  // everything stays as the bytes have it
  cmd->tex_width = static_cast<uint16_t>(cmd->tex_width % 64 + !bytes->rarely());
  cmd->tex_height = static_cast<uint16_t>(cmd->tex_height % 64 + !bytes->rarely());
  cmd->rect_width = static_cast<uint16_t>(cmd->rect_width % 64 + !bytes->rarely());
  cmd->rect_height = static_cast<uint16_t>(cmd->rect_height % 64 + !bytes->rarely());
  cmd->stride_rd %= 600;
  cmd->stride_wr = bytes->flag() ? 0 : cmd->stride_wr % 600;
  cmd->fmt_tex = bytes->one_of(kTextures);
  cmd->fmt_rd &= 1;
  cmd->fmt_wr = bytes->one_of(kResults);
  cmd->cnv_type &= 1;
  if (bytes->rarely()) return;
  const auto& swizzle = bytes->one_of(kSwizzles);
  cmd->ridx = swizzle[0], cmd->gidx = swizzle[1], cmd->bidx = swizzle[2], cmd->aidx = swizzle[3];
}

union Command {
  dmp_dv_cmdraw header;
  dmp_dv_cmdraw_conv_v0 conv;
  dmp_dv_cmdraw_conv_v1 conv1;
  dmp_dv_cmdraw_fc_v0 fc;
  dmp_dv_cmdraw_ipu_v0 ipu;
  dmp_dv_cmdraw_maximizer_v0 maximizer;
};

void make_command(FuzzedData* bytes, const dmp_dv_mem* memories, Command* command) {
  const uint8_t kind = bytes->byte();
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
      bind_ipu(bytes, memories, &command->ipu);
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

float small_number(FuzzedData* bytes) {
  return static_cast<float>(static_cast<int8_t>(bytes->byte())) / 16;
}

// A chain behind the last command. The list is as before where it is refused.
void follow(FuzzedData* bytes, const dmp_dv_mem* memories, dmp_dv_cmdlist list) {
  std::vector<float> values(bytes->byte() % 25 + 1);
  for (float& value : values) value = small_number(bytes);
  std::vector<dvnn_soft_operand> operands(bytes->byte() % 4 + 1);
  for (dvnn_soft_operand& operand : operands) {
    operand.kind = bytes->rarely() ? bytes->byte() : bytes->byte() % 3;
    operand.count = bytes->flag() ? 1 : static_cast<int32_t>(values.size());
    operand.values = bytes->rarely() ? nullptr : values.data();
    operand.tensor.offs = bytes->byte() * 16u;
    bind(bytes, memories, &operand.tensor);
  }
  std::vector<dvnn_soft_step> steps(bytes->byte() % 4 + 1);
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto value = [&] {
      const size_t there = operands.size() + i + (bytes->rarely() ? 1 : 0);
      return static_cast<int32_t>(bytes->byte() % there);
    };
    steps[i].combines = bytes->flag();
    steps[i].function = bytes->byte() % (steps[i].combines ? 8 : 20);
    steps[i].a = small_number(bytes);
    steps[i].b = small_number(bytes);
    steps[i].x = value();
    steps[i].y = value();
  }
  dvnn_soft_chain chain = {sizeof chain,
                           DVNN_SOFT_FUNCTIONS,
                           operands.data(),
                           steps.data(),
                           static_cast<int32_t>(operands.size()),
                           static_cast<int32_t>(steps.size()),
                           {},
                           bytes->flag()};
  chain.output.offs = bytes->byte() * 64u;
  bind(bytes, memories, &chain.output);
  fn().soft_follow(list, &chain);
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
  fn();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostCommands = 4;
  static const dmp_dv_context context = fn().context_create();
  static const dmp_dv_mem memories[] = {fn().mem_alloc(context, kMemory),
                                        fn().mem_alloc(context, kMemory)};
  FuzzedData bytes(data, size);
  dmp_dv_cmdlist list = fn().cmdlist_create(context);
  bool good = true;
  for (int i = 0; i < kMostCommands && good && (i == 0 || bytes.left() > 0); ++i) {
    // A command of its own size, so that reads beyond it are seen.
    Command any;
    std::memset(static_cast<void*>(&any), 0, sizeof any);
    make_command(&bytes, memories, &any);
    const size_t own = std::max<size_t>(sizeof(dmp_dv_cmdraw), any.header.size);
    std::vector<uint8_t> command(own);
    std::memcpy(command.data(), &any, std::min(own, sizeof any));
    good = fn().cmdlist_add_raw(list, reinterpret_cast<dmp_dv_cmdraw*>(command.data())) == 0;
  }
  if (good && bytes.left() > 0) follow(&bytes, memories, list);
  if (good && fn().cmdlist_commit(list) == 0) {
    const int64_t id = fn().cmdlist_exec(list);
    if (id < 0 || fn().cmdlist_wait(list, id) != 0) std::abort();
    ++fuzz::accepted;
  }
  fn().cmdlist_release(list);
}

DVNN_FUZZ_TARGET(commands)

}  // namespace dvnn::fuzz::commands_target
