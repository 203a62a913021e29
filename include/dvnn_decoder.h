/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoders in a library of your own, in C: they convert a network's outputs to objects. A network
 * names such a decoder, and may name the library: `dvnet convert --decoder NAME --decoder-library
 * libmine.so`. dvdecode gets it by decoder-library=libmine.so. See docs/decoders.md. Outputs are
 * 32-bit floats, row-major in the order of their dimensions; pictures are n, c, h, w.
 */
#ifndef DVNN_DECODER_H
#define DVNN_DECODER_H

#include "dvnn_layer.h" /* struct dvnn_shape, struct dvnn_message */

#ifdef __cplusplus
extern "C" {
#endif

/* An output of the network. */
struct dvnn_output {
  const char* name;
  struct dvnn_shape shape;
};

/* The kind of all objects of a decoder. */
enum dvnn_decoder_kind {
  DVNN_DETECTIONS = 0,      /* objects with a place */
  DVNN_CLASSIFICATIONS = 1, /* classes of the whole input */
  DVNN_SEGMENTATIONS = 2,   /* maps: the class of each part */
  DVNN_ATTRIBUTES = 3       /* details of the whole input: points, text, numbers, an embedding */
};

/* A place in fractions of the network's input, from (0, 0) at its top left to (1, 1) at its bottom
 * right. */
struct dvnn_point {
  float x, y;
  float confidence; /* 0..1; 0: the network did not see the point */
};

struct dvnn_number {
  const char* name;
  double value;
};

/* An object. Fields that are 0 are absent; everything is copied. */
struct dvnn_object {
  uint32_t size;        /* of this structure: sizeof(struct dvnn_object) */
  int32_t class_id;     /* index into the network's labels */
  float confidence;     /* 0..1 */
  float x0, y0, x1, y1; /* the box, in fractions of the network's input; ignored for kinds
                           without a place, which have the whole input */
  const struct dvnn_point* outline; /* corners of an oriented box or a polygon, in order */
  size_t n_outline;
  const struct dvnn_point* points; /* key points, in the order of the skeleton */
  size_t n_points;
  const char* skeleton; /* one of those in docs/decoders.md, or another name */
  /* One byte per cell, rows from top to bottom: of detections the confidence that the cell is the
   * object's, where 255 is certain; of maps the class. */
  const uint8_t* mask;
  int32_t mask_width, mask_height;
  float mask_x0, mask_y0, mask_x1, mask_y1; /* the area of the mask */
  const char* text;                         /* UTF-8 */
  const float* embedding;
  size_t n_embedding;
  const struct dvnn_number* numbers;
  size_t n_numbers;
};

/* Receiver of objects. */
struct dvnn_objects {
  uint32_t size; /* of this structure */
  /* Copies the object. Returns not 0 if it was left out, because a number is not finite, its box is
   * empty, its confidence is below the threshold, or there are too many. The decoder may go on. */
  int (*add)(const struct dvnn_objects* self, const struct dvnn_object* object);
};

/* Suppresses boxes for the decoder: of those of a class that overlap by more than the parameter
 * nms_threshold (0.45), only the best is kept. */
#define DVNN_DECODER_SUPPRESSES 1u

/* A decoder. Each dvdecode creates its own instance, which is used by one thread at a time. */
struct dvnn_decoder_class {
  uint32_t size;    /* of this structure: sizeof(struct dvnn_decoder_class) */
  const char* name; /* the name in the network */
  uint32_t kind;    /* enum dvnn_decoder_kind */
  uint32_t flags;   /* DVNN_DECODER_SUPPRESSES, or 0 */
  /* Creates a decoder for these outputs. `params` is a JSON object, in which "image" is the size of
   * the network's input, [width, height]. On failure, returns NULL and writes a message. */
  void* (*create)(const char* params, const struct dvnn_output* outputs, size_t n_outputs,
                  const struct dvnn_message* message);
  /* Adds the objects with a confidence of at least `threshold`, in any order. On failure, returns
   * not 0 and writes a message; this ends the stream. */
  int (*decode)(void* decoder, const float* const* outputs, float threshold,
                const struct dvnn_objects* objects, const struct dvnn_message* message);
  void (*destroy)(void* decoder); /* may be NULL */
};

/* Exported by such a library: returns its decoders, followed by NULL. */
DVNN_LAYER_API const struct dvnn_decoder_class* const* dvnn_decoder_classes_v1(void);

#ifdef __cplusplus
}
#endif

#endif /* DVNN_DECODER_H */
