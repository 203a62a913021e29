// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime by its C interface. The library is loaded when it is asked for, so that dvnet does
// not need it and starts as fast without it.
#include <dlfcn.h>

#include <random>

#include "tools/bench/network_peers.h"

#ifdef DVNN_HAVE_ONNXRUNTIME
#include <onnxruntime_c_api.h>
#endif

namespace dvnn::tools {

#ifdef DVNN_HAVE_ONNXRUNTIME

namespace {

// Looks for the library by the names of Debian's package and of upstream's releases.
const OrtApiBase* find_api() {
  const std::string debian = "libonnxruntime.so.1." + std::to_string(ORT_API_VERSION);
  for (const char* name : {debian.c_str(), "libonnxruntime.so.1"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    const auto get = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
    if (get && get()->GetApi(ORT_API_VERSION)) return get();
  }
  return nullptr;
}

class OnnxRuntimePeer final : public Peer {
 public:
  explicit OnnxRuntimePeer(const OrtApiBase* base)
      : version_(base->GetVersionString()), api_(*base->GetApi(ORT_API_VERSION)) {}
  ~OnnxRuntimePeer() override {
    for (OrtValue* value : inputs_) api_.ReleaseValue(value);
    if (memory_) api_.ReleaseMemoryInfo(memory_);
    if (session_) api_.ReleaseSession(session_);
    if (options_) api_.ReleaseSessionOptions(options_);
    if (env_) api_.ReleaseEnv(env_);
  }
  std::string name() const override { return "ONNX Runtime " + version_; }

  Status open(const std::string& path, const network::Model& model, int threads) {
    DVNN_TRY(check(api_.CreateEnv(ORT_LOGGING_LEVEL_ERROR, "dvnet", &env_)));
    DVNN_TRY(check(api_.CreateSessionOptions(&options_)));
    DVNN_TRY(check(api_.SetIntraOpNumThreads(options_, threads)));
    DVNN_TRY(check(api_.SetSessionGraphOptimizationLevel(options_, ORT_ENABLE_ALL)));
    DVNN_TRY(check(api_.CreateSession(env_, path.c_str(), options_, &session_)));
    DVNN_TRY(check(api_.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_)));
    size_t inputs = 0, outputs = 0;
    DVNN_TRY(check(api_.SessionGetInputCount(session_, &inputs)));
    DVNN_TRY(check(api_.SessionGetOutputCount(session_, &outputs)));
    for (size_t i = 0; i < inputs; ++i) DVNN_TRY(add_input(i, model));
    for (size_t i = 0; i < outputs; ++i) {
      DVNN_ASSIGN(auto called, name_of(api_.SessionGetOutputName, i));
      output_names_.push_back(std::move(called));
    }
    return forward();
  }

  Status forward() override {
    std::vector<const char*> inputs, outputs;
    for (const std::string& n : input_names_) inputs.push_back(n.c_str());
    for (const std::string& n : output_names_) outputs.push_back(n.c_str());
    std::vector<OrtValue*> results(outputs.size(), nullptr);
    const Status done =
        check(api_.Run(session_, nullptr, inputs.data(), inputs_.data(), inputs.size(),
                       outputs.data(), outputs.size(), results.data()));
    for (OrtValue* result : results) {
      if (result) api_.ReleaseValue(result);
    }
    return done;
  }

 private:
  Status check(OrtStatus* status) const {
    if (!status) return {};
    const std::string why = api_.GetErrorMessage(status);
    api_.ReleaseStatus(status);
    return Error{ErrorCode::kUnsupported, "ONNX Runtime: " + why};
  }

  template <typename Get>
  Result<std::string> name_of(Get get, size_t index) const {
    OrtAllocator* allocator = nullptr;
    DVNN_TRY(check(api_.GetAllocatorWithDefaultOptions(&allocator)));
    char* name = nullptr;
    DVNN_TRY(check(get(session_, index, allocator, &name)));
    const std::string copy = name;
    allocator->Free(allocator, name);
    return copy;
  }

  // Seeded numbers; sizes that the model leaves open are those of our network.
  Status add_input(size_t index, const network::Model& model) {
    DVNN_ASSIGN(auto called, name_of(api_.SessionGetInputName, index));
    input_names_.push_back(std::move(called));
    OrtTypeInfo* type = nullptr;
    DVNN_TRY(check(api_.SessionGetInputTypeInfo(session_, index, &type)));
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t rank = 0;
    Status status = check(api_.CastTypeInfoToTensorInfo(type, &info));
    if (status.ok()) status = check(api_.GetTensorElementType(info, &element));
    if (status.ok()) status = check(api_.GetDimensionsCount(info, &rank));
    std::vector<int64_t> dims(rank);
    if (status.ok()) status = check(api_.GetDimensions(info, dims.data(), rank));
    api_.ReleaseTypeInfo(type);
    DVNN_TRY(status);
    if (element != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
      return Error{ErrorCode::kUnsupported, "ONNX Runtime: the input '" + input_names_.back() +
                                                "' is no tensor of 32-bit floats"};
    }
    const Shape& ours = model.tensor(model.input.tensor).desc.shape;
    size_t count = 1;
    for (size_t i = 0; i < rank; ++i) {
      if (dims[i] <= 0)
        dims[i] = static_cast<int>(rank) == ours.rank ? ours[static_cast<int>(i)] : 1;
      count *= static_cast<size_t>(dims[i]);
    }
    std::mt19937 random(1);
    numbers_.emplace_back(count);
    for (float& n : numbers_.back()) n = static_cast<float>(random() % 256) / 256;
    inputs_.push_back(nullptr);
    return check(api_.CreateTensorWithDataAsOrtValue(
        memory_, numbers_.back().data(), count * sizeof(float), dims.data(), rank,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &inputs_.back()));
  }

  std::string version_;
  const OrtApi& api_;
  OrtEnv* env_ = nullptr;
  OrtSessionOptions* options_ = nullptr;
  OrtSession* session_ = nullptr;
  OrtMemoryInfo* memory_ = nullptr;
  std::vector<std::string> input_names_, output_names_;
  std::vector<std::vector<float>> numbers_;
  std::vector<OrtValue*> inputs_;
};

}  // namespace

PeerResult open_onnxruntime(const std::string& path, const network::Model& model, int threads) {
  const OrtApiBase* const base = find_api();
  if (!base) return Error{ErrorCode::kNotFound, "ONNX Runtime is not installed"};
  auto peer = std::make_unique<OnnxRuntimePeer>(base);
  DVNN_TRY(peer->open(path, model, threads));
  return std::unique_ptr<Peer>(std::move(peer));
}

#else

PeerResult open_onnxruntime(const std::string&, const network::Model&, int) {
  return Error{ErrorCode::kNotFound, "ONNX Runtime was not there when this was built"};
}

#endif

}  // namespace dvnn::tools
