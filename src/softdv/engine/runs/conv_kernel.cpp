// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/runs/chunk_run.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "softdv/engine/convolutions/kernels.h"

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

// Returns a key of everything on which a kernel depends.
std::string cache_key(const Run& run, Span<const uint8_t> weights, bool hwc) {
  const device::ConvRun& r = run.run;
  const PackedGeometry& g = run.geometry;
  char text[256];
  std::snprintf(text, sizeof text,
                "%dx%dx%d m%d k%dx%d s%dx%d d%dx%d p%d,%d,%d,%d kind%d q%d prelu%d fc%d y%d pool%d "
                "w%016llx:%llu",
                run.in.w, run.in.h, run.in.c, g.m, r.kernel.x, r.kernel.y, r.stride.x, r.stride.y,
                r.dilation.x, r.dilation.y, r.conv_pad.left, r.conv_pad.right, r.conv_pad.top,
                r.conv_pad.bottom, static_cast<int>(r.conv), g.quantised, g.prelu,
                run.fully_connected, hwc, r.pool != device::PoolKind::kNone,
                static_cast<unsigned long long>(weights_hash(weights)),
                static_cast<unsigned long long>(weights.size()));
  return text;
}

}  // namespace

uint64_t weights_hash(Span<const uint8_t> weights) {
  // FNV-1a over 8-byte words (sizes are multiples of 16) in four streams, because each step waits
  // for the one before. Accidental clashes are too rare to matter.
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
  size_t i = 0;
  for (; i + kStep <= weights.size(); i += kStep) {
    for (uint64_t k = 0; k < kStreams; ++k) mix(&streams[k], data + i + k * sizeof(uint64_t));
  }
  for (; i + sizeof(uint64_t) <= weights.size(); i += sizeof(uint64_t)) mix(&streams[0], data + i);
  for (uint64_t k = 1; k < kStreams; ++k) streams[0] = (streams[0] ^ streams[k]) * kPrime;
  return streams[0];
}

std::shared_ptr<ConvKernel> ConvKernel::get(const Run& run, Span<const uint8_t> weights, bool hwc) {
  const std::string key = cache_key(run, weights, hwc);
  Cache& shared = cache();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  if (auto known = shared.kernels[key].lock()) return known;
  std::shared_ptr<ConvKernel> kernel(new ConvKernel());
  try {
    kernel->build(run, weights.data(), hwc);
  } catch (const std::bad_alloc&) {
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

// Unpacks the weights to floats in ConvShape's order. The stream's inner axis is the row axis in
// both layouts: with kHwc8 tensors the kernels were transposed before packing.
void unpack(const Run& run, const uint8_t* from, std::vector<float>* weights,
            std::vector<float>* bias, std::vector<float>* slopes) {
  const PackedGeometry& g = run.geometry;
  const size_t outer = static_cast<size_t>(g.ky), inner = static_cast<size_t>(g.kx);
  std::vector<float> packed(g.weights());
  bias->resize(g.outputs());
  if (g.prelu) slopes->resize(g.outputs());
  if (run.fully_connected) {
    unpack_fc(g, from, packed.data(), bias->data());
  } else {
    unpack_weights(g, from, packed.data(), bias->data(), g.prelu ? slopes->data() : nullptr);
  }
  weights->resize(packed.size());
  for (size_t k = 0; k < g.kernels(); ++k) {
    for (size_t j = 0; j < outer; ++j) {
      for (size_t i = 0; i < inner; ++i) {
        (*weights)[(k * inner + i) * outer + j] = packed[(k * outer + j) * inner + i];
      }
    }
  }
}

// Describes one spatial axis of a convolution.
ConvAxis axis_of(int in, int out, int kernel, int stride, int dilation, int before, bool deconv) {
  // A transposed convolution is a convolution of the input with zeros between its pixels.
  return {in, out, kernel, deconv ? 1 : stride, dilation, before, deconv ? stride : 1};
}

}  // namespace

void ConvKernel::build(const Run& run, const uint8_t* packed, bool hwc) {
  const Axes axes{hwc};
  const device::ConvRun& r = run.run;
  const bool deconv = device::is_deconv(r.conv), pooled = r.pool != device::PoolKind::kNone;
  const device::Pad& pad = r.conv_pad;
  const ConvShape shape = {
      axis_of(axes.rows(run.in), axes.rows(run.conv), axes.rows(r.kernel), axes.rows(r.stride),
              axes.rows(r.dilation), hwc ? pad.top : pad.left, deconv),
      axis_of(axes.cols(run.in), axes.cols(run.conv), axes.cols(r.kernel), axes.cols(r.stride),
              axes.cols(r.dilation), hwc ? pad.left : pad.top, deconv),
      run.in.c, r.m, device::is_depthwise(r.conv)};
  std::vector<float> weights, bias;
  unpack(run, packed, &weights, &bias, &slopes_);
  // Vectors of slopes may extend beyond the last channel.
  if (!slopes_.empty())
    slopes_.resize((slopes_.size() - 1) / kPanelChannels * kPanelChannels + kPanelChannels);
  convolution_ = make_convolution(shape, weights.data(), bias.data(), pooled);
}

}  // namespace dvnn::softdv
