// SPDX-License-Identifier: Apache-2.0
// TensorFlow Lite's files: what they say of themselves, where they end, and what is refused.
#include <flatbuffers/flexbuffers.h>
#include <zlib.h>

#include <cmath>
#include <functional>
#include <limits>

#include "metadata_generated.h"
#include "tflite_fixture.h"

namespace dvnn::test::tflite_files_tests {

DVNN_SUITE(import_tflite_files);

using tfl::Activation;
using tfl::Options;
using tfl::Padding;
using tfl::TensorType;
using namespace tflite_arrays;

DVNN_TEST(what_is_not_supported_is_named) {
  Dice dice(19);
  const Array in = dice.numbers({1, 4, 5, 3});
  const auto refused = [&](const std::function<void(TfliteModel*)>& build,
                           std::initializer_list<const char*> words) {
    TfliteModel m(dims32(in));
    build(&m);
    expect_refused(convert_model(m), words);
  };
  const auto after = [](TfliteModel* m) {
    const int made = m->tensor("made", {1, 4, 5, 3});
    m->op("ABS", {0}, {made});
    return made;
  };
  refused(
      [&](TfliteModel* m) {
        const int made = after(m), y = m->tensor("y", {1});
        m->op("RFFT2D", {made}, {y}).output(y);
      },
      {"RFFT2D 'y'", "not supported", "--outputs made"});
  refused([&](TfliteModel* m) { m->custom("SomebodysOwn", {0}, {m->tensor("y", {1})}).output(1); },
          {"SomebodysOwn 'y'", "--layer-types"});
  refused(
      [&](TfliteModel* m) {
        const int k = m->floats("k", {3, 1, 1, 3}, std::vector<float>(9, 1)),
                  y = m->tensor("y", {1});
        m->op("CONV_2D", {0, k}, {y}, Options::Conv2DOptions,
              tfl::CreateConv2DOptions(m->b, Padding::SAME, 1, 1, Activation::TANH, 1, 1));
        m->output(y);
      },
      {"CONV_2D 'y'", "TANH"});
  refused(
      [&](TfliteModel* m) {
        const int k = m->floats("k", {3, 1, 1, 3}, std::vector<float>(9, 1)),
                  y = m->tensor("y", {1});
        m->op("CONV_2D", {0, k}, {y}, Options::Conv2DOptions,
              tfl::CreateConv2DOptions(m->b, Padding::SAME, 0, 1, Activation::NONE, 1, 1));
        m->output(y);
      },
      {"CONV_2D 'y'", "stride", "0"});
  refused(
      [&](TfliteModel* m) {
        const int k = m->floats("k", {3, 1, 1, 3}, std::vector<float>(5, 1)),
                  y = m->tensor("y", {1});
        m->op("CONV_2D", {0, k}, {y}, Options::Conv2DOptions,
              tfl::CreateConv2DOptions(m->b, Padding::SAME, 1, 1, Activation::NONE, 1, 1));
        m->output(y);
      },
      {"'k'", "20 bytes", "36"});
  refused(
      [&](TfliteModel* m) {
        const int y = m->tensor("y", {1});
        m->op("RESIZE_BILINEAR", {0, m->list("size", {8, 10})}, {y}, Options::ResizeBilinearOptions,
              tfl::CreateResizeBilinearOptions(m->b, 0, 0, true, true));
        m->output(y);
      },
      {"RESIZE_BILINEAR 'y'", "align_corners", "half_pixel_centers"});
  refused(
      [&](TfliteModel* m) {
        const int parts = m->tensor("parts", {1}), y = m->tensor("y", {1});
        const int block = m->list("block", {2, 2}), pads = m->ints("pads", {2, 2}, {0, 0, 0, 1});
        m->op("SPACE_TO_BATCH_ND", {0, block, pads}, {parts});
        m->op("SOFTMAX", {parts}, {y}).output(y);
      },
      {"SOFTMAX 'y'", "'parts'", "SPACE_TO_BATCH_ND"});
  refused(
      [&](TfliteModel* m) {
        const int y = m->tensor("y", {1}),
                  k = m->quantised("k", {2, 3}, TensorType::INT8, {1, 1, 1}, {0, 0, 0}, 0,
                                   m->numbers(std::vector<int8_t>(6)));
        m->op("ADD", {0, k}, {y}).output(y);
      },
      {"'k'", "3 scales"});
  refused(
      [&](TfliteModel* m) {
        const int y = m->tensor("y", {1}), lost = m->tensor("lost", {1, 4, 5, 3});
        m->op("ADD", {0, lost}, {y}).output(y);
      },
      {"ADD 'y'", "'lost'", "no operator before"});
  refused(
      [&](TfliteModel* m) {
        const int y = m->tensor("y", {1});
        m->op("TRANSPOSE_CONV",
              {m->list("shape", {1, 3, 3, 1}), m->floats("k", {1, 1, 1, 3}, {1, 1, 1}), 0}, {y},
              Options::TransposeConvOptions,
              tfl::CreateTransposeConvOptions(m->b, Padding::SAME, 2, 2));
        m->output(y);
      },
      {"TRANSPOSE_CONV 'y'", "makes 3", "of 4"});
}

// Sums of them would be no numbers of 64 bits.
DVNN_TEST(parts_beyond_all_numbers_are_refused) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> far = {kMost, 0, 0, 0}, whole = {1, 4, 5, 3}, ones = {1, 1, 1, 1};
  const std::vector<int64_t> below = {-kMost - 1, 0, 0, 0}, rest = {-1, -1, -1, -1};
  const auto refused = [&](const char* type, const std::vector<std::vector<int64_t>>& lists,
                           std::initializer_list<const char*> words) {
    TfliteModel m({1, 4, 5, 3});
    std::vector<int32_t> reads = {0}, makes;
    for (const auto& list : lists) {
      reads.push_back(m.long_list("list" + std::to_string(reads.size()), list));
    }
    const bool splits = type == std::string("SPLIT_V");
    for (int i = 0; i < (splits ? 3 : 1); ++i) makes.push_back(m.tensor("y", {1}));
    if (type == std::string("STRIDED_SLICE")) {
      m.op(type, reads, makes, Options::StridedSliceOptions,
           tfl::CreateStridedSliceOptions(m.b, 0, 0, 0, 0, 0, true));
    } else {
      m.op(type, reads, makes);
    }
    m.output(makes[0]);
    expect_refused(convert_model(m), words);
  };
  refused("SLICE", {far, ones}, {"SLICE 'y'", "takes 1 from 9223372036854775807 on of 1"});
  refused("SLICE", {below, rest}, {"takes -1 from -9223372036854775808 on of 1"});
  refused("SLICE", {{0, 1, 0, 0}, {1, kMost, 5, 3}}, {"from 1 on of 4"});
  refused("STRIDED_SLICE", {far, {kMost, 4, 5, 3}, ones}, {"ends behind all numbers"});
  refused("SPLIT_V", {{kMost, kMost, -1}, {1}}, {"the size 9223372036854775807, of 4"});
}

