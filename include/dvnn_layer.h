/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU layers in a library of your own, in C: dvinfer custom-layers=libmine.so.
 * A network names such a layer by its type, with parameters, after `dvnet convert --layer-types`.
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
/* Marks the exports of a library that hides its other symbols. */
#define DVNN_LAYER_API __attribute__((visibility("default")))

struct dvnn_shape {
  int32_t rank; /* 1 to DVNN_LAYER_MAX_RANK */
  int32_t dims[DVNN_LAYER_MAX_RANK];
};

/* Where to write an error message: a buffer of `size` bytes. */
struct dvnn_message {
  char* text;
  size_t size;
};

/* A type of layers. Each frame in flight has its own instance, which is used by one thread at a
 * time. */
struct dvnn_layer_class {
  uint32_t size;    /* of this structure: sizeof(struct dvnn_layer_class) */
  const char* type; /* the type in the network */
  /* Creates a layer; `params` is a JSON object. On failure, returns NULL and writes a message. */
  void* (*create)(const char* params, const struct dvnn_shape* inputs, size_t n_inputs,
                  const struct dvnn_shape* outputs, size_t n_outputs,
                  const struct dvnn_message* message);
  /* Reads the inputs and fills the outputs. On failure, returns not 0 and writes a message. */
  int (*run)(void* layer, const float* const* inputs, float* const* outputs,
             const struct dvnn_message* message);
  void (*destroy)(void* layer);
};

/* Exported by such a library: returns its types, followed by NULL. */
DVNN_LAYER_API const struct dvnn_layer_class* const* dvnn_layer_classes_v1(void);

#ifdef __cplusplus
}
#endif

#endif /* DVNN_LAYER_H */
