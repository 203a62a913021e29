// SPDX-License-Identifier: Apache-2.0
// Runs a target without libFuzzer, by any compiler: over every file of a folder and a number of
// mutants of each, the same ones every time.  replay TARGET FILE_OR_FOLDER MUTANTS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "target.h"

namespace {

using dvnn::fuzz::Target;

constexpr size_t kMostBytes = 16384;
std::minstd_rand random_bits(1);

// A file, or those of a folder.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<uint8_t> read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

// Damage to bytes, as libFuzzer's for mutators that know more.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  for (auto left = 1 + random_bits() % 4; left > 0; --left) {
    const size_t at = size > 0 ? random_bits() % size : 0;
    switch (random_bits() % 5) {
      case 0:
        if (size > 0) data[at] ^= static_cast<uint8_t>(1u << random_bits() % 8);
        break;
      case 1:
        if (size > 0) data[at] = static_cast<uint8_t>(random_bits());
        break;
      case 2:
        size = std::max<size_t>(1, at);
        break;
      case 3:  // a number of four bytes becomes large
        for (size_t k = 0; k < 4 && at + k < size; ++k) data[at + k] = k < 3 ? 0xff : 0x7f;
        break;
      default:
        if (size < max_size) {
          std::memmove(data + at + 1, data + at, size - at);
          data[at] = static_cast<uint8_t>(random_bits());
          ++size;
        }
    }
  }
  return size;
}

namespace {

std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

std::vector<uint8_t> mutant(const Target& target, const std::vector<uint8_t>& file, unsigned seed) {
  std::vector<uint8_t> bytes(std::max(file.size(), kMostBytes));
  std::copy(file.begin(), file.end(), bytes.begin());
  random_bits.seed(seed + 1);
  bytes.resize(target.mutate ? target.mutate(bytes.data(), file.size(), bytes.size(), seed)
                             : LLVMFuzzerMutate(bytes.data(), file.size(), bytes.size()));
  bytes.shrink_to_fit();  // so that reads beyond the input are seen
  return bytes;
}

int replay(const Target& target, const char* path, unsigned mutants) {
  target.prepare();
  int64_t files = 0, of_files = 0;
  for (const auto& name : files_of(path)) {
    // So that it is known which one ended the process.
    std::fprintf(stderr, "%s\n", name.c_str());
    const std::vector<uint8_t> file = read(name);
    const int64_t before = dvnn::fuzz::accepted;
    target.try_input(file.data(), file.size());
    of_files += dvnn::fuzz::accepted - before;
    ++files;
    for (unsigned seed = 0; seed < mutants; ++seed) {
      const std::vector<uint8_t> bytes = mutant(target, file, seed);
      target.try_input(bytes.data(), bytes.size());
    }
  }
  std::printf("%lld files, %lld of them not refused; %u mutants of each, %lld not refused\n",
              static_cast<long long>(files), static_cast<long long>(of_files), mutants,
              static_cast<long long>(dvnn::fuzz::accepted - of_files));
  // If all are refused, nothing was tried but the first check.
  return of_files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

bool dvnn::fuzz::add_target(const Target& target) {
  targets().push_back(target);
  return true;
}

int main(int argc, char** argv) {
  for (const Target& target : targets()) {
    if (argc == 4 && std::strcmp(argv[1], target.name) == 0) {
      return replay(target, argv[2], static_cast<unsigned>(std::atoi(argv[3])));
    }
  }
  std::fprintf(stderr, "usage: %s TARGET FILE_OR_FOLDER MUTANTS\ntargets:", argv[0]);
  for (const Target& target : targets()) std::fprintf(stderr, " %s", target.name);
  std::fprintf(stderr, "\n");
  return 2;
}