DVNN_TEST(damaged_files_are_refused) {
  expect_refused(convert_tflite_bytes("TFL3"), {"no TensorFlow Lite model"});
  expect_refused(convert_tflite_bytes(std::string(64, 'x')), {"TFL3"});
  TfliteModel m({1, 4, 5, 3});
  const int y = m.tensor("y", {1, 4, 5, 3});
  m.op("ABS", {0}, {y}).output(y);
  const std::string bytes = m.bytes();
  ck_assert(convert_tflite_bytes(bytes).ok());
  expect_refused(convert_tflite_bytes(bytes.substr(0, bytes.size() / 2)), {"truncated or damaged"});
  // Whatever a byte is, there is an answer.
  convert::ConvertOptions quick;
  quick.rescale = quick.measure_bits = false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 0x5a);
    (void)convert_tflite_bytes(other, quick);
  }
  flatbuffers::FlatBufferBuilder b;
  const std::vector<flatbuffers::Offset<tfl::OperatorCode>> codes = {tfl::CreateOperatorCode(b)};
  const std::vector<flatbuffers::Offset<tfl::Operator>> operators = {tfl::CreateOperator(b)};
  const std::vector<flatbuffers::Offset<tfl::SubGraph>> graphs = {
      tfl::CreateSubGraphDirect(b, nullptr, nullptr, nullptr, &operators)};
  b.Finish(tfl::CreateModelDirect(b, 3, &codes, &graphs), "TFL3");
  expect_refused(
      convert_tflite_bytes({reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()}),
      {"holds no graph"});
  TfliteModel wrong({1, 4, 5, 3});
  wrong.op("ABS", {7}, {0}).output(0);
  expect_refused(convert_model(wrong), {"ABS reads tensor 7 of 1"});
}

