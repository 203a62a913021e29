// SPDX-License-Identifier: Apache-2.0
#include "network_file.h"

#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

namespace dvnn::test {

std::string dvn_bytes(const std::string& description, const std::string& weights) {
  constexpr size_t kHeader = 64;
  auto crc = [](const std::string& bytes) {
    return static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  };
  auto put = [](std::string* to, size_t at, const auto& value) {
    std::memcpy(&(*to)[at], &value, sizeof value);
  };
  std::string header(kHeader, '\0');
  header.replace(0, 8,
                 "\x89"
                 "DVN\r\n\x1a\n");
  const uint64_t size = description.size(), at = (kHeader + size + 63) / 64 * 64;
  put(&header, 8, uint32_t{1});
  put(&header, 12, uint32_t{kHeader});
  put(&header, 16, uint64_t{kHeader});
  put(&header, 24, size);
  put(&header, 32, at);
  put(&header, 40, uint64_t{weights.size()});
  put(&header, 48, crc(description));
  put(&header, 52, crc(weights));
  put(&header, 60, crc(header.substr(0, 60)));
  std::string bytes = header + description;
  bytes.resize(at, '\0');
  return bytes + weights;
}

NetworkFile::NetworkFile(const std::string& description, const std::string& weights) {
  close(mkstemp(&path[0]));
  std::ofstream(path, std::ios::binary) << dvn_bytes(description, weights);
}

NetworkFile::~NetworkFile() {
  unlink(path.c_str());
}

Json idle_network() {
  return {{"name", "idle"},
          {"input",
           {{"tensor", 0},
            {"color", "rgb"},
            {"mean", {0, 0, 0}},
            {"scale", {1, 1, 1}},
            {"resize", "stretch"},
            {"pad_value", {0, 0, 0}}}},
          {"io_bytes", 1536},
          {"tensors",
           {{{"name", "data"},
             {"type", "float16"},
             {"layout", "whc8"},
             {"shape", {1, 3, 16, 16}},
             {"storage", "io"},
             {"offset", 0}}}},
          {"steps", Json::array()},
          {"outputs", {{{"name", "data"}, {"tensor", 0}}}}};
}

Json network_of_nodes(size_t count, const std::function<Json(size_t i)>& node) {
  Json values = {"v0"}, nodes = Json::array();
  for (size_t i = 0; i < count; ++i) {
    Json one = node(i);
    one["name"] = "n" + std::to_string(i);
    one["layers"] = Json::array();
    one["inputs"] = {i};
    one["shape_inputs"] = Json::array();
    one["output"] = i + 1;
    nodes.push_back(std::move(one));
    values.push_back("v" + std::to_string(i + 1));
  }
  Json network = idle_network();
  network["graph"] = {{"name", "g"}, {"values", values},   {"nodes", nodes},
                      {"input", 0},  {"outputs", {count}}, {"output_names", {"o"}}};
  return network;
}

}  // namespace dvnn::test
