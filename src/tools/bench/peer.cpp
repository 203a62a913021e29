// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/peer.h"

namespace dvnn::tools {

#ifndef DVNN_HAVE_OPENCV
Result<std::unique_ptr<Peer>> open_opencv(const std::vector<std::string>&, const network::Model&,
                                          const Bitmap&, int) {
  return Error{ErrorCode::kNotFound, "OpenCV was not there when this was built"};
}
#endif

Result<std::unique_ptr<Peer>> open_peer(const std::vector<std::string>& files,
                                        const network::Model& model, const Bitmap& picture,
                                        int threads) {
  if (files.size() > 1) return open_opencv(files, model, picture, threads);
  auto peer = open_onnxruntime(files[0], model, threads);
  if (peer.ok()) return std::unique_ptr<Peer>(std::move(peer.value()));
  if (peer.error().code != ErrorCode::kNotFound) return peer.error();
  auto other = open_opencv(files, model, picture, threads);
  if (!other.ok() && other.error().code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kNotFound, peer.error().message + ", and " + other.error().message};
  }
  return other;
}

}  // namespace dvnn::tools
