// SPDX-License-Identifier: Apache-2.0
// What takes the model's headers, which are long, apart from the tests that take gst_fixture.h.
#include "gst_fixture.h"

#include <unistd.h>

#include "grid_network.h"
#include "network/dvn_file.h"

namespace dvnn::test {

const std::string& network_path() {
  static const std::string path = [] {
    std::string name = "/tmp/dvnn-grid-XXXXXX.dvn";
    close(mkstemps(&name[0], 4));
    if (!network::write_dvn(grid_network(), name).ok()) g_error("cannot write %s", name.c_str());
    return name;
  }();
  return path;
}

void remove_network() {
  unlink(network_path().c_str());
}

}  // namespace dvnn::test
