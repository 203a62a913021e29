// SPDX-License-Identifier: Apache-2.0
#include "softdv/conv_kernel.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "softdv/aligned_floats.h"
#include "softdv/queue.h"

namespace dvnn::softdv {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

struct Cache {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<ConvKernel>> kernels;
};

Cache& cache() {
  static Cache* instance = new Cache();
  return *instance;
}

// While it lives, what the calling thread makes is for one thread: a primitive keeps the number of
// OpenMP threads from when it was made.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }

 private:
  int before_;
};

// Everything that a kernel depends on.
std::string cache_key(const SoftRun& run, bool y_major, bool relu) {
  const device::ConvRun& r = run.run;
  const PackedGeometry& g = run.geometry;
  char text[256];
  std::snprintf(text, sizeof text,
                "%dx%dx%d m%d k%dx%d s%dx%d d%dx%d p%d,%d,%d,%d kind%d q%d prelu%d fc%d y%d "
                "relu%d:%a w%016llx:%llu",
                run.in.w, run.in.h, run.in.c, g.m, r.kernel.x, r.kernel.y, r.stride.x, r.stride.y,
                r.dilation.x, r.dilation.y, r.conv_pad.left, r.conv_pad.right, r.conv_pad.top,
                r.conv_pad.bottom, static_cast<int>(r.conv), g.quantised, g.prelu,
                run.fully_connected, y_major, relu, static_cast<double>(r.activation_param),
                static_cast<unsigned long long>(weights_hash(run.weights)),
                static_cast<unsigned long long>(run.weights.size));
  return text;
}

}  // namespace

// A band's convolution and the handles of its tensors, which are set anew for each execution.
struct BandConvolution {
  dnnl::convolution_forward convolution;
  memory source, weights, bias, result, scratchpad;
  size_t scratchpad_bytes = 0;
};

struct ConvKernel::Primitives {
  std::vector<BandConvolution> bands;
  dnnl::stream stream;
};

ConvKernel::ConvKernel() = default;
ConvKernel::~ConvKernel() = default;

uint64_t weights_hash(const Bytes& weights) {
  // FNV-1a over 8-byte words (sizes are multiples of 16) in four streams, as each step waits for
  // the one before. An accidental clash is out of reach.
  constexpr int kStreams = 4;
  constexpr uint64_t kPrime = 1099511628211u, kStep = kStreams * sizeof(uint64_t);
  uint64_t streams[kStreams] = {1469598103934665603u, 1, 2, 3};
  const uint8_t* data = weights.data();
  auto mix = [](uint64_t* hash, const uint8_t* from) {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    *hash = (*hash ^ word) * kPrime;
    *hash ^= *hash >> 29;
  };
  uint64_t i = 0;
  for (; i + kStep <= weights.size; i += kStep) {
    for (uint64_t k = 0; k < kStreams; ++k) mix(&streams[k], data + i + k * sizeof(uint64_t));
  }
  for (; i + sizeof(uint64_t) <= weights.size; i += sizeof(uint64_t)) mix(&streams[0], data + i);
  for (uint64_t k = 1; k < kStreams; ++k) streams[0] = (streams[0] ^ streams[k]) * kPrime;
  return streams[0];
}

std::shared_ptr<ConvKernel> ConvKernel::get(const SoftRun& run, bool y_major, bool relu) {
  const std::string key = cache_key(run, y_major, relu);
  Cache& shared = cache();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  if (auto known = shared.kernels[key].lock()) return known;
  std::shared_ptr<ConvKernel> kernel(new ConvKernel());
  const OneThread one_thread;
  try {  // oneDNN reports by exception; none may cross the C interface
    if (!kernel->build(run, y_major, relu)) return nullptr;
  } catch (const std::exception& e) {
    set_error("oneDNN cannot do the convolution: %s", e.what());
    return nullptr;
  }
  shared.kernels[key] = kernel;
  for (auto it = shared.kernels.begin(); it != shared.kernels.end();) {
    it = it->second.expired() ? shared.kernels.erase(it) : std::next(it);
  }
  return kernel;
}

