// SPDX-License-Identifier: Apache-2.0
// Decoders from users' libraries: the example of the documentation, and one that means no good.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/json.h"
#include "decode/custom_decoders.h"
#include "outputs.h"

namespace dvnn::test::custom_decoders_tests {

DVNN_SUITE(custom_decoders);

using namespace dvnn::decode;
using json = dvnn::Json;

namespace {

std::shared_ptr<const CustomDecoders> library_at(const char* path) {
  auto opened = CustomDecoders::open(path);
  ck_assert_msg(opened.ok(), "%s", opened.ok() ? "" : opened.error().message.c_str());
  return opened.value();
}

// Two classes over 2 rows of 4 cells, whose numbers are 0 but for some.
std::vector<float> cells_but(const std::vector<std::pair<size_t, float>>& some) {
  std::vector<float> values(2 * 2 * 4, 0);
  for (const auto& [cell, value] : some) values[cell] = value;
  return values;
}

// Decodes an output of one number, which says how the decoder misbehaves.
Status behave(const char* name, float how, objects::Objects* found) {
  const auto library = library_at(HOSTILE_MODULE);
  const float bits = how;
  const TensorDesc desc{ElementType::kFloat32, Layout::kNchw, {1, 1}};
  const NamedOutput named{"o", desc};
  auto decoder = create_decoder(name, json::object(), {&named, 1}, library.get());
  if (!decoder.ok()) return decoder.error();
  const ConstTensorView view{desc, reinterpret_cast<const uint8_t*>(&bits)};
  return decoder.value()->decode({&view, 1}, 0.25f, found);
}

void fails(float how, const char* words) {
  objects::Objects found;
  const Status status = behave("wild", how, &found);
  ck_assert_msg(!status.ok() && status.error().message.find(words) != std::string::npos, "%g: %s",
                double{how}, status.ok() ? "accepted" : status.error().message.c_str());
  ck_assert(found.empty());
}

std::string message_of(const Result<std::unique_ptr<Decoder>>& result) {
  ck_assert(!result.ok());
  return result.error().message;
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

DVNN_TEST(the_example_finds_its_cells_and_leaves_the_best_of_neighbours) {
  const auto library = library_at(CELLS_MODULE);
  Outputs outputs;
  // Class 1, row 1: 0.5 and 0.9 side by side; class 0 beside them is another thing.
  outputs.add("o", {1, 2, 2, 4}, cells_but({{13, 0.5f}, {14, 0.9f}, {5, 0.6f}, {0, 0.1f}}),
              ElementType::kFloat16, Layout::kNhwc);
  auto decoder = create_decoder("cells", {{"reach", 4}, {"nms_threshold", 0.4}}, outputs.named(),
                                library.get());
  ck_assert_msg(decoder.ok(), "%s", decoder.ok() ? "" : decoder.error().message.c_str());
  ck_assert(decoder.value()->kind() == objects::Kind::kDetection);
  objects::Objects found;
  for (int round = 0; round < 2; ++round) {
    found.clear();
    ck_assert(decoder.value()->decode(outputs.views(), 0.25f, &found).ok());
  }
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[0].class_id, 1);
  ck_assert_float_eq_tol(found[0].confidence, 0.9f, 1e-3f);
  assert_box(found[0], 2.5 / 4 - 0.5, 0.75 - 1, 2.5 / 4 + 0.5, 0.75 + 1);
  ck_assert_uint_eq(found[0].points.size(), 1);
  ck_assert_double_eq_tol(found[0].points[0].x, 0.625, 1e-6);
  ck_assert_int_eq(found[1].class_id, 0);
  // Without suppression, both neighbours are there.
  auto all =
      create_decoder("cells", {{"reach", 4}, {"nms_threshold", 1}}, outputs.named(), library.get());
  found.clear();
  ck_assert(all.value()->decode(outputs.views(), 0.25f, &found).ok());
  ck_assert_uint_eq(found.size(), 3);
  ck_assert(found[0].confidence >= found[1].confidence &&
            found[1].confidence >= found[2].confidence);
}

DVNN_TEST(a_library_refuses_outputs_in_its_own_words) {
  const auto library = library_at(CELLS_MODULE);
  Outputs row;
  row.add("o", {1, 4}, {0, 0, 0, 0});
  std::string message =
      message_of(create_decoder("cells", json::object(), row.named(), library.get()));
  dvnn_assert_text(message, "decoder 'cells': one output of 1xCxHxW is needed");
  message = message_of(create_decoder("sells", json::object(), row.named(), library.get()));
  ck_assert_msg(has(message, "unknown decoder 'sells'") && has(message, ": cells)"), "%s",
                message.c_str());
  objects::Objects found;
  const Status status = behave("none-of-these", 0, &found);
  ck_assert(!status.ok());
  const std::string said = status.error().message;
  dvnn_assert_text(said, "decoder 'none-of-these': not?these");
}

DVNN_TEST(numbers_that_are_none_are_left_out) {
  objects::Objects found;
  const Status status = behave("wild", 0, &found);
  ck_assert_msg(status.ok(), "%s", status.ok() ? "" : status.error().message.c_str());
  ck_assert_uint_eq(found.size(), 1);
  const objects::Object& object = found[0];
  ck_assert_float_eq(object.confidence, 1);
  ck_assert_uint_eq(object.points.size(), 4);
  ck_assert_float_eq(object.points[0].confidence, 0);
  ck_assert_float_eq(object.points[1].confidence, 0);
  ck_assert_float_eq(object.points[2].confidence, 0);
  ck_assert_float_eq(object.points[3].confidence, 1);
  ck_assert_uint_eq(object.numbers.size(), 1);
  dvnn_assert_text(object.text, "bell? ?");
  ck_assert_int_eq(object.mask.width, 0);
}

DVNN_TEST(what_a_library_returns_is_bounded) {
  objects::Objects found;
  ck_assert(behave("wild", 1, &found).ok());
  size_t cells = 0;
  for (const objects::Object& object : found) cells += object.mask.cells.size();
  ck_assert_uint_gt(found.size(), 64);
  ck_assert_uint_le(found.size(), 65536);
  ck_assert_uint_le(cells, size_t{64} << 20);
  // 64 MiB of numbers are as much as 64 MiB of masks.
  found.clear();
  ck_assert(behave("wild", 30, &found).ok());
  ck_assert_uint_eq(found.size(), 256);
}

DVNN_TEST(mistakes_of_a_library_are_errors_by_name) {
  fails(2, "3 points and no memory");
  fails(3, "class -1");
  fails(4, "'size'");
  fails(5, "1073741824x1073741824 cells");
  fails(6, "numbers of an embedding");
  fails(7, "'size'");
  fails(20, "3 numbers and no memory");
  fails(21, "5 corners and no memory");
  fails(22, "4097 points, at the most");
  fails(23, "4097 corners, at the most");
  fails(24, "4097 numbers, at the most");
  fails(10, "decoder 'wild' of a library: cannot");
}

DVNN_TEST(exceptions_of_a_library_end_in_errors) {
  fails(8, "lost");
  fails(9, "unknown kind");
  objects::Objects found;
  const Status status = behave("throwing", 0, &found);
  ck_assert(!status.ok() && has(status.error().message, "not in the mood"));
}

DVNN_TEST(objects_of_the_whole_have_no_place_of_their_own) {
  objects::Objects found;
  ck_assert(behave("whole", 0, &found).ok());
  ck_assert_uint_gt(found.size(), 0);
  for (const objects::Object& object : found) {
    ck_assert(object.kind == objects::Kind::kClassification);
    assert_box(object, 0, 0, 1, 1);
  }
}

DVNN_TEST(libraries_that_are_none_are_refused) {
  ck_assert(!CustomDecoders::open("/nowhere/libmine.so").ok());
  const auto none = CustomDecoders::open(NO_MODULE);
  ck_assert(!none.ok() && has(none.error().message, "dvnn_decoder_classes_v1"));
  const auto taken = CustomDecoders::open(TAKEN_MODULE);
  ck_assert(!taken.ok() && has(taken.error().message, "'ssd' exists already"));
}

DVNN_TEST(networks_name_libraries_only_in_folders_set_aside_for_them) {
  Outputs outputs;
  outputs.add("o", {1, 2, 2, 4}, cells_but({}));
  char folder[] = "/tmp/dvnn-decoders-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  const std::string link = std::string(folder) + "/libcells.so";
  ck_assert_int_eq(symlink(CELLS_MODULE, link.c_str()), 0);
  auto made = [&](const json& library) {
    return create_decoder("cells", {{"library", library}}, outputs.named());
  };
  std::string message = message_of(made("libcells.so"));
  ck_assert_msg(has(message, "in none of these folders"), "%s", message.c_str());
  setenv("DVNN_DECODER_PATH", "/nowhere::/never", 1);
  message = message_of(made("libcells.so"));
  ck_assert_msg(has(message, "folders: /nowhere, /never, "), "%s", message.c_str());
  setenv("DVNN_DECODER_PATH", (std::string("/nowhere:") + folder).c_str(), 1);
  ck_assert(made("libcells.so").ok());
  // A library that is there but is none ends the search, and is what the message is about.
  const std::string broken = std::string(folder) + "/libbroken.so";
  std::ofstream(broken) << "no library";
  message = message_of(made("libbroken.so"));
  ck_assert_msg(has(message, broken.c_str()) && !has(message, "none of these"), "%s",
                message.c_str());
  unlink(broken.c_str());
  // A path would let a file run any library of the machine.
  const std::string up = "../" + std::string(folder).substr(5) + "/libcells.so";
  for (const json& bad : {json(link), json(up), json(".."), json(std::string(300, 'l'))}) {
    message = message_of(made(bad));
    ck_assert_msg(has(message, "no file's name"), "%s", message.c_str());
  }
  for (const json& bad : {json(""), json(3), json::array()}) ck_assert(!made(bad).ok());
  unsetenv("DVNN_DECODER_PATH");
  unlink(link.c_str());
  rmdir(folder);
}

DVNN_TEST(the_size_of_the_input_is_told) {
  json params = {{"library", "libcells.so"}};
  set_input_size("cells", {320, 240}, &params);
  const std::string image = json_text(params["image"]);
  dvnn_assert_text(image, "[320,240]");
  params = json::object();
  set_input_size("none", {320, 240}, &params);
  ck_assert(!params.contains("image"));
}

}  // namespace dvnn::test::custom_decoders_tests
