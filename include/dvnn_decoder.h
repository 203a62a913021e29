/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoders in a library of your own, in C: what a network's outputs say, as objects.
 * A network names such a decoder, and may name the library: `dvnet convert --decoder NAME
 * --decoder-library libmine.so`. dvdecode decoder-library=libmine.so gives it. docs/decoders.md
 * tells more. Outputs are 32-bit floats, row-major in the order of their dimensions; pictures are
 * n, c, h, w.
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

/* What all that a decoder finds is. */
enum dvnn_decoder_kind {
  DVNN_DETECTIONS = 0,      /* things that have a place */
  DVNN_CLASSIFICATIONS = 1, /* what the whole shows */
  DVNN_SEGMENTATIONS = 2,   /* maps: which class each part is of */
  DVNN_ATTRIBUTES = 3       /* what is known of the whole: points, text, numbers, an embedding */
};

/* A place in fractions of the network's input: (0, 0) is its top left corner, (1, 1) its bottom
 * right one. */
struct dvnn_point {
  float x, y;
  float confidence; /* 0..1; 0: the network did not see the point */
};

struct dvnn_number {
  const char* name;
  double value;
};

/* Something that was found. What is 0 is not there; all of it is copied. */
struct dvnn_object {
  uint32_t size;        /* of this structure: sizeof(struct dvnn_object) */
  int32_t class_id;     /* index into the network's labels */
  float confidence;     /* 0..1 */
  float x0, y0, x1, y1; /* the box, in fractions of the network's input; of kinds without a place
                           the whole, whatever is written here */
  const struct dvnn_point* outline; /* corners of an oriented box or a polygon, in order */
  size_t n_outline;
  const struct dvnn_point* points; /* key points, in the order of the skeleton */
  size_t n_points;
  const char* skeleton; /* one of those in docs/decoders.md, or another name */
  /* A byte per cell, rows from the top: of detections how surely the cell belongs to the object,
   * 255 is surest; of maps the class. */
  const uint8_t* mask;
  int32_t mask_width, mask_height;
  float mask_x0, mask_y0, mask_x1, mask_y1; /* what the mask covers */
  const char* text;                         /* UTF-8 */
  const float* embedding;
  size_t n_embedding;
  const struct dvnn_number* numbers;
  size_t n_numbers;
};

/* Where objects go. */
struct dvnn_objects {
  uint32_t size; /* of this structure */
  /* Takes a copy of the object. Not 0: it is not taken, because a number in it is not finite, its
   * box is empty, its confidence is below the threshold, or there are too many; go on or end. */
  int (*add)(const struct dvnn_objects* self, const struct dvnn_object* object);
};

/* Of boxes of a class that overlap by more than the parameter nms_threshold says (0.45), only the
 * best remains: the decoder need not do it. */
#define DVNN_DECODER_SUPPRESSES 1u

/* A decoder. Every dvdecode has an object of its own, used by one thread at a time. */
struct dvnn_decoder_class {
  uint32_t size;    /* of this structure: sizeof(struct dvnn_decoder_class) */
  const char* name; /* as the network names it */
  uint32_t kind;    /* enum dvnn_decoder_kind */
  uint32_t flags;   /* DVNN_DECODER_SUPPRESSES, or 0 */
  /* Makes a decoder for these outputs; `params` is a JSON object, in which "image" is the size of
   * the network's input, [width, height]. NULL, and a message, if it cannot be made. */
  void* (*create)(const char* params, const struct dvnn_output* outputs, size_t n_outputs,
                  const struct dvnn_message* message);
  /* Adds what the outputs hold with a confidence of at least `threshold`, in any order. Not 0, and
   * a message, on failure, which ends the stream. */
  int (*decode)(void* decoder, const float* const* outputs, float threshold,
                const struct dvnn_objects* objects, const struct dvnn_message* message);
  void (*destroy)(void* decoder); /* may be NULL */
};

/* What such a library exports: its decoders, and NULL after the last one. */
DVNN_LAYER_API const struct dvnn_decoder_class* const* dvnn_decoder_classes_v1(void);

#ifdef __cplusplus
}
#endif

#endif /* DVNN_DECODER_H */
