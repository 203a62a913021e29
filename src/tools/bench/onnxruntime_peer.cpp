// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime by its C interface. The library is loaded on demand, so that dvnet neither needs it
// nor starts more slowly for it.
#include <dlfcn.h>

#include <random>

#include "tools/bench/peer.h"

#ifdef DVNN_HAVE_ONNXRUNTIME
#include <onnxruntime_c_api.h>
#endif

namespace dvnn::tools {

#ifdef DVNN_HAVE_ONNXRUNTIME

namespace {

// Finds the library by the names of Debian's package and upstream's releases.
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

Status check(const OrtApi& api, OrtStatus* status) {
  if (!status) return {};
  const std::string why = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  return unsupported("ONNX Runtime: " + why);
}

// What all peers on a model have in common.
struct OrtModel {
  explicit OrtModel(const OrtApiBase* base)
      : version(base->GetVersionString()), api(*base->GetApi(ORT_API_VERSION)) {}
  OrtModel(const OrtModel&) = delete;
  OrtModel& operator=(const OrtModel&) = delete;
  ~OrtModel() {
    if (memory) api.ReleaseMemoryInfo(memory);
    if (session) api.ReleaseSession(session);
    if (options) api.ReleaseSessionOptions(options);
    if (env) api.ReleaseEnv(env);
  }
  Status open(const std::string& path, int threads) {
    DVNN_TRY(check(api, api.CreateEnv(ORT_LOGGING_LEVEL_ERROR, "dvnet", &env)));
    DVNN_TRY(check(api, api.CreateSessionOptions(&options)));
    DVNN_TRY(check(api, api.SetIntraOpNumThreads(options, threads)));
    DVNN_TRY(check(api, api.SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL)));
    DVNN_TRY(check(api, api.CreateSession(env, path.c_str(), options, &session)));
    return check(api, api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  }

  const std::string version;
  const OrtApi& api;
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* memory = nullptr;
};

class OnnxRuntimePeer final : public SharedPeer {
 public:
  OnnxRuntimePeer(std::shared_ptr<const OrtModel> session, const network::Model& model)
      : session_(std::move(session)), api_(session_->api), model_(model) {}
  ~OnnxRuntimePeer() override {
    for (OrtValue* value : inputs_) api_.ReleaseValue(value);
  }
  std::string name() const override { return "ONNX Runtime " + session_->version; }
  Span<float> input() override { return {numbers_[0].data(), numbers_[0].size()}; }
  const std::vector<int64_t>& input_dims() const override { return first_dims_; }

  Result<std::unique_ptr<SharedPeer>> another() const override {
    auto peer = std::make_unique<OnnxRuntimePeer>(session_, model_);
    DVNN_TRY(peer->prepare());
    return std::unique_ptr<SharedPeer>(std::move(peer));
  }

  // Makes the inputs, and runs once: what the engine cannot do shows here.
  Status prepare() {
    size_t inputs = 0, outputs = 0;
    DVNN_TRY(check(api_, api_.SessionGetInputCount(session_->session, &inputs)));
    DVNN_TRY(check(api_, api_.SessionGetOutputCount(session_->session, &outputs)));
    for (size_t i = 0; i < inputs; ++i) DVNN_TRY(add_input(i));
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
        check(api_, api_.Run(session_->session, nullptr, inputs.data(), inputs_.data(),
                             inputs.size(), outputs.data(), outputs.size(), results.data()));
    for (OrtValue* result : results) {
      if (result) api_.ReleaseValue(result);
    }
    return done;
  }

 private:
  template <typename Get>
  Result<std::string> name_of(Get get, size_t index) const {
    OrtAllocator* allocator = nullptr;
    DVNN_TRY(check(api_, api_.GetAllocatorWithDefaultOptions(&allocator)));
    char* name = nullptr;
    DVNN_TRY(check(api_, get(session_->session, index, allocator, &name)));
    const std::string copy = name;
    allocator->Free(allocator, name);
    return copy;
  }

  // Adds an input of seeded random numbers. Sizes that the model leaves open are those of our
  // network.
  Status add_input(size_t index) {
    DVNN_ASSIGN(auto called, name_of(api_.SessionGetInputName, index));
    input_names_.push_back(std::move(called));
    OrtTypeInfo* type = nullptr;
    DVNN_TRY(check(api_, api_.SessionGetInputTypeInfo(session_->session, index, &type)));
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t rank = 0;
    Status status = check(api_, api_.CastTypeInfoToTensorInfo(type, &info));
    if (status.ok()) status = check(api_, api_.GetTensorElementType(info, &element));
    if (status.ok()) status = check(api_, api_.GetDimensionsCount(info, &rank));
    std::vector<int64_t> dims(rank);
    if (status.ok()) status = check(api_, api_.GetDimensions(info, dims.data(), rank));
    api_.ReleaseTypeInfo(type);
    DVNN_TRY(status);
    if (element != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
      return unsupported("ONNX Runtime: the input '" + input_names_.back() +
                         "' is no tensor of 32-bit floats");
    }
    const Shape& ours = model_.tensor(model_.input.tensor).desc.shape;
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
    if (index == 0) first_dims_ = dims;
    return check(api_, api_.CreateTensorWithDataAsOrtValue(session_->memory, numbers_.back().data(),
                                                           count * sizeof(float), dims.data(), rank,
                                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                                           &inputs_.back()));
  }

  const std::shared_ptr<const OrtModel> session_;
  const OrtApi& api_;
  const network::Model& model_;
  std::vector<int64_t> first_dims_;
  std::vector<std::string> input_names_, output_names_;
  std::vector<std::vector<float>> numbers_;
  std::vector<OrtValue*> inputs_;
};

}  // namespace

Result<std::unique_ptr<SharedPeer>> open_onnxruntime(const std::string& path,
                                                     const network::Model& model, int threads) {
  const OrtApiBase* const base = find_api();
  if (!base) return Error{ErrorCode::kNotFound, "ONNX Runtime is not installed"};
  auto session = std::make_shared<OrtModel>(base);
  DVNN_TRY(session->open(path, threads));
  auto peer = std::make_unique<OnnxRuntimePeer>(std::move(session), model);
  DVNN_TRY(peer->prepare());
  return std::unique_ptr<SharedPeer>(std::move(peer));
}

#else

Result<std::unique_ptr<SharedPeer>> open_onnxruntime(const std::string&, const network::Model&,
                                                     int) {
  return Error{ErrorCode::kNotFound, "ONNX Runtime was not there when this was built"};
}

#endif

}  // namespace dvnn::tools
