// SPDX-License-Identifier: Apache-2.0
#include "network/dvn_file.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "base/json.h"
#include "check_suite.h"
#include "grid_network.h"
#include "json_at.h"

namespace dvnn::test::dvn_file_tests {

DVNN_SUITE(dvn_file);

using namespace dvnn::network;

namespace {

std::string temporary() {
  std::string path = "/tmp/dvnn-file-XXXXXX";
  close(mkstemp(&path[0]));
  return path;
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

void spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

bool has(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

std::string message_of(const std::string& path) {
  const auto model = read_dvn(path);
  ck_assert_msg(!model.ok(), "the file was accepted");
  const std::string text = model.error().message;
  ck_assert_msg(has(text, path.c_str()), "the message does not name the file: %s", text.c_str());
  ck_assert_msg(!has(text, "\n"), "more than one line: %s", text.c_str());
  return text;
}

// Replaces the description and makes all checksums right again: what a clever forger would do.
void forge(const std::string& path, const Json& description) {
  std::string bytes = slurp(path);
  const std::string text = json_text(description);
  uint64_t weights_offset, weights_bytes;
  std::memcpy(&weights_offset, &bytes[32], 8);
  std::memcpy(&weights_bytes, &bytes[40], 8);
  const std::string weights = bytes.substr(weights_offset, weights_bytes);
  bytes.resize(64);
  const uint64_t json_bytes = text.size(), offset = (64 + json_bytes + 63) / 64 * 64;
  auto crc = [](const void* data, size_t size) {
    return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), size));
  };
  std::memcpy(&bytes[24], &json_bytes, 8);
  std::memcpy(&bytes[32], &offset, 8);
  const uint32_t json_crc = crc(text.data(), text.size());
  std::memcpy(&bytes[48], &json_crc, 4);
  const uint32_t header_crc = crc(bytes.data(), 60);
  std::memcpy(&bytes[60], &header_crc, 4);
  bytes += text;
  bytes.resize(offset, '\0');
  spill(path, bytes + weights);
}

}  // namespace

DVNN_TEST(what_is_written_is_read_back) {
  const std::string path = temporary();
  Model model = test::grid_network();
  model.input.picture.mean = {{103.5f, 116, 123.25f}};
  model.input.picture.scale = {{0.5f, 0.25f, 2}};
  model.input.picture.pad_value = {{1, 2, 3}};
  ck_assert(write_dvn(model, path).ok());
  const auto back = read_dvn(path);
  ck_assert_msg(back.ok(), "%s", back.ok() ? "" : back.error().message.c_str());
  ck_assert(model_to_json(back.value()) == model_to_json(model));
  ck_assert(back.value().input.picture.mean == model.input.picture.mean);
  ck_assert(back.value().input.picture.scale == model.input.picture.scale);
  ck_assert(back.value().input.picture.pad_value == model.input.picture.pad_value);
  ck_assert(back.value().weights == model.weights);
  uint64_t weights_offset;
  std::memcpy(&weights_offset, &slurp(path)[32], 8);
  ck_assert_uint_eq(weights_offset % 64, 0);
  unlink(path.c_str());
}

DVNN_TEST(a_file_that_cannot_be_written_leaves_nothing_behind) {
  const Status status = write_dvn(test::grid_network(), "/nowhere/net.dvn");
  ck_assert(!status.ok());
  ck_assert(has(status.error().message, "/nowhere/net.dvn"));
}

DVNN_TEST(missing_empty_and_foreign_files_are_named) {
  ck_assert(read_dvn("/nowhere.dvn").error().code == ErrorCode::kNotFound);
  const std::string path = temporary();
  ck_assert(has(message_of(path), "empty"));
  spill(path, std::string(200, 'x'));
  ck_assert(has(message_of(path), "not a .dvn file"));
  unlink(path.c_str());
  mkdir(path.c_str(), 0700);
  ck_assert(has(message_of(path), "regular"));
  rmdir(path.c_str());
}

DVNN_TEST(every_truncation_is_refused) {
  const std::string path = temporary();
  ck_assert(write_dvn(test::grid_network(), path).ok());
  const std::string bytes = slurp(path);
  for (size_t size = 0; size < bytes.size(); size += size < 128 ? 1 : 37) {
    spill(path, bytes.substr(0, size));
    message_of(path);
  }
  unlink(path.c_str());
}

