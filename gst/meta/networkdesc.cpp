// SPDX-License-Identifier: Apache-2.0
#include "meta/networkdesc.h"

#include <vector>

#include "base/json.h"

namespace dvnn::gst {

NetworkInfoPtr describe_network(const network::Model& model) {
  std::vector<const gchar*> labels;
  for (const std::string& label : model.labels) labels.push_back(label.c_str());
  labels.push_back(nullptr);
  return NetworkInfoPtr(gst_dv_network_info_new(model.name.c_str(), model.decoder.name.c_str(),
                                                json_text(model.decoder.params).c_str(),
                                                labels.data()));
}

}  // namespace dvnn::gst
