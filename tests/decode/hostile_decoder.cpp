// SPDX-License-Identifier: Apache-2.0
// A library of decoders that do what decoders should not. The network's first number says what.
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "dvnn_decoder.h"

namespace {

int token;

void* create_any(const char*, const dvnn_output*, size_t, const dvnn_message*) {
  return &token;
}

void* create_throwing(const char*, const dvnn_output*, size_t, const dvnn_message*) {
  throw std::runtime_error("not in the mood");
}

void* create_none(const char*, const dvnn_output*, size_t, const dvnn_message* message) {
  std::snprintf(message->text, message->size, "not\nthese");
  return nullptr;
}

void destroy_throwing(void*) {
  throw 1;
}

dvnn_object good_object() {
  dvnn_object object = {};
  object.size = sizeof object;
  object.confidence = 0.9f;
  object.x1 = object.y1 = 0.5f;
  return object;
}

// Numbers as a network may give them: what is of no use is left out, and the others stay.
void add_wild(const dvnn_objects* objects) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  dvnn_object object = good_object();
  for (const float value : {nan, inf, -inf, 1e30f}) {
    object.x1 = value;
    objects->add(objects, &object);
  }
  object = good_object();
  for (const float value : {nan, inf, -1.0f, 0.01f}) {
    object.confidence = value;
    objects->add(objects, &object);
  }
  object = good_object();
  object.x0 = 0.5f;  // of no width
  objects->add(objects, &object);
  object = good_object();
  const float vector[] = {1, nan};
  object.embedding = vector;
  object.n_embedding = 2;
  objects->add(objects, &object);
  object = good_object();
  object.confidence = 7;
  const dvnn_point points[] = {{nan, 0, 1}, {0.25f, 1e20f, 1}, {0.25f, 0.5f, nan}, {1, 1, 9}};
  object.points = points;
  object.n_points = 4;
  const dvnn_number numbers[] = {{"age", 30}, {"none", std::nan("")}};
  object.numbers = numbers;
  object.n_numbers = 2;
  object.text = "bell\a \xff";
  const uint8_t cells[] = {1, 2, 3, 4};
  object.mask = cells;
  object.mask_width = object.mask_height = 2;
  object.mask_x1 = nan;
  objects->add(objects, &object);
}

void add_mistake(int which, const dvnn_objects* objects) {
  dvnn_object object = good_object();
  switch (which) {
    case 2:
      object.n_points = 3;
      break;
    case 3:
      object.class_id = -1;
      break;
    case 4:
      object.size = 4;
      break;
    case 5: {
      static const uint8_t cell = 0;
      object.mask = &cell;
      object.mask_width = object.mask_height = 1 << 30;
      break;
    }
    case 6: {
      static const float number = 0;
      object.embedding = &number;
      object.n_embedding = static_cast<size_t>(-1);
      break;
    }
    default:
      objects->add(objects, nullptr);
      return;
  }
  objects->add(objects, &object);
}

// Lists that are longer than they may be, or that are nowhere.
void add_list(int which, const dvnn_objects* objects) {
  static const std::vector<dvnn_point> points(4097);
  static const std::vector<dvnn_number> numbers(4097);
  dvnn_object object = good_object();
  if (which == 20) object.n_numbers = 3;
  if (which == 21) object.n_outline = 5;
  if (which == 22) object.points = points.data(), object.n_points = points.size();
  if (which == 23) object.outline = points.data(), object.n_outline = points.size();
  if (which == 24) object.numbers = numbers.data(), object.n_numbers = numbers.size();
  objects->add(objects, &object);
}

// Embeddings of 256 KiB.
void add_embeddings(const dvnn_objects* objects) {
  const std::vector<float> numbers(1 << 16);
  dvnn_object object = good_object();
  object.embedding = numbers.data();
  object.n_embedding = numbers.size();
  for (int i = 0; i < 400; ++i) objects->add(objects, &object);
}

// More than anybody wants.
void add_many(const dvnn_objects* objects) {
  const std::vector<uint8_t> cells(1 << 20);
  dvnn_object object = good_object();
  for (int i = 0; i < 200; ++i) {
    object.mask = cells.data();
    object.mask_width = object.mask_height = 1 << 10;
    object.mask_x1 = object.mask_y1 = 1;
    objects->add(objects, &object);
  }
  object.mask = nullptr;
  for (int i = 0; i < 100000; ++i) objects->add(objects, &object);
}

int decode_wild(void*, const float* const* outputs, float, const dvnn_objects* objects,
                const dvnn_message* message) {
  const int which = static_cast<int>(outputs[0][0]);
  if (which <= 0) add_wild(objects);
  if (which == 1) add_many(objects);
  if (which >= 2 && which <= 7) add_mistake(which, objects);
  if (which >= 20 && which <= 24) add_list(which, objects);
  if (which == 30) add_embeddings(objects);
  if (which == 8) throw std::runtime_error("lost\nthe thread");
  if (which == 9) throw 9;
  if (which == 10) {
    std::snprintf(message->text, message->size, "cannot");
    return 1;
  }
  return 0;
}

const dvnn_decoder_class kWild = {sizeof(dvnn_decoder_class),
                                  "wild",
                                  DVNN_DETECTIONS,
                                  0,
                                  create_any,
                                  decode_wild,
                                  destroy_throwing};
const dvnn_decoder_class kThrowing = {sizeof(dvnn_decoder_class),
                                      "throwing",
                                      DVNN_ATTRIBUTES,
                                      0,
                                      create_throwing,
                                      decode_wild,
                                      nullptr};
const dvnn_decoder_class kNone = {sizeof(dvnn_decoder_class),
                                  "none-of-these",
                                  DVNN_ATTRIBUTES,
                                  0,
                                  create_none,
                                  decode_wild,
                                  nullptr};
#ifdef DVNN_TEST_TAKEN_NAME
const dvnn_decoder_class kExtra = {
    sizeof(dvnn_decoder_class), "ssd", DVNN_DETECTIONS, 0, create_any, decode_wild, nullptr};
#else
const dvnn_decoder_class kExtra = {
    sizeof(dvnn_decoder_class), "whole", DVNN_CLASSIFICATIONS, 0, create_any, decode_wild, nullptr};
#endif

}  // namespace

const dvnn_decoder_class* const* dvnn_decoder_classes_v1(void) {
  static const dvnn_decoder_class* const kClasses[] = {&kWild, &kThrowing, &kNone, &kExtra,
                                                       nullptr};
  return kClasses;
}
