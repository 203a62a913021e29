// SPDX-License-Identifier: Apache-2.0
#include "network/generated_network.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "base/result.h"
#include "generated/access.h"
#include "generated/layers.h"
#include "network/dvn_file.h"
#include "network/model.h"
#include "tensor/tensor.h"

namespace dvnn::network {
namespace {

using generated::Access;

using CreateNetwork = CDMP_Network* (*)();
using NetworkInformation = const char* (*)();

// The symbols that the library of a network's sources exports. The library stays loaded for the
// life of the process, because its code may have left threads and handlers behind.
struct Sources {
  CreateNetwork create = nullptr;
  NetworkInformation information = nullptr;
};

Result<Sources> open_sources(const std::string& path) {
  DVNN_ASSIGN(void* const handle, open_library(path));
  Sources sources;
  sources.create = reinterpret_cast<CreateNetwork>(dlsym(handle, "dvnn_network_create_v1"));
  sources.information = reinterpret_cast<NetworkInformation>(dlsym(handle, "dvnn_network_info_v1"));
  if (sources.create && sources.information) return sources;
  dlclose(handle);
  return malformed("is no network: add DVNN_NETWORK(CName) to its sources (dmp_network.h)");
}

Result<std::vector<uint8_t>> read_weights(const std::string& path) {
  const auto bytes = read_file(path, kMaxWeightBytes);
  if (!bytes.ok()) return bytes.error().within("weights file");
  return std::vector<uint8_t>(bytes.value().begin(), bytes.value().end());
}

// Describes a layer's input or output in our terms. The device's images lie in chunks, those of CPU
// layers in plain order.
TensorDesc describe(const int (&dims)[3], int count, bool as_float, bool chunks, bool row_major) {
  TensorDesc desc;
  desc.type = as_float ? ElementType::kFloat32 : ElementType::kFloat16;
  if (count == 3) {
    desc.shape = {1, dims[2], dims[1], dims[0]};
    desc.layout = !chunks ? Layout::kNhwc : row_major ? Layout::kHwc8 : Layout::kWhc8;
  } else if (count == 2) {
    desc.shape = {dims[0], dims[1]};
  } else {
    desc.shape = {1, dims[0]};
  }
  return desc;
}

bool is_chunked(const fpga_layer& layer) {
  return layer.type == LT_CONV || layer.type == LT_CONCAT || layer.type == LT_COPY_CONCAT ||
         layer.type == LT_INPUT;
}

Status add_tensor(const std::string& name, const TensorDesc& desc, size_t offset, Model* model) {
  const uint64_t bytes = desc.bytes();
  if (bytes > model->io_bytes || offset > model->io_bytes - bytes ||
      offset % element_size(desc.type) != 0) {
    return malformed(format("'%s' lies at bytes %zu to %llu of an I/O buffer of %llu", name.c_str(),
                            offset, static_cast<unsigned long long>(offset + bytes),
                            static_cast<unsigned long long>(model->io_bytes)));
  }
  model->tensors.push_back({name, desc, Storage::kIo, offset});
  return {};
}

Status describe_network(const CDMP_Network& network, Model* model) {
  const std::vector<fpga_layer>& layers = Access::layers(network);
  model->io_bytes = Access::runtime(network).io().size();
  const fpga_layer& first = layers[0];
  if (generated::elements_of(first.input_dim, first.input_dim_size) < 0) {
    return malformed("the first layer's input dimensions are impossible");
  }
  TensorDesc input = describe(first.input_dim, first.input_dim_size, false, true, first.is_hwc);
  if (input.shape.rank != 4) {
    input.layout = Layout::kNhwc;
    input.shape = {1, static_cast<int>(input.shape.elements()), 1, 1};
  }
  model->input.tensor = 0;
  if (input.shape.c() == 1) model->input.picture.order = ChannelOrder::kGray;
  DVNN_TRY(add_tensor("input", input, first.input_offs, model));
  for (const fpga_layer* layer : Access::outputs(network)) {
    if (generated::elements_of(layer->output_dim, layer->output_dim_size) < 0) {
      return malformed("output '" + layer->name + "' has impossible dimensions");
    }
    const TensorDesc desc = describe(layer->output_dim, layer->output_dim_size,
                                     layer->is_f32_output, is_chunked(*layer), layer->is_hwc);
    const std::string name =
        layer->name.empty() ? "output" + std::to_string(model->outputs.size()) : layer->name;
    model->outputs.push_back({name, static_cast<int>(model->tensors.size())});
    DVNN_TRY(add_tensor(name, desc, layer->output_offs, model));
  }
  if (model->outputs.empty()) return malformed("the network has no output");
  return {};
}

const char* kind_of(layer_type type) {
  switch (type) {
    case LT_INPUT:
      return "input";
    case LT_CONV:
      return "convolution or pooling";
    case LT_FC:
      return "fully connected";
    case LT_FLATTEN:
      return "flatten";
    case LT_CONCAT:
      return "concatenation in place";
    case LT_COPY_CONCAT:
      return "concatenation";
    case LT_SOFTMAX:
      return "softmax";
    case LT_CUSTOM:
      return "custom layer";
    case LT_CPU:
      return "CPU layer";
  }
  return "unknown";
}

std::string dims_text(const int (&dims)[3], int count) {
  std::string text;
  for (int i = 0; i < std::min(count, 3); ++i) {
    text += (i > 0 ? "x" : "") + std::to_string(dims[i]);
  }
  return text;
}

std::vector<GeneratedLayer> list_layers(const CDMP_Network& network) {
  std::vector<GeneratedLayer> list;
  for (const fpga_layer& layer : Access::layers(network)) {
    const bool on_device = layer.type == LT_CONV || layer.type == LT_FC;
    list.push_back({printable(layer.name), kind_of(layer.type), on_device,
                    dims_text(layer.input_dim, layer.input_dim_size),
                    dims_text(layer.output_dim, layer.output_dim_size)});
  }
  return list;
}

// Outputs by name, type, layout and shape, where the layers do not say enough.
Status describe_outputs(const Json& list, Model* model) {
  if (!list.is_array() || list.size() != model->outputs.size()) {
    return malformed(format("its information names %zu outputs, it has %zu", list.size(),
                            model->outputs.size()));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    TensorInfo& tensor = model->tensor(model->outputs[i].tensor);
    JsonReader in(list.at(i), "an output");
    const std::string name = in.text("name");
    const TensorDesc desc = read_desc(&in);
    DVNN_TRY(in.status());
    if (desc.bytes() != tensor.desc.bytes()) {
      return malformed(format("output '%s' takes %zu bytes, the layer makes %zu", name.c_str(),
                              desc.bytes(), tensor.desc.bytes()));
    }
    tensor.name = model->outputs[i].name = name;
    tensor.desc = desc;
  }
  return {};
}

Status read_information(const Sources& sources, Model* model) {
  const char* text = sources.information();
  DVNN_ASSIGN(auto json, parse_json(text ? text : "{}", "what DVNN_NETWORK() says of the network"));
  JsonReader in(json, "the network's information");
  model->name = in.text("name", model->name);
  DVNN_TRY(in.status());
  if (const auto outputs = json.find("outputs"); outputs != json.end()) {
    DVNN_TRY(describe_outputs(*outputs, model));
  }
  return use_from_json(json, model);
}

class GeneratedSlot final : public Slot {
 public:
  GeneratedSlot(std::shared_ptr<Network> network, std::unique_ptr<CDMP_Network> code)
      : Slot(std::move(network)), code_(std::move(code)) {}
  Span<uint8_t> input() const override { return at(model().input.tensor); }
  Status run(RunTimes* times) override {
    generated::Times spent;
    DVNN_TRY(guarded("running the network", [&] { return Access::run(code_.get(), &spent); }));
    if (times) *times = {spent.conv_us + spent.fc_us, spent.cpu_us};
    return {};
  }
  ConstTensorView output(size_t i) const override {
    const int tensor = model().outputs[i].tensor;
    return {model().tensor(tensor).desc, at(tensor).data()};
  }

