// SPDX-License-Identifier: Apache-2.0
// Labels: their texts, and where they stand.
#include "photo.h"

namespace dvnn::test::labels_tests {

DVNN_SUITE(draw_labels);

using namespace dvnn::draw;
using namespace dvnn::draw::test;

DVNN_TEST(labels_are_written_in_many_scripts) {
  for (const char* text : {"person 93%", "\u0416\u0443\u043a", "\u0645\u0631\u062d\u0628\u0627",
                           "\u6771\u4eac", "\u0e01\u0e32", "\U0001F697"}) {
    Item item;
    item.object.box = {20, 60, 180, 110};
    item.caption = text;
    const Photo photo = paint({item}, 200, 120);
    int ground = 0, ink = 0;
    const size_t corner = static_cast<size_t>((59 * 200 + 20) * 3);
    for (int y = 40; y < 60; ++y) {
      for (int x = 20; x < 180; ++x) {
        const size_t at = static_cast<size_t>((y * 200 + x) * 3);
        if (photo.contrast(x, y) == 0) continue;
        const bool same = std::equal(&photo.bgr[at], &photo.bgr[at] + 3, &photo.bgr[corner]);
        ++(same ? ground : ink);
      }
    }
    ck_assert_msg(ground > 10 && ink > 10, "%s: %d pixels of ground, %d of ink", text, ground, ink);
  }
}

DVNN_TEST(labels_stay_on_the_frame) {
  for (int width : {1, 7, 64, 320}) {
    for (double shape : {1.0 / 16, 1.0, 16.0}) {
      Item item;
      item.object.box = {0, 0, 64, 48};
      item.caption = std::string(1000, 'W') + "\xff\xfe\n\x1b[2J";
      Item list = bare();
      list.caption = "class";
      Item part = list;
      part.object.parent = 1;
      part.object.box = item.object.box;
      // Painting checks the tiles.
      paint({item, part, part, part, list, list, list, list, list}, width, 48, 2, shape);
    }
  }
}

// One under the other, below the object; what is said of the whole frame is in the corner.
DVNN_TEST(what_is_said_of_an_object_is_written_below_it) {
  Item part = bare();
  part.object.parent = 1;
  part.object.box = {40, 30, 90, 50};
  part.caption = "red";
  const Photo one = paint({part}, 200, 140), two = paint({part, part}, 200, 140);
  const auto lowest = [](const Photo& photo) {
    int row = -1;
    for (int y = 0; y < 140; ++y) {
      if (photo.contrast(40, y) > 0) row = y;
    }
    return row;
  };
  for (int y = 0; y < 50; ++y) {
    for (int x = 0; x < 200; ++x) ck_assert_int_eq(two.contrast(x, y), 0);
  }
  ck_assert_int_gt(one.contrast(40, 50), 0);
  ck_assert_int_eq(lowest(two) - 49, 2 * (lowest(one) - 49));
}

DVNN_TEST(captions_have_limits) {
  objects::Object object;
  object.label = "person";
  object.confidence = 0.934f;
  dvnn_assert_text(caption_of(object, {true, true}), "person 93%");
  dvnn_assert_text(caption_of(object, {true, false}), "person");
  dvnn_assert_text(caption_of(object, {false, true}), "93%");
  dvnn_assert_text(caption_of(object, {false, false}), "");
  object.agreement = {3, 0.991f, true};
  dvnn_assert_text(caption_of(object, {true, true}), "person 93% 99%/3");
  dvnn_assert_text(caption_of(object, {true, false}), "person");
  object.kind = objects::Kind::kClassification;
  dvnn_assert_text(caption_of(object, {true, true}), "person 99%/3");
  object.kind = objects::Kind::kDetection;
  object.agreement = {};
  object.track_id = 7;
  dvnn_assert_text(caption_of(object, {true, true}), "#7 person 93%");
  dvnn_assert_text(caption_of(object, {false, false}), "#7");
  dvnn_assert_text(caption_of(object, {true, false, false}), "person");
  object.identity.stranger = 17;
  dvnn_assert_text(caption_of(object, {true, false}), "#7 stranger 17? person");
  object.identity = {"Ada", 0, 0.8f, true};
  dvnn_assert_text(caption_of(object, {true, false}), "#7 Ada person");
  object.identity = {};
  object.track_id = 0;
  object.numbers = {{"age", 34.257}};
  dvnn_assert_text(caption_of(object, {true, true}), "person 93% age 34.26");
  object.text = "AB 123";
  dvnn_assert_text(caption_of(object, {true, false}), "AB 123 age 34.26");
  object.text = "586";  // of what?
  dvnn_assert_text(caption_of(object, {true, false}), "person 586 age 34.26");
  object.text = "4006381333931";
  dvnn_assert_text(caption_of(object, {true, false}), "4006381333931 age 34.26");
  object.confidence = NAN;
  object.text = std::string(5 << 20, 'x');
  object.numbers.assign(1000, {std::string(1 << 16, 'n'), 1e300});
  ck_assert_uint_lt(caption_of(object, {true, true}).size(), 600);
}

}  // namespace dvnn::test::labels_tests
