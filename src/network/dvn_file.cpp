// SPDX-License-Identifier: Apache-2.0
#include "network/dvn_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/environment.h"
#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "base/result.h"
#include "network/model.h"

namespace dvnn::network {
namespace {

constexpr char kMagic[8] = {'\x89', 'D', 'V', 'N', '\r', '\n', '\x1a', '\n'};
constexpr uint32_t kVersion = 1;
constexpr uint64_t kAlignment = 64;

// The header as it lies in the file. All supported hosts are little-endian.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t json_offset, json_bytes;
  uint64_t weights_offset, weights_bytes;
  uint32_t json_crc, weights_crc;
  uint32_t reserved;
  uint32_t header_crc;  // of the bytes before it
};
static_assert(sizeof(Header) == 64, "the header fills its 64 bytes");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are written as they lie in memory");

uint32_t crc(const void* data, size_t size) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), size));
}

uint64_t align_up(uint64_t value) {
  return (value + kAlignment - 1) / kAlignment * kAlignment;
}

Status check_header(const Header& header, uint64_t file_bytes) {
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return malformed("not a .dvn file (make one with 'dvnet convert')");
  }
  if (header.header_crc != crc(&header, offsetof(Header, header_crc))) {
    return malformed("the header's checksum is wrong (damaged file?)");
  }
  if (header.version != kVersion) {
    return malformed(
        format("format version %u, this program reads version %u", header.version, kVersion));
  }
  const struct {
    const char* name;
    uint64_t offset, bytes, limit;
  } parts[] = {{"description", header.json_offset, header.json_bytes, kMaxJsonBytes},
               {"weights", header.weights_offset, header.weights_bytes, kMaxWeightBytes}};
  for (const auto& part : parts) {
    if (part.bytes > part.limit) {
      return too_large(format("the %s takes %llu bytes, the limit is %llu", part.name,
                              static_cast<unsigned long long>(part.bytes),
                              static_cast<unsigned long long>(part.limit)));
    }
    if (part.offset < sizeof(Header) || part.bytes > file_bytes ||
        part.offset > file_bytes - part.bytes) {
      return malformed(format(
          "the %s at %llu (%llu bytes) lies outside the file's %llu bytes (truncated?)", part.name,
          static_cast<unsigned long long>(part.offset), static_cast<unsigned long long>(part.bytes),
          static_cast<unsigned long long>(file_bytes)));
    }
  }
  return {};
}

Result<Model> read_open_file(const File& file, const Cancellation* cancellation) {
  const int fd = file.fd();
  const uint64_t bytes = size_of(file);
  if (bytes == 0) return malformed("the file is empty");
  Header header = {};
  // A file that is shorter than a header and does not even begin like one is something else.
  const auto begins = std::min<uint64_t>(sizeof header.magic, bytes);
  DVNN_TRY(read_at(fd, 0, &header, begins));
  if (std::memcmp(header.magic, kMagic, begins) == 0) {
    DVNN_TRY(read_at(fd, 0, &header, sizeof header));
  }
  DVNN_TRY(check_header(header, bytes));
  std::string text(header.json_bytes, '\0');
  DVNN_TRY(read_at(fd, header.json_offset, &text[0], text.size()));
  if (crc(text.data(), text.size()) != header.json_crc) {
    return malformed("the description's checksum is wrong (damaged file?)");
  }
  DVNN_ASSIGN(auto json, parse_json(text, "the description", cancellation));
  DVNN_ASSIGN(Model model, model_from_json(std::move(json), cancellation));
  DVNN_TRY(check_cancelled(cancellation));
  model.weights.resize(header.weights_bytes);
  DVNN_TRY(read_at(fd, header.weights_offset, model.weights.data(), model.weights.size()));
  if (crc(model.weights.data(), model.weights.size()) != header.weights_crc) {
    return malformed("the weights' checksum is wrong (damaged file?)");
  }
  DVNN_TRY(check_cancelled(cancellation));
  DVNN_TRY(validate(model));
  return model;
}

}  // namespace

Result<Model> read_dvn(const std::string& path, const Cancellation* cancellation) {
  const auto file = open_file(path, UINT64_MAX);
  if (!file.ok()) return Error{file.error().code, "network file " + file.error().message};
  Result<Model> model =
      guarded("reading it", [&] { return read_open_file(file.value(), cancellation); });
  if (model.ok()) return model;
  // The message may quote the file, which may want to talk to a terminal.
  constexpr size_t kMaxMessage = 2000;
  return Error{model.error().code, short_text(model.error().message, kMaxMessage)}.within(
      "network file '" + path + "'");
}

Status write_dvn(const Model& model, const std::string& path) {
  if (Status s = validate(model); !s.ok()) return s.error().within("network '" + model.name + "'");
  const std::string text = json_text(model_to_json(model));
  // The writer refuses a file that the reader would refuse.
  if (Status s = check_json_extent(text, "the description"); !s.ok()) {
    return s.error().within("network '" + model.name + "'");
  }
  if (text.size() > kMaxJsonBytes || model.weights.size() > kMaxWeightBytes) {
    return too_large(
        format("network '%s': its description takes %zu bytes and its weights %zu, the limits are "
               "%llu and %llu",
               model.name.c_str(), text.size(), model.weights.size(),
               static_cast<unsigned long long>(kMaxJsonBytes),
               static_cast<unsigned long long>(kMaxWeightBytes)));
  }
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.header_bytes = sizeof header;
  header.json_offset = sizeof header;
  header.json_bytes = text.size();
  header.weights_offset = align_up(header.json_offset + header.json_bytes);
  header.weights_bytes = model.weights.size();
  header.json_crc = crc(text.data(), text.size());
  header.weights_crc = crc(model.weights.data(), model.weights.size());
  header.header_crc = crc(&header, offsetof(Header, header_crc));
  const std::string padding(header.weights_offset - header.json_offset - text.size(), '\0');

  return replace_file(path, {{reinterpret_cast<const char*>(&header), sizeof header},
                             text,
                             padding,
                             bytes_as_text(model.weights)});
}

std::string default_network() {
  const char* path = environment("DVNN_DEFAULT_NETWORK");
  return path ? path : DVNN_DEFAULT_NETWORK;
}

}  // namespace dvnn::network
