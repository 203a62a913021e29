// SPDX-License-Identifier: Apache-2.0
// Refusals say where, and what would help.
#include "onnx_fixture.h"
#include "plan/replan.h"
#include "run_model.h"

namespace dvnn::test::messages_tests {

DVNN_SUITE(import_messages);

namespace {

convert::ConvertOptions sized(int width, int height) {
  convert::ConvertOptions options;
  options.import.width = width;
  options.import.height = height;
  return options;
}

// Halves the image twice, doubles it twice, and adds what it was.
OnnxModel unet() {
  OnnxModel m({1, 3, -1, -1});
  m.weights("a", {4, 3, 3, 3}).weights("b", {4, 4, 3, 3}).weights("c", {4, 4, 2, 2});
  m.node("Conv", {"x", "a"}, {"half"}).list("strides", {2, 2}).list("pads", {1, 1, 1, 1});
  m.node("Conv", {"half", "b"}, {"quarter"}).list("strides", {2, 2}).list("pads", {1, 1, 1, 1});
  m.node("ConvTranspose", {"quarter", "c"}, {"up"}).list("strides", {2, 2});
  m.node("Add", {"half", "up"}, {"y"}).output("y");
  return m;
}

void refused_without(const Result<network::Model>& made, const char* word) {
  ck_assert(!made.ok());
  ck_assert_msg(made.error().message.find(word) == std::string::npos, "'%s' in: %s", word,
                made.error().message.c_str());
}

}  // namespace

DVNN_TEST(sizes_that_do_not_meet_again_are_told_the_multiple) {
  ck_assert(convert_model(unet(), sized(64, 32)).ok());
  expect_refused(convert_model(unet(), sized(66, 31)),
                 {"node 'Add_y' (Add, opset 11): ", "try a multiple of 4, such as --size 68x32"});
  OnnxModel m({1, 3, -1, -1});
  m.node("SpaceToDepth", {"x"}, {"y"}).set("blocksize", 2).output("y");
  expect_refused(convert_model(m, sized(33, 32)), {"SpaceToDepth", "blocks of 2", "1x3x32x33"});
}

DVNN_TEST(a_network_for_another_size_is_told_the_multiple) {
  auto made = convert_model(unet(), sized(64, 32));
  ck_assert(made.ok());
  ck_assert(plan::replan(made.value(), 32, 16).ok());
  expect_refused(plan::replan(made.value(), 66, 31),
                 {"66x31", "layer 'Add_y'", "try a multiple of 4, such as --size 68x32"});
}

DVNN_TEST(open_sizes_are_shown_and_asked_for) {
  expect_refused(convert_model(unet()), {"input 'x'", "1x3x?x?", "--size WxH"});
  OnnxModel sound({1, -1, 80});
  sound.node("Relu", {"x"}, {"y"}).output("y");
  expect_refused(convert_model(sound), {"1x?x80", "--size WxH"});
  // The model's own size stays.
  auto made = convert_model(sound, sized(999, 100));
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  const network::Model& model = made.value();
  dvnn_assert_text(model.tensor(model.input.tensor).desc.shape.to_string(), "1x100x80");
}

DVNN_TEST(models_for_one_size_say_which) {
  OnnxModel fixed({1, 3, 32, 64});
  fixed.ints("dims", {1, 3 * 32 * 64}).node("Reshape", {"x", "dims"}, {"y"}).output("y");
  ck_assert(convert_model(fixed).ok());
  expect_refused(convert_model(fixed, sized(32, 32)),
                 {"node 'Reshape_y' (Reshape, opset 11): ", "1x6144", "1x3x32x32",
                  "exported for one size, 64x32: leave --size out"});
  // The size is open, the numbers are not.
  OnnxModel open({1, 3, -1, -1});
  open.ints("dims", {1, 3 * 32 * 64}).node("Reshape", {"x", "dims"}, {"y"}).output("y");
  ck_assert(convert_model(open, sized(64, 32)).ok());
  expect_refused(convert_model(open, sized(128, 64)),
                 {"Reshape_y", "its numbers fit --size 64x32"});
  // One number for each place, as positions are embedded.
  OnnxModel places({1, 4, -1, -1});
  places.ints("dims", {1, 4, -1}).weights("embedding", {1, 4, 256});
  places.node("Reshape", {"x", "dims"}, {"rows"}).node("Add", {"rows", "embedding"}, {"y"});
  places.output("y");
  ck_assert(convert_model(places, sized(16, 16)).ok());
  expect_refused(convert_model(places, sized(32, 32)), {"Add_y", "its numbers fit --size 16x16"});
}

DVNN_TEST(the_results_to_cut_at_are_named) {
  OnnxModel m({1, 3, 8, 8});
  m.node("Relu", {"x"}, {"r"}).node("Sigmoid", {"r"}, {"boxes"}).node("Neg", {"r"}, {"scores"});
  m.node("Exp", {"x"}, {"extra"}).node("Shape", {"r"}, {"dims"});
  m.node("Unlikely", {"boxes", "scores"}, {"chosen"});
  m.node("Unheard", {"scores"}, {"other"}).node("Add", {"chosen", "other"}, {"y"});
  m.output("y").output("extra");
  expect_refused(convert_model(m),
                 {"node 'Unlikely_chosen' (Unlikely, opset 11): ", "not supported",
                  "cut the model before it: --outputs boxes,scores,extra"});
  convert::ConvertOptions options;
  options.import.outputs = {"boxes", "scores", "extra"};
  const auto cut = convert_model(m, options);
  ck_assert_msg(cut.ok(), "%s", cut.ok() ? "" : cut.error().message.c_str());
  // Nothing stands before the first node.
  OnnxModel first({1, 3, 8, 8});
  first.node("Unheard", {"x"}, {"y"}).output("y");
  expect_refused(convert_model(first), {"node 'Unheard_y' (Unheard, opset 11): ", "--layer-types"});
  refused_without(convert_model(first), "--outputs");
}

DVNN_TEST(what_gray_is_is_said) {
  OnnxModel m({1, 1, 16, 16});
  m.node("Neg", {"x"}, {"y"}).output("y");
  convert::ConvertOptions options;
  options.picture.order = ChannelOrder::kRgb;
  options.given.order = true;
  expect_refused(convert_model(m, options), {"one channel, whose order is gray, not rgb"});
}

DVNN_TEST(networks_with_a_state_are_told_as_such) {
  OnnxModel m({1, -1});
  m.input("state", {2, -1, 128}).node("Neg", {"state"}, {"s"}).node("Neg", {"x"}, {"y"});
  m.output("y").output("s");
  auto* shape = m.graph().mutable_output(1)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int64_t d : {2, 1, 128}) shape->add_dim()->set_dim_value(d);
  expect_refused(convert_model(m), {"has 2 inputs, 'x' and 'state'", "a network with a state"});
  m.graph().mutable_output(1)->clear_type();
  refused_without(convert_model(m), "state, which");
  OnnxModel sound({1, -1});
  sound.node("Neg", {"x"}, {"y"}).output("y");
  expect_refused(convert_model(sound), {"(1x?)", "give its length N with --size Nx1"});
}

