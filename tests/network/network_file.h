// SPDX-License-Identifier: Apache-2.0
// .dvn files as an attacker would write them: any description, with right checksums.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace dvnn::test {

/// Returns the bytes of a file with this description.
std::string dvn_bytes(const std::string& description, const std::string& weights);

/// A file that is removed with the object.
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

/// Returns a network whose 3 x 16 x 16 input is its output.
Json idle_network();

/// Returns that network with a graph of `count` nodes in a row; `node(i)` returns node i with "op"
/// and its other members.
Json network_of_nodes(size_t count, const std::function<Json(size_t i)>& node);

}  // namespace dvnn::test
