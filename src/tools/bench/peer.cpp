// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/peer.h"

#ifdef DVNN_HAVE_OPENCV
#include <glib.h>

#include <opencv2/dnn.hpp>

#include "base/file.h"
#endif

namespace dvnn::tools {

#ifdef DVNN_HAVE_OPENCV
namespace {

constexpr size_t kMaxPrototxtBytes = size_t{16} << 20, kMaxModelBytes = size_t{1} << 30;

// Removes Caffe-SSD's fields for drawing results: they do not affect the arithmetic, but OpenCV's
// parser refuses a file with them.
std::string without_display_fields(const std::string& prototxt) {
  GRegex* field = g_regex_new("\\bvisualize(_threshold)?\\s*:\\s*[\\w.+-]+", G_REGEX_RAW,
                              static_cast<GRegexMatchFlags>(0), nullptr);
  gchar* kept =
      g_regex_replace_literal(field, prototxt.data(), static_cast<gssize>(prototxt.size()), 0, "",
                              static_cast<GRegexMatchFlags>(0), nullptr);
  const std::string result = kept ? kept : prototxt;
  g_free(kept);
  g_regex_unref(field);
  return result;
}

class OpenCvPeer final : public Peer {
 public:
  OpenCvPeer(cv::dnn::Net net, const network::Model& model, const cv::Mat& picture)
      : net_(std::move(net)) {
    net_.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    names_ = net_.getUnconnectedOutLayersNames();
    const InputSpec& spec = model.input.picture;
    blob_ = cv::dnn::blobFromImage(picture, spec.scale[0], picture.size(),
                                   cv::Scalar(spec.mean[0], spec.mean[1], spec.mean[2]),
                                   spec.order == ChannelOrder::kRgb);
  }
  std::string name() const override { return std::string("OpenCV dnn ") + CV_VERSION; }
  Status forward() override {
    try {
      net_.setInput(blob_);
      net_.forward(outputs_, names_);
    } catch (const cv::Exception& e) {
      return malformed("OpenCV cannot run the peer: " + e.err);
    }
    return {};
  }

 private:
  cv::dnn::Net net_;
  std::vector<cv::String> names_;
  std::vector<cv::Mat> outputs_;
  cv::Mat blob_;
};

Result<cv::dnn::Net> read_net(const std::vector<std::string>& files) {
  std::vector<std::string> contents;
  for (size_t i = 0; i < files.size(); ++i) {
    const bool text = files.size() == 2 && i == 0;
    DVNN_ASSIGN(auto content, read_file(files[i], text ? kMaxPrototxtBytes : kMaxModelBytes));
    contents.push_back(std::move(content));
  }
  try {
    if (files.size() == 1) {
      return cv::dnn::readNetFromONNX(contents[0].data(), contents[0].size());
    }
    const std::string described = without_display_fields(contents[0]);
    return cv::dnn::readNetFromCaffe(described.data(), described.size(), contents[1].data(),
                                     contents[1].size());
  } catch (const cv::Exception& e) {
    return malformed("OpenCV cannot read '" + files[0] + "': " + e.err);
  }
}

}  // namespace

Result<std::unique_ptr<Peer>> open_opencv(const std::vector<std::string>& files,
                                          const network::Model& model, const Bitmap& picture,
                                          int threads) {
  cv::setNumThreads(threads);
  DVNN_ASSIGN(auto net, read_net(files));
  // Only read: blobFromImage() takes a matrix, which has no constant data.
  const cv::Mat pixels(picture.height, picture.width, CV_8UC3,
                       const_cast<uint8_t*>(picture.bytes.data()));
  std::unique_ptr<Peer> peer = std::make_unique<OpenCvPeer>(std::move(net), model, pixels);
  DVNN_TRY(peer->forward());  // fails here if the model is not supported
  return peer;
}

#else

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
