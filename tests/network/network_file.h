// SPDX-License-Identifier: Apache-2.0
// .dvn files as an attacker writes them: any description, all checksums right.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace dvnn::test {

/// The bytes of a file with this description.
std::string dvn_bytes(const std::string& description, const std::string& weights);

/// A file that goes with the object.
class NetworkFile {
 public:
  explicit NetworkFile(const std::string& description, const std::string& weights = "");
  explicit NetworkFile(const Json& description, const std::string& weights = "")
      : NetworkFile(json_text(description), weights) {}
  ~NetworkFile();
  NetworkFile(const NetworkFile&) = delete;
  NetworkFile& operator=(const NetworkFile&) = delete;

  std::string path = "/tmp/dvnn-hostile-XXXXXX";
};

/// A network of a 3 x 16 x 16 input that is its output, and nothing else.
Json idle_network();

/// Its graph: `count` nodes in a row, each made by `node(i)`, which says "op" and what goes with
/// it.
Json network_of_nodes(size_t count, const std::function<Json(size_t i)>& node);

}  // namespace dvnn::test