 private:
  const Model& model() const { return network()->model(); }
  Span<uint8_t> at(int tensor) const {
    const TensorInfo& info = model().tensor(tensor);
    return {code_->get_io_ptr() + info.offset, info.desc.bytes()};
  }
  std::unique_ptr<CDMP_Network> code_;
};

class GeneratedNetwork final : public Network {
 public:
  GeneratedNetwork(Model model, std::shared_ptr<device::Device> device, Sources sources,
                   std::unique_ptr<CDMP_Network> first)
      : Network(std::move(model), std::move(device)),
        sources_(sources),
        weights_(Access::runtime(*first).weights()),
        layers_(list_layers(*first)),
        first_(std::move(first)) {}
  [[nodiscard]] const std::vector<GeneratedLayer>& layers() const { return layers_; }

 private:
  Result<std::unique_ptr<Slot>> make_slot(const Cancellation* cancellation) override;
  Sources sources_;
  std::shared_ptr<device::Memory> weights_;  // all slots'
  std::vector<GeneratedLayer> layers_;
  std::mutex mutex_;
  std::unique_ptr<CDMP_Network> first_;  // made to look at the network; the first slot's
};

// Generated code has no reason to throw, but custom layers beside it may.
Result<std::unique_ptr<CDMP_Network>> create_instance(const Sources& sources) {
  std::unique_ptr<CDMP_Network> code;
  try {
    code.reset(sources.create());
  } catch (...) {
    return Error{ErrorCode::kInternal, "its constructor throws"};
  }
  if (!code) return Error{ErrorCode::kInternal, "its constructor gives nothing"};
  return code;
}

// Ignores the cancellation: generated code creates an instance in one call.
Result<std::unique_ptr<Slot>> GeneratedNetwork::make_slot(const Cancellation*) {
  std::unique_ptr<CDMP_Network> code;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    code = std::move(first_);
  }
  if (!code) {
    DVNN_ASSIGN(code, create_instance(sources_));
    DVNN_TRY(Access::initialize(code.get(), device_, weights_));
    DVNN_TRY(Access::commit(code.get()));
  }
  return std::unique_ptr<Slot>(new GeneratedSlot(shared_from_this(), std::move(code)));
}

}  // namespace

