// SPDX-License-Identifier: Apache-2.0
// Takes an input apart into numbers, choices and texts. After its end there are zeros, so the first
// of each list of choices is the ordinary one.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>

namespace dvnn::fuzz {

class FuzzedData {
 public:
  FuzzedData(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  size_t left() const { return left_; }
  void fill(void* to, size_t size) {
    const size_t n = size < left_ ? size : left_;
    if (n > 0) std::memcpy(to, data_, n);
    std::memset(static_cast<uint8_t*>(to) + n, 0, size - n);
    data_ += n;
    left_ -= n;
  }
  /// Returns arbitrary bits.
  template <typename T>
  T any() {
    T value;
    fill(&value, sizeof value);
    return value;
  }
  uint8_t byte() { return any<uint8_t>(); }
  bool flag() { return byte() & 1; }
  /// True once in a while, so that most inputs get past the first checks.
  bool rarely() { return byte() >= 240; }
  /// A number in [least, most].
  int64_t in(int64_t least, int64_t most) {
    const auto range = static_cast<uint64_t>(most - least) + 1;
    return least + static_cast<int64_t>((range <= 256 ? byte() : any<uint32_t>()) % range);
  }
  template <typename List>
  auto& one_of(const List& list) {
    return std::begin(list)[byte() % std::size(list)];
  }
  /// Returns a mostly ordinary number, in [-1, 2] times `scale`; sometimes an extreme one.
  double real(double scale) {
    static constexpr double kOdd[] = {0,
                                      1,
                                      -1,
                                      1e300,
                                      -1e300,
                                      1e-300,
                                      2147483648.0,
                                      -2147483649.0,
                                      std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      9.3e18,
                                      std::numeric_limits<double>::denorm_min()};
    if (byte() >= 208) return one_of(kOdd);
    return (any<uint16_t>() / 32768.0 * 1.5 - 1) * scale;
  }
  /// Returns a mostly ordinary number up to `most`; sometimes arbitrary bits.
  uint32_t extent(uint32_t most) {
    static constexpr uint32_t kOdd[] = {0,          1,        0x7fffffff, 0x80000000, 0xffffffff,
                                        0xfffffffe, 1u << 16, 1u << 20,   32767,      65535};
    const uint8_t kind = byte();
    if (kind >= 248) return any<uint32_t>();
    if (kind >= 224) return one_of(kOdd);
    return static_cast<uint32_t>(in(1, most));
  }
  /// A text of at most `most` bytes, none of them 0.
  std::string text(size_t most) {
    std::string text(static_cast<size_t>(in(0, static_cast<int64_t>(most))), '\0');
    if (text.size() > left_) text.resize(left_);
    fill(text.data(), text.size());
    for (char& c : text) c = c ? c : ' ';
    return text;
  }
  std::string rest() {
    std::string rest(reinterpret_cast<const char*>(data_), left_);
    left_ = 0;
    return rest;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace dvnn::fuzz
