// SPDX-License-Identifier: Apache-2.0
// Spools that an earlier process, a power cut or anybody has left: segments of whole records, of
// records whose checksum is right and whose texts are not, and of any bytes. Then a day's work.
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/format.h"
#include "fuzzed_data.h"
#include "publish/spool.h"
#include "publish/spool_segment.h"
#include "target.h"

namespace dvnn::fuzz::spool_target {

using fuzz::expect;
using fuzz::FuzzedData;
using publish::Spool;

namespace {

namespace files = std::filesystem;

std::string& folder() {
  static auto* const path = new std::string();
  return *path;
}

void put(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

std::string any_bytes(FuzzedData* in, size_t most) {
  const size_t size = static_cast<size_t>(in->byte()) % (most + 1);
  std::string bytes(std::min(size, in->left()), '\0');
  in->fill(bytes.data(), bytes.size());
  return bytes;
}

std::string any_segment(FuzzedData* in, uint64_t number) {
  std::string bytes;
  for (uint8_t left = in->byte() % 12; left > 0; --left) {
    const uint8_t kind = in->byte();
    if (kind < 160) {
      publish::append_record({in->text(8), in->text(4), in->text(60)}, number++, &bytes);
    } else if (kind < 224) {
      const std::string body = any_bytes(in, 60);
      std::string head(publish::kRecordMark, sizeof(publish::kRecordMark));
      put(static_cast<uint32_t>(number + in->byte() % 4), &head);
      put(kind % 16 ? 0 : in->byte(), &head);
      put(static_cast<uint32_t>(kind % 8 ? body.size() : in->extent(100)), &head);
      put(publish::record_checksum(body.data(), body.size()), &head);
      put(publish::record_checksum(head.data(), head.size()), &head);
      bytes += head + body;
    } else {
      bytes += any_bytes(in, 40);
    }
  }
  return bytes;
}

void leave_files(FuzzedData* in) {
  files::remove_all(folder());
  files::create_directories(folder());
  static constexpr unsigned long long kNumbers[] = {
      1, 2, 9, 40, publish::kMostNumber, 9999999999999999ull};
  for (uint8_t left = 1 + in->byte() % 3; left > 0; --left) {
    char name[32];
    const auto number = in->one_of(kNumbers);
    std::snprintf(name, sizeof(name), "%016llu.spool", number);
    std::ofstream(folder() + "/" + name, std::ios::binary) << any_segment(in, number);
  }
  const uint8_t kind = in->byte();
  if (kind >= 64 && kind < 192) {
    std::string text = std::to_string(in->one_of(kNumbers));
    text += ' ' + std::to_string(in->one_of(kNumbers));
    text += ' ' + std::to_string(in->extent(400));
    const auto checksum = publish::record_checksum(text.data(), text.size());
    std::ofstream(folder() + "/place") << text << format(" %08x\n", checksum);
  } else if (kind >= 192) {
    std::ofstream(folder() + "/place", std::ios::binary) << any_bytes(in, 40);
  }
}

// Reads, acknowledges what was read in its order, and appends by turns.
void work(FuzzedData* in, Spool* spool) {
  std::deque<Spool::Place> unacknowledged;
  for (int left = 40; left > 0 && in->left() > 0; --left) {
    const uint64_t before = spool->messages();
    switch (in->byte() % 6) {
      case 0:
      case 1:
        if (const auto entry = spool->read()) unacknowledged.push_back(entry->place);
        break;
      case 2:
        if (unacknowledged.empty()) break;
        spool->acknowledge(unacknowledged.front());
        unacknowledged.pop_front();
        break;
      case 3:
        if (fuzz::is_good(spool->append({in->text(8), "", in->text(200)}))) {
          expect(spool->has_unread(), "what was appended is not there");
        }
        break;
      case 4:
        spool->rewind();
        expect(spool->messages() <= before, "rewinding makes messages");
        unacknowledged.clear();
        break;
      default:
        (void)fuzz::is_good(spool->sync());
    }
  }
}

// All of it, which is then gone for good.
void drain(Spool* spool) {
  spool->rewind();
  while (spool->has_unread()) {
    const uint64_t before = spool->messages();
    const auto entry = spool->read();
    if (entry) spool->acknowledge(entry->place);
    expect(entry ? spool->messages() + 1 == before : spool->messages() < before,
           "a message is not counted");
  }
  expect(spool->messages() == 0, "messages that nobody can read");
}

}  // namespace

static void prepare() {
  // In memory where that can be: a disk's fdatasync() would take most of the time.
  std::string path = "/dev/shm/dvnn-fuzz-spool-XXXXXX";
  if (!mkdtemp(path.data())) {
    path.replace(0, std::strlen("/dev/shm"), "/tmp");
    if (!mkdtemp(path.data())) std::abort();
  }
  folder() = path + "/spool";
  std::atexit([] { files::remove_all(files::path(folder()).parent_path()); });
}

static void try_input(const uint8_t* data, size_t size) {
  FuzzedData in(data, size);
  leave_files(&in);
  Spool::Bounds bounds;
  bounds.most_bytes = 4096;
  bounds.segment_bytes = 400;
  {
    auto spool = Spool::open(folder(), bounds);
    if (!fuzz::is_good(spool)) return;
    fuzz::accepted += spool.value()->messages() > 0;
    work(&in, spool.value().get());
  }
  {
    auto spool = Spool::open(folder(), bounds);
    if (!fuzz::is_good(spool)) return;
    work(&in, spool.value().get());
    drain(spool.value().get());
  }
  auto spool = Spool::open(folder(), bounds);
  if (fuzz::is_good(spool)) expect(spool.value()->messages() == 0, "what was delivered is back");
}

DVNN_FUZZ_TARGET(spool)

}  // namespace dvnn::fuzz::spool_target
