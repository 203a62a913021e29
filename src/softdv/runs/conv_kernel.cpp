// SPDX-License-Identifier: Apache-2.0
#include "softdv/runs/conv_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "softdv/convolutions/onednn_convolution.h"
#include "softdv/one_thread.h"
#include "softdv/queue.h"

namespace dvnn::softdv {
namespace {

struct Cache {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<ConvKernel>> kernels;
};

Cache& cache() {
  static Cache* instance = new Cache();
  return *instance;
}

// A key of everything that a kernel depends on.
std::string cache_key(const SoftRun& run, bool hwc, bool relu, bool in_chunks) {
  const device::ConvRun& r = run.run;
  const PackedGeometry& g = run.geometry;
  char text[256];
  std::snprintf(text, sizeof text,
                "%dx%dx%d m%d k%dx%d s%dx%d d%dx%d p%d,%d,%d,%d kind%d q%d prelu%d fc%d y%d "
                "relu%d:%a c%d,%d w%016llx:%llu",
                run.in.w, run.in.h, run.in.c, g.m, r.kernel.x, r.kernel.y, r.stride.x, r.stride.y,
                r.dilation.x, r.dilation.y, r.conv_pad.left, r.conv_pad.right, r.conv_pad.top,
                r.conv_pad.bottom, static_cast<int>(r.conv), g.quantised, g.prelu,
                run.fully_connected, hwc, relu, static_cast<double>(r.activation_param), in_chunks,
                r.pool == device::PoolKind::kNone,
                static_cast<unsigned long long>(weights_hash(run.weights)),
                static_cast<unsigned long long>(run.weights.size));
  return text;
}

}  // namespace

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

std::shared_ptr<ConvKernel> ConvKernel::get(const SoftRun& run, bool hwc, bool relu,
                                            bool in_chunks) {
  const std::string key = cache_key(run, hwc, relu, in_chunks);
  Cache& shared = cache();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  if (auto known = shared.kernels[key].lock()) return known;
  std::shared_ptr<ConvKernel> kernel(new ConvKernel());
  const OneThread one_thread;
  try {  // oneDNN reports by exception; none may cross the C interface
    if (!kernel->build(run, hwc, relu, in_chunks)) return nullptr;
  } catch (const std::exception& e) {
    set_error("the convolution cannot be prepared: %s", e.what());
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
  bool hwc;
  int rows(device::Extent e) const { return hwc ? e.y : e.x; }
  int cols(device::Extent e) const { return hwc ? e.x : e.y; }
  int rows(device::Dims d) const { return hwc ? d.h : d.w; }
  int cols(device::Dims d) const { return hwc ? d.w : d.h; }
};

// Float weights in oneDNN's (m, c, rows, cols) order. The stream's inner axis is the row axis in
// both modes: with kHwc8 tensors the kernels were transposed before packing.
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

// Chooses the number of bands: more the more work there is to share, and each small enough that its
// result stays in the second-level cache for what follows. Not by the number of threads: oneDNN may
// sum up in another order where the band has another shape, and results must not depend on threads.
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

// One spatial axis of a convolution: the part of the source that outputs `first`..`last`-1 read.
struct Window {
  int in, kernel, stride, dilation, before;  // dilation: distance of taps
  int start(int out) const { return out * stride - before; }
  int end(int last) const { return start(last - 1) + (kernel - 1) * dilation + 1; }
};

// All outputs of an axis.
ConvAxis whole(const Window& w, int out) {
  return {w.in, out, w.kernel, w.stride, w.dilation, w.before, w.end(out) - w.in};
}

}  // namespace

bool ConvKernel::build(const SoftRun& run, bool hwc, bool relu, bool in_chunks) {
  const Axes axes{hwc};
  const device::ConvRun& r = run.run;
  const bool depthwise = device::is_depthwise(r.conv), deconv = device::is_deconv(r.conv);
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
                       hwc ? pad.top : pad.left};
  const Window cols = {source_.cols, axes.cols(r.kernel), axes.cols(stride), axes.cols(r.dilation),
                       hwc ? pad.left : pad.top};

  std::vector<float> weights, bias;
  unpack(run, &weights, &bias, &slopes_);
  // Vectors of slopes may reach beyond the last channel.
  if (!slopes_.empty())
    slopes_.resize((slopes_.size() - 1) / kPanelChannels * kPanelChannels + kPanelChannels);
  ConvShape shape = {whole(rows, result_.rows), whole(cols, result_.cols), run.in.c, r.m,
                     depthwise};
  if (in_chunks && !deconv && Depthwise::suits(shape)) {
    depthwise_ = std::make_unique<Depthwise>(shape, weights.data(), bias.data());
    return true;
  }
  const bool reduced = run.run.pool != device::PoolKind::kNone;
  if (in_chunks && !deconv && Winograd::suits(shape)) {
    winograd_ = std::make_unique<Winograd>(shape, weights.data(), bias.data(), reduced);
    return true;
  }
  if (in_chunks && !deconv && Direct::suits(shape)) {
    direct_ = std::make_unique<Direct>(shape, weights.data(), bias.data(), !reduced);
    return true;
  }
  OneDnnWeights packed(shape, weights.data(), bias.data());
  // A depthwise convolution takes some four times as long for as many.
  const double macs =
      static_cast<double>(result_.size()) * rows.kernel * cols.kernel * (depthwise ? 4 : run.in.c);
  int count = count_bands(result_, macs);
  // Every band needs some row of the source itself, not of its padding.
  if (rows.before >= rows.kernel || rows.end(result_.rows) - rows.in >= rows.kernel) {
    count = 1;
  }
  const ConvRelu after{relu, r.activation_param};
  for (int i = 0; i < count; ++i) {
    const Band band = band_of(result_.rows, i, count);
    // The range is empty if all windows lie in the padding.
    const int start = std::clamp(rows.start(band.first), 0, rows.in);
    const int end = std::clamp(rows.end(band.last), start, rows.in);
    // oneDNN wants the pads to fit exactly; what the last window does not reach is cut off.
    shape.rows = {end - start,
                  band.last - band.first,
                  rows.kernel,
                  rows.stride,
                  rows.dilation,
                  start - rows.start(band.first),
                  rows.end(band.last) - end};
    shape.columns = {cols.in,
                     result_.cols,
                     cols.kernel,
                     cols.stride,
                     cols.dilation,
                     cols.before,
                     cols.end(result_.cols) - cols.in};
    auto made = onednn_convolution(shape, after, &packed);
    if (!made) made = plain_convolution(shape, after, weights.data(), bias.data());
    convolutions_.push_back(std::move(made));
    bands_.push_back(band);
    source_bands_.push_back({start, end});
  }
  return true;
}

void ConvKernel::execute(size_t band, const float* source, float* result) const {
  // One thread at a time leads the team, and each band is done once at a time.
  convolutions_[band]->execute(source, result);
}

}  // namespace dvnn::softdv
