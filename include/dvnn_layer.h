/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU layers in a library of your own, in C: dvinfer custom-layers=libmine.so.
 * A network names such a layer by its type, with parameters, after `dvnet convert --custom-layers`.
 * Tensors are 32-bit floats, row-major in the order of their dimensions; pictures are n, c, h, w.
 */
#ifndef DVNN_LAYER_H
#define DVNN_LAYER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DVNN_LAYER_MAX_RANK 6
/* What a library exports that hides everything else. */
#define DVNN_LAYER_API __attribute__((visibility("default")))

struct dvnn_shape {
  int32_t rank; /* 1 to DVNN_LAYER_MAX_RANK */
  int32_t dims[DVNN_LAYER_MAX_RANK];
};

/* Where to say, in words, what is wrong: a buffer of `size` bytes. */
struct dvnn_message {
  char* text;
  size_t size;
};

/* A type of layers. Every frame in flight has an object of its own, used by one thread at a time.
 */
struct dvnn_layer_class {
  uint32_t size;    /* of this structure: sizeof(struct dvnn_layer_class) */
  const char* type; /* as the network names it */
  /* Makes a layer; `params` is a JSON object. NULL, and a message, if it cannot be made. */
  void* (*create)(const char* params, const struct dvnn_shape* inputs, size_t n_inputs,
                  const struct dvnn_shape* outputs, size_t n_outputs,
                  const struct dvnn_message* message);
  /* Reads the inputs and fills the outputs. Not 0, and a message, on failure. */
  int (*run)(void* layer, const float* const* inputs, float* const* outputs,
             const struct dvnn_message* message);
  void (*destroy)(void* layer);
};

/* What such a library exports: its types, and NULL after the last one. */
DVNN_LAYER_API const struct dvnn_layer_class* const* dvnn_layer_classes_v1(void);

#ifdef __cplusplus
}
#endif

#endif /* DVNN_LAYER_H */