DVNN_TEST(numbers_that_are_computed_too_late_name_where_to_cut) {
  OnnxModel m({1, 3, 8, 8}, 13);
  m.node("Relu", {"x"}, {"r"}).node("Tile", {"r", "r"}, {"y"}).output("y");
  expect_refused(convert_model(m), {"node 'Tile_y' (Tile, opset 13): ", "'r' is computed",
                                    "cut the model before it: --outputs r"});
}

DVNN_TEST(operators_of_other_domains_say_theirs) {
  OnnxModel m({1, 3, 8, 8}, 13);
  m.node("Relu", {"x"}, {"r"}).node("Trained", {"r"}, {"y"}).output("y");
  m.graph().mutable_node(1)->set_domain("org.example");
  expect_refused(convert_model(m), {"node 'Trained_y' (Trained, opset 13): ", "'org.example'",
                                    "cut the model before it: --outputs r"});
}

DVNN_TEST(convolutions_over_volumes_say_what_they_are) {
  OnnxModel m({1, 2, 4, 4, 4}, 13);
  m.weights("w", {2, 2, 3, 3, 3});
  m.node("Relu", {"x"}, {"r"}).node("Conv", {"r", "w"}, {"y"}).output("y");
  expect_refused(convert_model(m), {"node 'Conv_y' (Conv, opset 13): ", "2x2x3x3x3", "volumes",
                                    "lines and pictures", "--outputs r"});
}

}  // namespace dvnn::test::messages_tests