DVNN_TEST(every_flipped_bit_is_noticed) {
  const std::string path = temporary();
  ck_assert(write_dvn(test::grid_network(), path).ok());
  const std::string bytes = slurp(path);
  uint64_t json_bytes, weights_offset;
  std::memcpy(&json_bytes, &bytes[24], 8);
  std::memcpy(&weights_offset, &bytes[32], 8);
  for (size_t at = 0; at < bytes.size(); at += at < 128 ? 1 : 29) {
    if (at >= 64 + json_bytes && at < weights_offset) continue;  // padding belongs to no part
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    spill(path, damaged);
    message_of(path);
  }
  unlink(path.c_str());
}

DVNN_TEST(forged_descriptions_are_refused_by_field) {
  const std::string path = temporary();
  const Model model = test::grid_network();
  // The last weights would end 16 bytes behind the file's.
  const uint64_t too_late = model.steps[1].command.runs[0].weight_offset + 16;
  struct Forgery {
    const char* pointer;
    Json value;
    const char* word;
  };
  const Forgery forgeries[] = {
      {"/io_bytes", -1, "io_bytes"},
      {"/io_bytes", 64, "outside its buffer"},
      {"/io_bytes", 1e18, "io_bytes"},
      {"/tensors/0/shape", {1, 3, 0, 16}, "shape"},
      {"/tensors/0/shape", {1, 65536, 65536, 65536}, "elements"},
      {"/tensors/0/shape", Json::array(), "shape"},
      {"/tensors/0/offset", 1, "offset"},
      {"/tensors/0/offset", 1 << 29, "outside"},
      {"/tensors/0/layout", "chwn", "layout"},
      {"/tensors/0/type", "int7", "type"},
      {"/tensors/0/storage", "heap", "storage"},
      {"/input/tensor", 99, "input"},
      {"/input/mean", {1, 2}, "mean"},
      {"/input/resize", "magic", "resize"},
      {"/outputs/0/tensor", 77, "tensor that does not exist"},
      {"/outputs", Json::array(), "no output"},
      {"/labels", {"background", 7}, "strings"},
      {"/steps/0/inputs", {99}, "tensor 99"},
      {"/steps/0/inputs", Json::array(), "input"},
      {"/steps/0/device/w", 15, "15"},
      {"/steps/0/device/topo", 3, "topo"},
      {"/steps/0/device/runs/0/m", 70000, "m"},
      {"/steps/0/device/runs/0/m", 1, "elements"},
      {"/steps/0/device/runs/0/conv/kernel", {9, 9}, "kernel"},
      {"/steps/0/device/runs/0/conv/stride", {0, 1}, "stride"},
      {"/steps/0/device/runs/0/conv/weight_offset", 1 << 20, "weights"},
      {"/steps/1/device/runs/0/conv/weight_offset", too_late, "outside"},
      {"/steps/0/device/runs/0/conv/kind", "", "kind"},
      {"/steps/0/device", 5, "device"},
      {"/steps/0/device/eltwise_add", true, "eltwise"},
      {"/steps", 7, "steps"},
      {"/tensors", nullptr, "tensors"},
  };
  for (const Forgery& forgery : forgeries) {
    ck_assert(write_dvn(model, path).ok());
    Json description = model_to_json(model);
    *json_at(&description, forgery.pointer) = forgery.value;
    forge(path, description);
    const std::string text = message_of(path);
    ck_assert_msg(has(text, forgery.word), "%s: %s", forgery.pointer, text.c_str());
  }
  unlink(path.c_str());
}

DVNN_TEST(random_damage_under_right_checksums_never_crashes) {
  const std::string path = temporary();
  const Model model = test::grid_network();
  const std::string text = json_text(model_to_json(model));
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = text;
    for (int k = 0; k < 3; ++k) {
      damaged[random() % damaged.size()] = "0123456789-.,[]{}\"ea"[random() % 20];
    }
    const auto parsed = parse_json(damaged, "it");
    if (!parsed.ok()) continue;
    ck_assert(write_dvn(model, path).ok());
    forge(path, parsed.value());
    (void)read_dvn(path).ok();  // either way; the sanitizers watch
  }
  unlink(path.c_str());
}

}  // namespace dvnn::test::dvn_file_tests
