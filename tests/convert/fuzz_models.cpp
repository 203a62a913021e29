// SPDX-License-Identifier: Apache-2.0
// Damaged files of every kind that is read: each must convert or be refused in one line. A
// libFuzzer target (clang++ -fsanitize=fuzzer,address, with DVNN_FUZZER defined); without it, a
// test that damages small models from a seed. `fuzz_models FOLDER` writes those models there, as a
// first corpus.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "caffe_fixture.h"
#include "convert/custom_layers.h"
#include "convert/ini_file.h"
#include "keras_fixture.h"
#include "network/model_json.h"
#include "onnx_fixture.h"
#include "plan/plan.h"

using namespace dvnn;
using namespace dvnn::test;

namespace {

// The kinds of file, chosen by the input's first byte.
enum Kind : uint8_t {
  kOnnx,
  kKeras,
  kCaffe,
  kPrototxtText,
  kIni,
  kDescription,  // a network file's, to be planned for another size
  kLayerTypes,
  kKinds
};

std::string onnx_seed() {
  OnnxModel m({1, 3, 9, 9});
  m.weights("w", {4, 3, 3, 3}).weights("b", {4}).node("Conv", {"x", "w", "b"}, {"c"});
  m.node("Relu", {"c"}, {"r"}).node("Shape", {"r"}, {"s"}).ints("zero", {0}, true);
  m.node("Gather", {"s", "zero"}, {"n"}).node("Unsqueeze", {"n"}, {"n1"}).list("axes", {0});
  m.ints("rest", {-1}).node("Concat", {"n1", "rest"}, {"to"}).set("axis", 0);
  m.node("MaxPool", {"r"}, {"p"}).list("kernel_shape", {2, 2}).list("strides", {2, 2});
  m.node("Reshape", {"p", "to"}, {"f"}).weights("g", {5, 36});
  m.node("Gemm", {"f", "g"}, {"e"}).set("transB", 1).node("Softmax", {"e"}, {"y"}).output("y");
  return m.model.SerializeAsString();
}

std::string keras_seed() {
  KerasModel m;
  m.layer("Conv2D",
          {{"name", "c"}, {"batch_input_shape", {nullptr, 9, 9, 3}}, {"padding", "same"}});
  m.layer("MaxPooling2D", {{"name", "p"}, {"pool_size", {2, 2}}}).layer("Flatten", {{"name", "f"}});
  m.layer("Dense", {{"name", "d"}, {"activation", "softmax"}});
  m.weights("c", "kernel:0", {3, 3, 3, 4}).weights("c", "bias:0", {4});
  m.weights("d", "kernel:0", {64, 5}).weights("d", "bias:0", {5});
  const TemporaryPath file;
  m.write(file.path);
  std::ifstream in(file.path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

constexpr const char* kPrototxt =
    "input: 'data' input_shape { dim: 1 dim: 3 dim: 9 dim: 9 } "
    "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c' "
    "convolution_param { num_output: 4 kernel_size: 3 } } ";

std::string caffe_seed() {
  caffe::NetParameter net;
  net.set_name("weights");
  caffe::LayerParameter* layer = net.add_layer();
  layer->set_name("c");
  for (int count : {108, 4}) {
    caffe::BlobProto* blob = layer->add_blobs();
    for (int i = 0; i < count; ++i) blob->add_data(0.01f * static_cast<float>(i));
    blob->mutable_shape()->add_dim(count);
  }
  return net.SerializeAsString();
}

constexpr const char* kIniText =
    "[INPUT]\nname = Net\ndefinition = models/net.prototxt\ndata = net.caffemodel\n"
    "origin = CAFFE\nwidth_override = 320\nheight_override = 240\n[OUTPUT]\n"
    "output_folder = out\ngenerate_source = 1\nquantization = 0\n[OPTIONAL]\nverbose = 1\n";

constexpr const char* kLayerTypesText =
    "{\"Spread\": {\"params\": {\"amount\": \"float\", \"sizes\": \"int[2]\", \"n\": \"int\"}, "
    "\"output\": [\"1\", \"c * count(sizes)\", \"(h + 1) / 2 - n\", \"w\"]}}";

const network::Model& described() {
  static const network::Model model = [] {
    const TemporaryFile text(kPrototxt), weights(caffe_seed());
    return std::move(convert::convert_caffe(text.path, weights.path, {}, nullptr).value());
  }();
  return model;
}

Status read_description(const std::string& bytes) {
  const auto json = nlohmann::json::parse(bytes, nullptr, false);
  if (json.is_discarded()) return Error{ErrorCode::kMalformed, "is no JSON"};
  auto model = network::model_from_json(json);
  if (!model.ok()) return model.error();
  model.value().weights = described().weights;
  DVNN_TRY(network::validate(model.value()));
  auto resized = plan::resize(model.value(), 20, 16);
  if (!resized.ok()) return resized.error();
  return {};
}

Status read_layer_types(const std::string& bytes) {
  auto types = convert::parse_custom_layers(bytes);
  if (!types.ok()) return types.error();
  for (const auto& [name, type] : types.value()) {
    DVNN_ASSIGN(const auto params, type.take_params({{"amount", 1}, {"sizes", {1, 2}}, {"n", 1}}));
    auto dims = type.output_dims({1, 3, 8, 9}, params);
    if (!dims.ok()) return dims.error();
  }
  return {};
}

std::string seed_of(Kind kind) {
  switch (kind) {
    case kOnnx:
      return onnx_seed();
    case kKeras:
      return keras_seed();
    case kCaffe:
      return caffe_seed();
    case kPrototxtText:
      return kPrototxt;
    case kIni:
      return kIniText;
    case kDescription:
      return network::model_to_json(described()).dump();
    default:
      return kLayerTypesText;
  }
}

Status convert_bytes(Kind kind, const std::string& bytes) {
  if (kind == kDescription) return read_description(bytes);
  if (kind == kLayerTypes) return read_layer_types(bytes);
  const TemporaryFile file(bytes);
  if (kind == kIni) {
    const auto ini = convert::read_ini(file.path);
    return ini.ok() ? Status() : Status(ini.error());
  }
  Result<network::Model> model = Error{ErrorCode::kInternal, ""};
  if (kind == kOnnx) model = convert::convert_onnx(file.path, {}, nullptr);
  if (kind == kKeras) model = convert::convert_keras(file.path, {}, nullptr);
  if (kind == kCaffe) {
    const TemporaryFile text(kPrototxt);
    model = convert::convert_caffe(text.path, file.path, {}, nullptr);
  }
  if (kind == kPrototxtText) {
    const TemporaryFile weights(caffe_seed());
    model = convert::convert_caffe(file.path, weights.path, {}, nullptr);
  }
  if (model.ok()) return {};
  return model.error();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto kind = static_cast<Kind>(data[0] % kKinds);
  const Status status =
      convert_bytes(kind, std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (status.ok()) return 0;
  const std::string& text = status.error().message;
  // A crash tells a fuzzer of an empty or a torn message.
  if (text.empty() || text.find('\n') != std::string::npos) std::abort();
  return 0;
}

#ifndef DVNN_FUZZER
namespace {

std::string damaged(std::string bytes, std::mt19937* random) {
  auto at = [&] { return (*random)() % bytes.size(); };
  const unsigned times = 1 + (*random)() % 4;
  for (unsigned i = 0; i < times && !bytes.empty(); ++i) {
    switch ((*random)() % 4) {
      case 0:
        bytes[at()] ^= static_cast<char>(1u << (*random)() % 8);
        break;
      case 1:
        bytes[at()] = static_cast<char>((*random)());
        break;
      case 2:
        bytes.resize(at());
        break;
      default:  // a number of four bytes becomes large
        for (size_t k = 0, from = at(); k < 4 && from + k < bytes.size(); ++k) {
          bytes[from + k] = static_cast<char>(k < 3 ? 0xff : 0x7f);
        }
        break;
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRounds = 500;
  std::mt19937 random(1);
  int refused = 0;
  for (uint8_t kind = 0; kind < kKinds; ++kind) {
    const std::string seed = seed_of(static_cast<Kind>(kind));
    if (argc > 1) {
      std::ofstream(std::string(argv[1]) + "/seed-" + std::to_string(kind), std::ios::binary)
          << static_cast<char>(kind) << seed;
    }
    if (const Status s = convert_bytes(static_cast<Kind>(kind), seed); !s.ok()) {
      std::printf("seed %d is refused: %s\n", kind, s.error().message.c_str());
      return EXIT_FAILURE;
    }
    for (int round = 0; round < kRounds; ++round) {
      const std::string bytes = static_cast<char>(kind) + damaged(seed, &random);
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      refused += !convert_bytes(static_cast<Kind>(kind), bytes.substr(1)).ok();
    }
  }
  std::printf("%d of %d damaged models were refused\n", refused, kKinds * kRounds);
  return refused > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