DVNN_TEST(models_end_where_they_are_told_to) {
  TfliteModel m({1, 4, 5, 3});
  const int a = m.tensor("a", {1, 4, 5, 3}), y = m.tensor("y", {1, 4, 5, 3});
  m.op("ABS", {0}, {a}).op("RFFT2D", {a}, {y}).output(y);
  const std::string bytes = m.bytes();
  convert::ConvertOptions options;
  options.import.outputs = {"a"};
  const auto made = convert_tflite_bytes(bytes, options);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  ck_assert_str_eq(made.value().outputs[0].name.c_str(), "a");
  options.import.outputs = {"b"};
  expect_refused(convert_tflite_bytes(bytes, options), {"--outputs b", "'a'"});
}

DVNN_TEST(suppression_is_left_to_the_decoder) {
  TfliteModel m({1, 4, 4, 6});
  const int boxes = m.tensor("boxes", {1, 24, 4}), scores = m.tensor("scores", {1, 24, 4});
  m.op("RESHAPE", {0, m.list("b", {1, 24, 4})}, {boxes});
  m.op("LOGISTIC", {boxes}, {scores});
  const int anchors = m.floats("anchors", {24, 4}, std::vector<float>(96, 0.5f));
  std::vector<int32_t> found;
  for (const char* name : {"f0", "f1", "f2", "f3"}) found.push_back(m.tensor(name, {1, 10}));
  flexbuffers::Builder options;
  options.Map([&] {
    options.Int("num_classes", 3);
    options.Float("nms_iou_threshold", 0.5f);
  });
  options.Finish();
  m.custom("TFLite_Detection_PostProcess", {boxes, scores, anchors}, found, options.GetBuffer());
  for (int32_t each : found) m.output(each);
  convert::Report report;
  const auto made = convert_model(m, {}, &report);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  ck_assert_uint_eq(made.value().outputs.size(), 2);
  ck_assert_str_eq(made.value().outputs[1].name.c_str(), "scores");
  ck_assert_uint_eq(report.warnings.size(), 1);
  ck_assert(report.warnings[0].find(
                "cut at 'boxes' and 'scores' (nms_iou_threshold 0.5, num_classes 3)") !=
            std::string::npos);
}

namespace {

void put(std::string* to, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to->push_back(static_cast<char>(value >> (8 * i)));
}

// An archive of one file, which is stored, behind `before`.
std::string with_archive(const std::string& before, const std::string& name,
                         const std::string& text) {
  const auto sum = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
  const auto length = static_cast<uint32_t>(text.size()),
             named = static_cast<uint32_t>(name.size());
  const auto facts = [&](std::string* to) {
    put(to, 20, 2), put(to, 0, 2), put(to, 0, 2), put(to, 0, 4), put(to, sum, 4);
    put(to, length, 4), put(to, length, 4), put(to, named, 2), put(to, 0, 2);
  };
  std::string file = before;
  put(&file, 0x04034b50, 4), facts(&file);
  file += name + text;
  const auto directory = static_cast<uint32_t>(file.size());
  put(&file, 0x02014b50, 4), put(&file, 20, 2), facts(&file);
  put(&file, 0, 2), put(&file, 0, 2), put(&file, 0, 2), put(&file, 0, 4);
  put(&file, static_cast<uint32_t>(before.size()), 4);
  file += name;
  const auto end = static_cast<uint32_t>(file.size());
  put(&file, 0x06054b50, 4), put(&file, 0, 4), put(&file, 1, 2), put(&file, 1, 2);
  put(&file, end - directory, 4), put(&file, directory, 4), put(&file, 0, 2);
  return file;
}

// The description of a classifier with labels, of (pixel - 100) / 50.
std::vector<uint8_t> description(const char* labels) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<float> mean = {100}, deviation = {50};
  const auto norm = tfl::CreateNormalizationOptionsDirect(b, &mean, &deviation);
  const std::vector<flatbuffers::Offset<tfl::ProcessUnit>> units = {
      tfl::CreateProcessUnit(b, tfl::ProcessOptions::NormalizationOptions, norm.Union())};
  const std::vector<flatbuffers::Offset<tfl::AssociatedFile>> files = {
      tfl::CreateAssociatedFileDirect(b, labels, nullptr, tfl::FileType::AXIS_LABELS)};
  const std::vector<flatbuffers::Offset<tfl::TensorMetadata>> inputs = {
      tfl::CreateTensorMetadataDirect(b, "image", nullptr, nullptr, 0, &units)};
  const std::vector<flatbuffers::Offset<tfl::TensorMetadata>> outputs = {
      tfl::CreateTensorMetadataDirect(b, "scores", nullptr, nullptr, 0, nullptr, 0, &files)};
  const std::vector<flatbuffers::Offset<tfl::SubGraphMetadata>> graphs = {
      tfl::CreateSubGraphMetadataDirect(b, "g", nullptr, &inputs, &outputs)};
  b.Finish(tfl::CreateModelMetadataDirect(b, "a classifier", nullptr, nullptr, &graphs), "M001");
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

std::string classifier(bool quantised) {
  TfliteModel m(quantised ? TfliteModel::Dims{1, 1, 1, 1} : TfliteModel::Dims{1, 16, 16, 3});
  const int x = quantised ? m.quantised("q", {1, 16, 16, 3}, TensorType::INT8, {0.02f}, {-28}) : 0;
  const int mean = m.tensor("mean", {1, 3}), y = m.tensor("y", {1, 3});
  m.op("MEAN", {x, m.list("axes", {1, 2})}, {mean});
  m.op("SOFTMAX", {mean}, {y}, Options::SoftmaxOptions, tfl::CreateSoftmaxOptions(m.b, 1));
  m.describe(description("labels.txt")).output(y);
  if (quantised) m.only_input(x);
  return m.bytes();
}

}  // namespace

