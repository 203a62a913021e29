// SPDX-License-Identifier: Apache-2.0
// Network files whose header is what the input says, and whose checksums are right all the same:
// 60 bytes of header, then the file's body.
#include <zlib.h>

#include <cstring>

#include "network/dvn_file.h"
#include "target.h"

namespace dvnn::fuzz::dvn_file_target {

namespace {

constexpr size_t kHeader = 64;

template <typename T>
T field(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, &bytes[at], sizeof value);
  return value;
}

uint32_t crc(const std::string& bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return 0;
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(&bytes[static_cast<size_t>(offset)]), size));
}

void put(std::string* bytes, size_t at, uint32_t value) {
  std::memcpy(&(*bytes)[at], &value, sizeof value);
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
}

static void try_input(const uint8_t* data, size_t size) {
  static auto* const file = new fuzz::MemoryFile();
  constexpr size_t kHeaderCrc = 60, kJsonCrc = 48, kWeightsCrc = 52;
  if (size < kHeaderCrc) return;
  std::string bytes(reinterpret_cast<const char*>(data), kHeaderCrc);
  bytes.resize(kHeader);
  bytes.append(reinterpret_cast<const char*>(data) + kHeaderCrc, size - kHeaderCrc);
  // Even versions have whatever magic they bring.
  if (field<uint32_t>(bytes, 8) % 2)
    bytes.replace(0, 8,
                  "\x89"
                  "DVN\r\n\x1a\n");
  put(&bytes, kJsonCrc, crc(bytes, field<uint64_t>(bytes, 16), field<uint64_t>(bytes, 24)));
  put(&bytes, kWeightsCrc, crc(bytes, field<uint64_t>(bytes, 32), field<uint64_t>(bytes, 40)));
  put(&bytes, kHeaderCrc, crc(bytes, 0, kHeaderCrc));
  const auto model = network::read_dvn(file->with(bytes));
  fuzz::accepted += fuzz::is_good(model);
}

DVNN_FUZZ_TARGET(dvn_file)

}  // namespace dvnn::fuzz::dvn_file_target
