// SPDX-License-Identifier: Apache-2.0
// A library with a user's own decoder (docs/decoders.md):
//
//     c++ -shared -fPIC cells_decoder.cpp $(pkg-config --cflags dmp-network) -o libcells.so
//     dvnet convert net.onnx --decoder cells --decoder-library ./libcells.so -o net.dvn
//     gst-launch-1.0 … ! dvinfer network=net.dvn ! dvdecode decoder-library=./libcells.so !
//     dvoverlay ! …
//
// The network has one output of 1 x classes x height x width: the confidence that an object of a
// class has its middle in a cell. Objects are `reach` cells wide, and their middle is a key point.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "dvnn_decoder.h"

namespace {

struct Cells {
  int classes, height, width;
  float reach;
};

void* create_cells(const char* params, const dvnn_output* outputs, size_t n_outputs,
                   const dvnn_message* message) {
  if (n_outputs != 1 || outputs[0].shape.rank != 4 || outputs[0].shape.dims[0] != 1) {
    std::snprintf(message->text, message->size, "one output of 1xCxHxW is needed");
    return nullptr;
  }
  const int32_t* dims = outputs[0].shape.dims;
  Cells cells = {dims[1], dims[2], dims[3], 1};
  const char* reach = std::strstr(params, "\"reach\":");
  if (reach && (std::sscanf(reach + 8, "%f", &cells.reach) != 1 || !(cells.reach > 0))) {
    std::snprintf(message->text, message->size, "reach must be a positive number");
    return nullptr;
  }
  auto* self = static_cast<Cells*>(std::malloc(sizeof(Cells)));
  if (self) *self = cells;
  return self;
}

int decode_cells(void* decoder, const float* const* outputs, float threshold,
                 const dvnn_objects* objects, const dvnn_message*) {
  const auto* self = static_cast<const Cells*>(decoder);
  const float* score = outputs[0];
  for (int c = 0; c < self->classes; ++c) {
    for (int y = 0; y < self->height; ++y) {
      for (int x = 0; x < self->width; ++x, ++score) {
        if (!(*score >= threshold)) continue;
        const auto width = static_cast<float>(self->width);
        const auto height = static_cast<float>(self->height);
        dvnn_point middle = {};
        middle.x = (static_cast<float>(x) + 0.5f) / width;
        middle.y = (static_cast<float>(y) + 0.5f) / height;
        middle.confidence = 1;
        dvnn_object object = {};
        object.size = sizeof object;
        object.class_id = c;
        object.confidence = *score;
        object.x0 = middle.x - self->reach / 2 / width;
        object.y0 = middle.y - self->reach / 2 / height;
        object.x1 = middle.x + self->reach / 2 / width;
        object.y1 = middle.y + self->reach / 2 / height;
        object.points = &middle;
        object.n_points = 1;
        objects->add(objects, &object);
      }
    }
  }
  return 0;
}

// Neighbouring cells see the same object: the best of them remains.
const dvnn_decoder_class kCells = {sizeof(dvnn_decoder_class),
                                   "cells",
                                   DVNN_DETECTIONS,
                                   DVNN_DECODER_SUPPRESSES,
                                   create_cells,
                                   decode_cells,
                                   std::free};

}  // namespace

const dvnn_decoder_class* const* dvnn_decoder_classes_v1(void) {
  static const dvnn_decoder_class* const kClasses[] = {&kCells, nullptr};
  return kClasses;
}