DVNN_TEST(the_file_says_its_picture_and_its_labels) {
  for (bool quantised : {false, true}) {
    const std::string bytes =
        with_archive(classifier(quantised), "labels.txt", "cat\r\ndog\nowl\n");
    const auto made = convert_tflite_bytes(bytes);
    ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
    const InputSpec& picture = made.value().input.picture;
    ck_assert(picture.order == ChannelOrder::kRgb);
    ck_assert_double_eq_tol(picture.mean[1], 100, 1e-4);
    ck_assert_double_eq_tol(picture.scale[2], 0.02, 1e-6);
    ck_assert(made.value().labels == (std::vector<std::string>{"cat", "dog", "owl"}));
    // What the user says comes first.
    convert::ConvertOptions options;
    options.picture.order = ChannelOrder::kBgr;
    options.given.order = options.given.mean = true;
    options.labels = {"a", "b", "c"};
    const auto own = convert_tflite_bytes(bytes, options);
    ck_assert(own.ok());
    ck_assert(own.value().input.picture.order == ChannelOrder::kBgr);
    ck_assert_double_eq_tol(own.value().input.picture.mean[0], 0, 1e-6);
    ck_assert(own.value().labels == options.labels);
  }
}

DVNN_TEST(labels_that_are_not_to_be_read_are_told) {
  const std::string good = with_archive(classifier(false), "labels.txt", "cat\ndog\nowl\n");
  for (const std::string& bytes : {classifier(false), with_archive(classifier(false), "other", "x"),
                                   good.substr(0, good.size() - 30)}) {
    convert::Report report;
    const auto made = convert_tflite_bytes(bytes, {}, &report);
    ck_assert(made.ok());
    ck_assert(made.value().labels.empty());
    ck_assert_uint_eq(report.warnings.size(), 2);  // the picture is told, too
    ck_assert(report.warnings[1].find("'labels.txt', are not to be read") != std::string::npos);
  }
}

DVNN_TEST(of_several_inputs_all_but_one_get_values) {
  TfliteModel m({1, 4, 5, 6});
  const int k = m.tensor("k", {6}), y = m.tensor("y", {1, 4, 5, 6});
  m.input(k).op("MUL", {0, k}, {y}).output(y);
  const std::string bytes = m.bytes();
  expect_refused(convert_tflite_bytes(bytes), {"2 inputs", "'x' and 'k'", "--set"});
  convert::ConvertOptions options;
  options.import.inputs = {{"k", {6}, {1, 2, 3, 4, 5, 6}}};
  auto made = convert_tflite_bytes(bytes, options);
  ck_assert(made.ok());
  const auto out = run_model("set", std::move(made.value()), rising(120).data());
  const auto in = rising(120);
  for (size_t i = 0; i < 120; ++i) {
    const float want = in[i % 6 * 20 + i / 6] * static_cast<float>(i % 6 + 1);
    ck_assert(std::fabs(out[i] - want) < 0.01f);
  }
}

}  // namespace dvnn::test::tflite_files_tests
