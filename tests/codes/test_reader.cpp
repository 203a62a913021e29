// SPDX-License-Identifier: Apache-2.0
#include "codes/reader.h"

#include "check_suite.h"
#include "drawn_codes.h"

namespace dvnn::test::reader_tests {

DVNN_SUITE(codes_reader);

using namespace dvnn::codes;

namespace {

constexpr double kAll = 1;

void check_reads(const Luma& picture, const char* text, const char* format) {
  const auto reading = Reader().read(picture, kAll);
  ck_assert_msg(reading.has_value(), "'%s' is not read", text);
  dvnn_assert_text(reading->text, text);
  dvnn_assert_text(reading->format, format);
}

Luma picture_of(const Modules& code, int module) {
  const int side = static_cast<int>(code[0].size() + 20) * module;
  Luma picture = light_picture(side, code.size() == 1 ? side / 2 + 20 * module : side);
  draw(code, 10 * module, 10 * module, module, &picture);
  return picture;
}

}  // namespace

DVNN_TEST(codes_are_read_exactly) {
  check_reads(picture_of(kAddressCode, 4), "https://dvnn.example/7", "QR-Code");
  check_reads(picture_of(kArticleCode, 2), "4006381333931", "EAN-13");
  check_reads(picture_of(kShelfCode, 2), "SHELF-07/b:12", "CODE-128");
}

DVNN_TEST(codes_that_lie_askew_are_read) {
  Luma turned;
  for (const double degrees : {20.0, 45.0, 90.0, 135.0, 180.0, 250.0}) {
    turn(picture_of(kAddressCode, 4), 1, degrees, &turned);
    check_reads(turned, "https://dvnn.example/7", "QR-Code");
    turn(picture_of(kArticleCode, 3), 1, degrees, &turned);
    check_reads(turned, "4006381333931", "EAN-13");
  }
}

// The neighbour's text is not this object's.
DVNN_TEST(a_code_beside_the_object_is_not_its_text) {
  Luma picture = light_picture(400, 200);
  draw(kAddressCode, 20, 50, 4, &picture);
  ck_assert(!Reader().read(picture, 0.3).has_value());
  draw(kHostileCode, 160, 60, 4, &picture);
  const auto nearest = Reader().read(picture, kAll);
  ck_assert(nearest.has_value());
  ck_assert_int_eq(nearest->text[0], 'a');
}

DVNN_TEST(a_picture_without_a_code_has_no_text) {
  ck_assert(!Reader().read(light_picture(100, 80), kAll).has_value());
  ck_assert(!Reader().read(light_picture(1, 1), kAll).has_value());
  ck_assert(!Reader().read(Luma{}, kAll).has_value());
}

DVNN_TEST(hostile_texts_become_harmless) {
  dvnn_assert_text(harmless_text("caf\xc3\xa9 \xe6\x9d\xb1 \xf0\x9f\x98\x80"),
                   "caf\xc3\xa9 \xe6\x9d\xb1 \xf0\x9f\x98\x80");
  dvnn_assert_text(harmless_text("a\r\n\tb"), "a   b");
  dvnn_assert_text(harmless_text("\x1b[2J\x07"), "?[2J?");
  dvnn_assert_text(harmless_text("\xff\xc0\x80"), "???");
  // C1, a turn of direction, a cut character.
  dvnn_assert_text(harmless_text("\xc2\x9b\xe2\x80\xae"), "??");
  dvnn_assert_text(harmless_text("x\xe6\x9d"), "x??");
  dvnn_assert_text(harmless_text(std::string(size_t{1}, '\0')), "?");
  // No character is cut.
  std::string much;
  for (size_t i = 0; i < kMostTextBytes; ++i) much += "\xe6\x9d\xb1";
  const std::string cut = harmless_text(much);
  ck_assert_uint_le(cut.size(), kMostTextBytes);
  ck_assert_uint_gt(cut.size(), kMostTextBytes - 4);
  ck_assert(cut.find('?') == std::string::npos);
}

DVNN_TEST(what_a_hostile_code_says_is_harmless) {
  const auto reading = Reader().read(picture_of(kHostileCode, 4), kAll);
  ck_assert(reading.has_value());
  ck_assert_int_eq(reading->text[0], 'a');
  ck_assert(reading->text.find("[2J ") != std::string::npos);
  for (const char c : reading->text) ck_assert(static_cast<unsigned char>(c) >= 0x20);
  dvnn_assert_text(harmless_text(reading->text), reading->text.c_str());
  // UTF-8 is read as such, so what is in it is seen.
  check_reads(picture_of(kTurningCode, 4), "turned ?cod.exe", "QR-Code");
}

}  // namespace dvnn::test::reader_tests
