// SPDX-License-Identifier: Apache-2.0
// A library of CPU layers as a user writes it: Spread repeats a picture's channels as often as
// `sizes` says, each time multiplied by `amount`. Broken fails to be created, Failing to run.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "dvnn_layer.h"

namespace {

struct Spread {
  float amount;
  int sizes[2];
  size_t elements;
};

void* create_spread(const char* params, const dvnn_shape* inputs, size_t n_inputs,
                    const dvnn_shape* outputs, size_t n_outputs, const dvnn_message* message) {
  Spread spread = {0, {0, 0}, 1};
  const char* amount = std::strstr(params, "\"amount\":");
  const char* sizes = std::strstr(params, "\"sizes\":[");
  if (!amount || !sizes || std::sscanf(amount + 9, "%f", &spread.amount) != 1 ||
      std::sscanf(sizes + 9, "%d,%d", &spread.sizes[0], &spread.sizes[1]) != 2) {
    std::snprintf(message->text, message->size, "amount and sizes are needed, not %s", params);
    return nullptr;
  }
  if (n_inputs != 1 || n_outputs != 1 || outputs[0].dims[1] != 2 * inputs[0].dims[1]) {
    std::snprintf(message->text, message->size, "one input, and twice its channels");
    return nullptr;
  }
  for (int i = 0; i < inputs[0].rank; ++i) {
    spread.elements *= static_cast<size_t>(inputs[0].dims[i]);
  }
  auto* self = static_cast<Spread*>(std::malloc(sizeof(Spread)));
  if (self) *self = spread;
  return self;
}

int run_spread(void* layer, const float* const* inputs, float* const* outputs,
               const dvnn_message*) {
  const auto* self = static_cast<const Spread*>(layer);
  float* to = outputs[0];
  for (int size : self->sizes) {
    for (size_t i = 0; i < self->elements; ++i) {
      *to++ = inputs[0][i] * self->amount * static_cast<float>(size);
    }
  }
  return 0;
}

void* create_broken(const char*, const dvnn_shape*, size_t, const dvnn_shape*, size_t,
                    const dvnn_message*) {
  return nullptr;
}

void* create_failing(const char*, const dvnn_shape*, size_t, const dvnn_shape*, size_t,
                     const dvnn_message*) {
  return std::malloc(1);
}

int run_failing(void*, const float* const*, float* const*, const dvnn_message* message) {
  std::snprintf(message->text, message->size, "no\nluck");
  return 1;
}

const dvnn_layer_class kSpread = {sizeof(dvnn_layer_class), "Spread", create_spread, run_spread,
                                  std::free};
const dvnn_layer_class kBroken = {sizeof(dvnn_layer_class), "Broken", create_broken, run_failing,
                                  std::free};
const dvnn_layer_class kFailing = {sizeof(dvnn_layer_class), "Failing", create_failing, run_failing,
                                   std::free};

}  // namespace

const dvnn_layer_class* const* dvnn_layer_classes_v1(void) {
  static const dvnn_layer_class* const kClasses[] = {&kSpread, &kBroken, &kFailing, nullptr};
  return kClasses;
}