namespace {

// The slow ("row") and fast ("column") spatial axis of image quantities.
struct Axes {
  bool y_major;
  int rows(device::Extent e) const { return y_major ? e.y : e.x; }
  int cols(device::Extent e) const { return y_major ? e.x : e.y; }
  int rows(device::Dims d) const { return y_major ? d.h : d.w; }
  int cols(device::Dims d) const { return y_major ? d.w : d.h; }
};

// Float weights in oneDNN's (m, c, rows, cols) order. The stream's inner axis is the row axis in
// both modes: in y-major mode the kernels were transposed before packing.
void unpack(const SoftRun& run, std::vector<float>* weights, std::vector<float>* bias,
            std::vector<float>* slopes) {
  const PackedGeometry& g = run.geometry;
  const size_t kernels = static_cast<size_t>(g.m) * static_cast<size_t>(g.c);
  const size_t outer = static_cast<size_t>(g.ky), inner = static_cast<size_t>(g.kx);
  std::vector<float> packed(kernels * outer * inner);
  bias->resize(static_cast<size_t>(g.m));
  if (g.prelu) slopes->resize(static_cast<size_t>(g.m));
  if (run.fully_connected) {
    unpack_fc(g, run.weights.data(), packed.data(), bias->data());
  } else {
    unpack_weights(g, run.weights.data(), packed.data(), bias->data(),
                   g.prelu ? slopes->data() : nullptr);
  }
  weights->resize(packed.size());
  for (size_t k = 0; k < kernels; ++k) {
    for (size_t j = 0; j < outer; ++j) {
      for (size_t i = 0; i < inner; ++i) {
        (*weights)[(k * inner + i) * outer + j] = packed[(k * outer + j) * inner + i];
      }
    }
  }
}

// A buffer of the calling thread, of at least `bytes`.
void* thread_scratchpad(size_t bytes) {
  static thread_local AlignedFloats buffer;
  return buffer.room(bytes / sizeof(float) + 1);
}

// How many bands: more the more work there is to share, and each small enough that its result stays
// in the second-level cache for what follows. Not by the number of threads: oneDNN may sum up in
// another order where the band has another shape, and results must not depend on threads.
int count_bands(const WorkingShape& result, double macs) {
  constexpr double kBandBytes = 512 << 10;
  constexpr struct {
    double macs;
    int bands;
  } kShares[] = {{2e8, 8}, {3e7, 4}, {3e5, 2}};
  constexpr int kBandPixels = 40;  // fewer leave vectors and registers idle
  int bands = 1;
  for (const auto& share : kShares) {
    if (macs >= share.macs) bands = std::max(bands, share.bands);
  }
  const double bytes = static_cast<double>(result.size() * sizeof(float));
  const int least_rows = (kBandPixels - 1) / result.cols + 1;
  return static_cast<int>(std::min(std::max(double(bands), std::ceil(bytes / kBandBytes)),
                                   std::max(1.0, double(result.rows / least_rows))));
}

// One spatial axis of a convolution: where in the source output `first`..`last`-1 comes from.
struct Window {
  int in, kernel, stride, dilation, before;  // dilation: distance of taps
  int start(int out) const { return out * stride - before; }
  int end(int last) const { return start(last - 1) + (kernel - 1) * dilation + 1; }
};

}  // namespace

