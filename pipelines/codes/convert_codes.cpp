// SPDX-License-Identifier: Apache-2.0
// Makes default.dvn of the model in this folder, as `dvnet convert` would. The demo needs the
// network, and compiling the importers of other frameworks would double the time until its first
// picture.
//   convert-codes PROTOTXT CAFFEMODEL LABELS OUTPUT
#include <cstdio>

#include "convert/convert.h"
#include "network/dvn_file.h"
#include "objects/label_file.h"

namespace {

dvnn::Status convert_codes(char** files) {
  dvnn::convert::ConvertOptions options;
  options.name = "codes";
  // As train.py makes its pixels: -1 to 1.
  options.picture.order = dvnn::ChannelOrder::kBgr;
  options.picture.mean = {127.5f, 127.5f, 127.5f};
  options.picture.scale = {1 / 128.0f, 1 / 128.0f, 1 / 128.0f};
  DVNN_ASSIGN(options.labels, dvnn::objects::read_labels(files[2]));
  DVNN_ASSIGN(auto model, dvnn::convert::convert_caffe(files[0], files[1], options, nullptr));
  model.producer = "dvnet " DVNN_VERSION;
  return dvnn::network::write_dvn(model, files[3]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "Usage: convert-codes PROTOTXT CAFFEMODEL LABELS OUTPUT\n");
    return 2;
  }
  const dvnn::Status status = convert_codes(argv + 1);
  if (status.ok()) return 0;
  std::fprintf(stderr, "convert-codes: %s\n", status.error().message.c_str());
  return 1;
}
