// SPDX-License-Identifier: Apache-2.0
#include "kernel/commands.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dvnn::kernel {
namespace {

constexpr int kMaxKernel = 7;
constexpr uint64_t kWeightAlign = 16, kUnitAlign = 16, kTensorAlign = 2;  // bytes

// Replaces a Buffer by the memory that it names.
int resolve(dmp_dv_buf* buf, uint64_t align, const FindMemory& find) {
  Buffer named;
  std::memcpy(&named, buf, sizeof named);
  std::memset(buf, 0, sizeof *buf);
  if (named.fd < 0) return 0;
  if (named.offset % align != 0) return EINVAL;
  buf->mem = find(named.fd);
  buf->offs = named.offset;
  return buf->mem ? 0 : EBADF;
}

template <typename Command>
void begin(Command* command, int type, int version) {
  std::memset(&command->header, 0, sizeof command->header);
  command->header.size = sizeof *command;
  command->header.device_type = static_cast<uint8_t>(type);
  command->header.version = static_cast<uint8_t>(version);
}

template <typename Command>
void store(const Command& command, std::vector<uint8_t>* to) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&command);
  to->assign(bytes, bytes + sizeof command);
}

int runs_of(uint32_t topo) {
  int runs = 0;
  for (; topo != 0; topo >>= 1) ++runs;
  return runs;
}

// The kernel checks a kernel's size in each run, also where nothing is convolved.
bool has_kernel(const dmp_dv_cmdraw_conv_v0_run& run) {
  const int x = run.p & 0xff, y = run.p >> 8 ? run.p >> 8 : x;
  return x >= 1 && y >= 1 && x <= kMaxKernel && y <= kMaxKernel;
}

int check_run(const dmp_dv_cmdraw_conv_v0& command, const dmp_dv_cmdraw_conv_v0_run& run) {
  if (!has_kernel(run)) return EINVAL;
  const bool alone = run.conv_enable == 0 && run.pool_enable == 0 && command.topo == 1;
  return (run.lrn & 1) != 0 && !alone ? EINVAL : 0;
}

// `body`: a version 0 command without its head, `size` bytes.
int translate_conv(const uint8_t* body, size_t size, const FindMemory& find,
                   dmp_dv_cmdraw_conv_v0* command) {
  std::memset(command, 0, sizeof *command);
  if (size + sizeof(CommandHead) < conv_bytes(1)) return EINVAL;
  std::memcpy(&command->input_buf, body,
              std::min(size, sizeof *command - offsetof(dmp_dv_cmdraw_conv_v0, input_buf)));
  begin(command, DMP_DV_DEV_CONV, 0);
  const int runs = runs_of(command->topo);
  if (runs == 0 || size + sizeof(CommandHead) < conv_bytes(runs)) return EINVAL;
  for (dmp_dv_buf* buf : {&command->input_buf, &command->output_buf, &command->eltwise_buf}) {
    if (const int error = resolve(buf, kTensorAlign, find)) return error;
  }
  for (int i = 0; i < runs; ++i) {
    if (const int error = check_run(*command, command->run[i])) return error;
    if (const int error = resolve(&command->run[i].weight_buf, kWeightAlign, find)) return error;
  }
  return 0;
}

int translate_conv_v1(const uint8_t* body, size_t size, const FindMemory& find,
                      dmp_dv_cmdraw_conv_v1* command) {
  std::memset(command, 0, sizeof *command);
  if (size < kConvV1Extra) return EINVAL;
  begin(command, DMP_DV_DEV_CONV, 1);
  std::memcpy(&command->u8tofp16_table, body, kConvV1Extra);
  if (const int error = resolve(&command->u8tofp16_table, kUnitAlign, find)) return error;
  return translate_conv(body + kConvV1Extra, size - kConvV1Extra, find, &command->conv_cmd);
}

int translate_ipu(const CommandHead* head, const FindMemory& find, dmp_dv_cmdraw_ipu_v0* command) {
  if (head->size < kIpuBytes) return EINVAL;
  const auto* bytes = reinterpret_cast<const uint8_t*>(head);
  auto* to = reinterpret_cast<uint8_t*>(command);
  constexpr size_t kScaleBytes = 8;
  std::memcpy(to, bytes, kIpuScale);
  std::memcpy(to + kIpuScale, bytes + kIpuScale + kScaleBytes, sizeof *command - kIpuScale);
  begin(command, DMP_DV_DEV_IPU, 0);
  const Buffer none = {-1, 0, 0};
  if (!command->use_tex) std::memcpy(&command->tex, &none, sizeof none);
  if (!command->use_rd) std::memcpy(&command->rd, &none, sizeof none);
  for (dmp_dv_buf* buf : {&command->tex, &command->rd, &command->wr}) {
    if (const int error = resolve(buf, kUnitAlign, find)) return error;
  }
  return 0;
}

int translate_maximizer(const CommandHead* head, const FindMemory& find,
                        dmp_dv_cmdraw_maximizer_v0* command) {
  if (head->size < sizeof *command) return EINVAL;
  std::memcpy(command, head, sizeof *command);
  begin(command, DMP_DV_DEV_MAXIMIZER, 0);
  for (dmp_dv_buf* buf : {&command->input_buf, &command->output_buf}) {
    if (const int error = resolve(buf, kUnitAlign, find)) return error;
  }
  return 0;
}

// Fills in a command of one type, and keeps it if that succeeds.
template <typename Command, typename Fill>
int made(std::vector<uint8_t>* to, Fill&& fill) {
  Command command;
  const int error = fill(&command);
  if (error == 0) store(command, to);
  return error;
}

}  // namespace

int translate(int device, const CommandHead* head, const FindMemory& find,
              std::vector<uint8_t>* to) {
  if (head->version > (device == 0 ? 1u : 0u) || head->size < sizeof *head) return EINVAL;
  const auto* body = reinterpret_cast<const uint8_t*>(head) + sizeof *head;
  const size_t size = head->size - sizeof *head;
  switch (device * 2 + static_cast<int>(head->version)) {
    case 0:
      return made<dmp_dv_cmdraw_conv_v0>(
          to, [&](auto* command) { return translate_conv(body, size, find, command); });
    case 1:
      return made<dmp_dv_cmdraw_conv_v1>(
          to, [&](auto* command) { return translate_conv_v1(body, size, find, command); });
    case 2:
      return made<dmp_dv_cmdraw_ipu_v0>(
          to, [&](auto* command) { return translate_ipu(head, find, command); });
    default:
      return made<dmp_dv_cmdraw_maximizer_v0>(
          to, [&](auto* command) { return translate_maximizer(head, find, command); });
  }
}

}  // namespace dvnn::kernel