bool ConvKernel::build(const SoftRun& run, bool y_major, bool relu) {
  const Axes axes{y_major};
  const device::ConvRun& r = run.run;
  const bool depthwise = static_cast<int>(r.conv) & 2, deconv = static_cast<int>(r.conv) & 4;
  const device::Pad& pad = r.conv_pad;
  source_ = {axes.rows(run.in), axes.cols(run.in), run.in.c};
  device::Extent stride = r.stride;
  if (deconv) {  // runs as a convolution over the input with gaps
    source_.rows = (source_.rows - 1) * axes.rows(stride) + 1;
    source_.cols = (source_.cols - 1) * axes.cols(stride) + 1;
    stride = {1, 1};
  }
  result_ = {axes.rows(run.conv), axes.cols(run.conv), r.m};
  const Window rows = {source_.rows, axes.rows(r.kernel), axes.rows(stride), axes.rows(r.dilation),
                       y_major ? pad.top : pad.left};
  const Window cols = {source_.cols, axes.cols(r.kernel), axes.cols(stride), axes.cols(r.dilation),
                       y_major ? pad.left : pad.top};

  std::vector<float> weights, bias;
  unpack(run, &weights, &bias, &slopes_);
  const auto f32 = memory::data_type::f32;
  memory::dims weight_dims = {r.m, run.in.c, rows.kernel, cols.kernel};
  if (depthwise) weight_dims = {r.m, 1, 1, rows.kernel, cols.kernel};
  const memory plain(memory::desc(weight_dims, f32, depthwise ? Tag::goihw : Tag::oihw), cpu(),
                     weights.data());
  const memory::desc weights_any(weight_dims, f32, Tag::any), bias_desc({r.m}, f32, Tag::x);
  memory bias_memory(bias_desc, cpu());
  std::memcpy(bias_memory.get_data_handle(), bias.data(), bias.size() * sizeof(float));
  dnnl::post_ops after_ops;
  if (relu) after_ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, r.activation_param, 0);
  dnnl::primitive_attr attr;
  attr.set_post_ops(after_ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the library's is not free-threaded

  primitives_ = std::make_unique<Primitives>();
  primitives_->stream = dnnl::stream(cpu());
  std::vector<memory> packed;  // the weights, in each order that a band's primitive wants
  auto pack = [&](const memory::desc& desc) {
    for (const memory& known : packed) {
      if (known.get_desc() == desc) return known;
    }
    memory made(desc, cpu());
    dnnl::reorder(plain, made).execute(primitives_->stream, const_cast<memory&>(plain), made);
    primitives_->stream.wait();
    packed.push_back(made);
    return made;
  };
  // A depthwise convolution takes some four times as long for as many.
  const double macs =
      static_cast<double>(result_.size()) * rows.kernel * cols.kernel * (depthwise ? 4 : run.in.c);
  int count = count_bands(result_, macs);
  // Every band needs some row of the source itself, not of its padding.
  if (rows.before >= rows.kernel || rows.end(result_.rows) - rows.in >= rows.kernel) {
    count = 1;
  }
  for (int i = 0; i < count; ++i) {
    const Band band = band_of(result_.rows, i, count);
    const int start = std::max(rows.start(band.first), 0);
    const int end = std::min(rows.end(band.last), rows.in);
    const int out_rows = band.last - band.first;
    const memory::desc source({1, run.in.c, end - start, cols.in}, f32, Tag::nhwc);
    const memory::desc result({1, r.m, out_rows, result_.cols}, f32, Tag::nhwc);
    // oneDNN wants the pads to fit exactly; what the last window does not reach is cut off.
    const memory::dims before = {start - rows.start(band.first), cols.before};
    const memory::dims after = {rows.end(band.last) - end, cols.end(result_.cols) - cols.in};
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source,
        weights_any, bias_desc, result, {rows.stride, cols.stride},
        {rows.dilation - 1, cols.dilation - 1}, before, after);
    const dnnl::convolution_forward::primitive_desc chosen(desc, attr, cpu());
    BandConvolution made;
    made.convolution = dnnl::convolution_forward(chosen);
    made.source = memory(source, cpu(), nullptr);
    made.weights = pack(chosen.weights_desc());
    made.bias = bias_memory;
    made.result = memory(result, cpu(), nullptr);
    made.scratchpad = memory(chosen.scratchpad_desc(), cpu(), nullptr);
    made.scratchpad_bytes = chosen.scratchpad_desc().get_size();
    bands_.push_back(band);
    source_bands_.push_back({start, end});
    primitives_->bands.push_back(std::move(made));
  }
  return true;
}

void ConvKernel::execute(size_t band, const float* source, float* result) const {
  // Handles are set per call: only the queue's one worker executes kernels, each band once at a
  // time.
  BandConvolution& b = primitives_->bands[band];
  b.source.set_data_handle(const_cast<float*>(source));
  b.result.set_data_handle(result);
  b.scratchpad.set_data_handle(thread_scratchpad(b.scratchpad_bytes));
  b.convolution.execute(primitives_->stream, {{DNNL_ARG_SRC, b.source},
                                              {DNNL_ARG_WEIGHTS, b.weights},
                                              {DNNL_ARG_BIAS, b.bias},
                                              {DNNL_ARG_DST, b.result},
                                              {DNNL_ARG_SCRATCHPAD, b.scratchpad}});
}

}  // namespace dvnn::softdv