bool is_generated(const std::string& path) {
  char magic[SELFMAG] = {};
  const auto file = open_file(path, UINT64_MAX);
  return file.ok() && read_at(file.value().fd(), 0, magic, SELFMAG).ok() &&
         std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

Result<std::shared_ptr<Network>> load_generated(const NetworkSource& source,
                                                std::shared_ptr<device::Device> device) {
  auto load = [&]() -> Result<std::shared_ptr<Network>> {
    DVNN_ASSIGN(const Sources sources, open_sources(source.path));
    if (source.weights.empty()) {
      return invalid_argument(
          "its weights are in another file, which must be named, too (NAME_weights.bin)");
    }
    DVNN_ASSIGN(auto code, create_instance(sources));
    DVNN_TRY(Access::initialize(code.get(), device, nullptr));
    DVNN_ASSIGN(const std::vector<uint8_t> weights, read_weights(source.weights));
    const Status status = Access::load_weights(code.get(), weights.data(), weights.size());
    if (!status.ok()) return status.error().within("weights file '" + source.weights + "'");
    DVNN_TRY(Access::commit(code.get()));
    Model model;
    model.name = printable(base_name(source.path));
    model.source =
        printable("generated: " + base_name(source.path) + ", " + base_name(source.weights));
    DVNN_TRY(describe_network(*code, &model));
    DVNN_TRY(read_information(sources, &model));
    DVNN_TRY(validate(model));
    return std::shared_ptr<Network>(std::make_shared<GeneratedNetwork>(
        std::move(model), std::move(device), sources, std::move(code)));
  };
  auto network = load();
  if (!network.ok()) return network.error().within("network library '" + source.path + "'");
  return network;
}

const std::vector<GeneratedLayer>& generated_layers(const Network& network) {
  static const std::vector<GeneratedLayer> none;
  const auto* const generated = dynamic_cast<const GeneratedNetwork*>(&network);
  return generated ? generated->layers() : none;
}

}  // namespace dvnn::network
