// SPDX-License-Identifier: Apache-2.0
#include "import/keras/hdf5_message.h"

#include <hdf5.h>

#include <cstring>

#include "base/format.h"
#include "import/model_file.h"

namespace dvnn::import {
namespace {

constexpr uint64_t kMaxElementBytes = uint64_t{1} << 30;

void put_number(uint64_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(const std::string& text, std::string* out) {
  put_number(text.size(), out);
  *out += text;
}

// Parses messages without trust.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  uint64_t number() {
    uint64_t value = 0;
    if (!take(sizeof value)) return 0;
    std::memcpy(&value, bytes_.data() + at_ - sizeof value, sizeof value);
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    return take(size) ? bytes_.substr(at_ - size, size) : "";
  }
  // Returns the next `size` bytes in place, or null.
  const char* piece(uint64_t size) { return take(size) ? bytes_.data() + at_ - size : nullptr; }
  bool good() const { return good_; }
  bool done() const { return good_ && at_ == bytes_.size(); }

 private:
  bool take(uint64_t size) {
    good_ = good_ && size <= bytes_.size() - at_;
    if (good_) at_ += size;
    return good_;
  }
  const std::string& bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

std::string write_message(const Hdf5Contents& contents) {
  std::string out;
  put_text(contents.refusal, &out);
  if (!contents.refusal.empty()) return out;
  put_text(contents.config, &out);
  put_number(contents.attributes.size(), &out);
  for (const auto& [key, texts] : contents.attributes) {
    put_text(key, &out);
    put_number(texts.size(), &out);
    for (const std::string& text : texts) put_text(text, &out);
  }
  put_number(contents.arrays.size(), &out);
  for (const auto& [path, array] : contents.arrays) {
    put_text(path, &out);
    put_number(array.dims.size(), &out);
    for (int64_t d : array.dims) put_number(static_cast<uint64_t>(d), &out);
    put_text(
        {reinterpret_cast<const char*>(array.values.data()), array.values.size() * sizeof(float)},
        &out);
  }
  return out;
}

bool read_message(const std::string& bytes, Hdf5Contents* contents) {
  Reader in(bytes);
  contents->refusal = in.text();
  if (!contents->refusal.empty()) return in.done();
  contents->config = in.text();
  for (uint64_t left = in.number(); left > 0 && in.good(); --left) {
    std::vector<std::string>& list = contents->attributes[in.text()];
    for (uint64_t texts = in.number(); texts > 0 && in.good(); --texts) list.push_back(in.text());
  }
  for (uint64_t left = in.number(); left > 0 && in.good(); --left) {
    const auto [place, is_new] = contents->arrays.try_emplace(in.text());
    if (!is_new) return false;  // the dimensions of both would be concatenated
    Hdf5Array& array = place->second;
    uint64_t count = 1;
    for (uint64_t rank = in.number(); rank > 0 && in.good(); --rank) {
      const uint64_t extent = in.number();
      if (extent == 0 || extent > kMaxElementBytes / count) return false;
      count *= extent;
      array.dims.push_back(static_cast<int64_t>(extent));
    }
    if (in.number() != count * sizeof(float)) return false;
    const char* const values = in.piece(count * sizeof(float));
    if (!values) return false;
    array.values.resize(count);
    std::memcpy(array.values.data(), values, count * sizeof(float));
  }
  return in.done();
}

Result<Hdf5Contents> read_contents(const std::string& path, const SandboxLimits& limits,
                                   const ContentsReader& reader, const char* damage) {
  DVNN_ASSIGN(const File file, open_model_file(path, kMaxModelBytes));
  // libhdf5 is initialised outside the sandbox: inside, its system calls would fail.
  if (H5open() < 0) return Error{ErrorCode::kInternal, "libhdf5 does not begin"};
  const SandboxReader read = [&](uint8_t* bytes, size_t size, std::string* message) {
    Hdf5Contents contents;
    const bool good = reader(bytes, size, &contents);
    *message = write_message(contents);
    return good || !contents.refusal.empty();
  };
  DVNN_ASSIGN(const std::string message, read_in_sandbox(file, path, damage, limits, read));
  Hdf5Contents contents;
  if (!read_message(message, &contents)) return malformed("'" + path + "' " + damage);
  if (contents.refusal.empty()) return contents;
  return unsupported("'" + path + "': " + printable(contents.refusal));
}

}  // namespace dvnn::import
