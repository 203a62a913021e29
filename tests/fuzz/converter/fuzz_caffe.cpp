// SPDX-License-Identifier: Apache-2.0
// Caffe models: a byte of options, the length of the prototxt in two bytes, the prototxt, and the
// caffemodel.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>

#include "caffe.pb.h"
#include "convert/convert.h"
#include "converter_options.h"
#include "proto_mutator.h"
#include "target.h"

namespace dvnn::fuzz::caffe_target {

namespace {

constexpr size_t kHead = 3;

fuzz::ProtoMutator& mutator() {
  static auto* const mutator = new fuzz::ProtoMutator({"BatchNorm",
                                                       "Concat",
                                                       "Convolution",
                                                       "ConvolutionDepthwise",
                                                       "Data",
                                                       "Deconvolution",
                                                       "DepthwiseConvolution",
                                                       "DetectionOutput",
                                                       "Dropout",
                                                       "ELU",
                                                       "Eltwise",
                                                       "Flatten",
                                                       "InnerProduct",
                                                       "Input",
                                                       "Normalize",
                                                       "PReLU",
                                                       "Permute",
                                                       "Pooling",
                                                       "Power",
                                                       "PriorBox",
                                                       "ReLU",
                                                       "Reshape",
                                                       "Scale",
                                                       "Sigmoid",
                                                       "Softmax",
                                                       "Split",
                                                       "TanH",
                                                       "Upsample",
                                                       "Python",
                                                       "Spread",
                                                       "data",
                                                       "{'amount': 2, 'sizes': [1, 2]}"});
  return *mutator;
}

struct Files {
  uint8_t options = 0;
  std::string prototxt, caffemodel;
};

bool take_apart(const uint8_t* data, size_t size, Files* files) {
  if (size < kHead) return false;
  const size_t length = std::min<size_t>(data[1] | data[2] << 8, size - kHead);
  files->options = data[0];
  files->prototxt.assign(reinterpret_cast<const char*>(data) + kHead, length);
  files->caffemodel.assign(reinterpret_cast<const char*>(data) + kHead + length,
                           size - kHead - length);
  return true;
}

std::string put_together(const Files& files) {
  const size_t length = std::min<size_t>(files.prototxt.size(), 65535);
  std::string all = {static_cast<char>(files.options), static_cast<char>(length & 0xff),
                     static_cast<char>(length >> 8)};
  return all + files.prototxt.substr(0, length) + files.caffemodel;
}

// Silences the messages of protobuf's parser.
class Silence final : public google::protobuf::io::ErrorCollector {
  void AddError(int, int, const std::string&) override {}
};

bool parse_text(const std::string& text, caffe::NetParameter* net) {
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  google::protobuf::TextFormat::Parser parser;
  Silence silence;
  parser.RecordErrorsTo(&silence);
  parser.AllowPartialMessage(true);
  parser.AllowUnknownField(true);
  return parser.Parse(&stream, net);
}

const import::CustomLayers& custom_layers() {
  static const auto* const layers = new import::CustomLayers(
      import::parse_custom_layers(
          "{\"Spread\": {\"params\": {\"amount\": \"float\", \"sizes\": \"int[2]\"}, \"output\": "
          "[\"1\", \"c * count(sizes)\", \"(h + 1) / 2\", \"w\"]}}")
          .value());
  return *layers;
}

convert::ConvertOptions options_of(uint8_t bits) {
  convert::ConvertOptions options = fuzz::converter_options(bits);
  if (bits & 16) options.import.custom_layers = custom_layers();
  return options;
}

}  // namespace

static size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Files files;
  caffe::NetParameter net, weights;
  if (seed % 32 == 0 || !take_apart(data, size, &files)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  if (seed % 16 == 1) files.options = static_cast<uint8_t>(seed >> 8);
  if (seed % 4 == 1 && weights.ParsePartialFromString(files.caffemodel)) {
    mutator().mutate(&weights, seed);
    files.caffemodel = weights.SerializePartialAsString();
  } else if (parse_text(files.prototxt, &net)) {
    mutator().mutate(&net, seed);
    google::protobuf::TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    printer.PrintToString(net, &files.prototxt);
  } else {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  const std::string all = put_together(files);
  if (all.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(all.begin(), all.end(), data);
  return all.size();
}

static void prepare() {
  fuzz::set_small_budgets();
  google::protobuf::SetLogHandler(nullptr);
}

static void try_input(const uint8_t* data, size_t size) {
  static auto* const prototxt = new fuzz::MemoryFile();
  static auto* const caffemodel = new fuzz::MemoryFile();
  Files files;
  if (!take_apart(data, size, &files)) return;
  convert::Report report;
  const auto model =
      convert::convert_caffe(prototxt->with(files.prototxt), caffemodel->with(files.caffemodel),
                             options_of(files.options), &report);
  fuzz::accepted += fuzz::is_good(model);
}

DVNN_FUZZ_MUTATED_TARGET(caffe)

}  // namespace dvnn::fuzz::caffe_target
