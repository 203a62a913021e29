// SPDX-License-Identifier: Apache-2.0
// Files of Keras 3, written here as its saving library does: an archive of config.json and
// model.weights.h5, whose arrays are numbered by class. And where models of Keras begin and end.
#include <sys/resource.h>
#include <sys/wait.h>
#include <zip.h>

#include <fstream>
#include <iterator>

#include "base/json.h"
#include "keras_fixture.h"
#include "run_model.h"

namespace dvnn::test::keras3_tests {

DVNN_SUITE(import_keras3);

using json = dvnn::Json;

namespace {

constexpr size_t kPixels = 4 * 4;

json tensor(const char* layer) {
  return {{"class_name", "__keras_tensor__"},
          {"config", {{"shape", {nullptr, 4, 4, 3}}, {"keras_history", {layer, 0, 0}}}}};
}

json layer(const char* class_name, const char* name, json config, json arguments) {
  config["name"] = name;
  json inbound = json::array();
  if (!arguments.is_null()) {
    inbound.push_back({{"args", std::move(arguments)}, {"kwargs", json::object()}});
  }
  return {{"class_name", class_name},
          {"name", name},
          {"config", std::move(config)},
          {"inbound_nodes", std::move(inbound)}};
}

// 1x1 convolutions that multiply channel k by factor[k].
std::vector<float> diagonal(std::initializer_list<float> factors) {
  std::vector<float> kernel(factors.size() * factors.size());
  size_t i = 0;
  for (float factor : factors) kernel[i * factors.size() + i] = factor, ++i;
  return kernel;
}

const json kPointwise = {{"filters", 3}, {"kernel_size", {1, 1}}, {"use_bias", false}};

// concat(second(first(x * 2 + 1)), lambda(nested(x))). The layers' names say nothing of where
// their weights are.
json architecture() {
  const json inner = {{"name", "inner"},
                      {"layers",
                       {layer("InputLayer", "in2", {{"batch_shape", {nullptr, 4, 4, 3}}}, nullptr),
                        layer("Conv2D", "b", kPointwise, nullptr)}}};
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "k3"},
            {"layers",
             {layer("InputLayer", "x", {{"batch_shape", {nullptr, 4, 4, 3}}}, nullptr),
              layer("Rescaling", "r", {{"scale", 2}, {"offset", 1}}, {tensor("x")}),
              layer("Conv2D", "z", kPointwise, {tensor("r")}),
              layer("Conv2D", "a", kPointwise, {tensor("z")}),
              layer("Conv2D", "side", kPointwise, {tensor("x")}),
              layer("Sequential", "inner", inner, {tensor("x")}),
              layer("Lambda", "twice", json::object(), {tensor("inner")}),
              layer("Concatenate", "join", {{"axis", -1}},
                    json::array({json::array({tensor("a"), tensor("twice")})}))}},
            {"input_layers", {{"x", 0, 0}}},
            {"output_layers", {"join", 0, 0}}}}};
}

std::string hdf5_of(const std::vector<std::pair<std::string, std::vector<float>>>& arrays) {
  const TemporaryPath path;
  const hid_t file = H5Fcreate(path.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t links = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  for (const auto& [name, values] : arrays) {
    const hsize_t dims[] = {1, 1, 3, 3};
    const hid_t space = H5Screate_simple(4, dims, nullptr);
    const hid_t set =
        H5Dcreate2(file, name.c_str(), H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(set);
    H5Sclose(space);
  }
  H5Pclose(links);
  H5Fclose(file);
  std::ifstream in(path.path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_archive(const std::string& path, const std::string& config, const std::string& weights) {
  int reason = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &reason);
  ck_assert_ptr_nonnull(archive);
  const std::pair<const char*, const std::string*> entries[] = {{"config.json", &config},
                                                                {"model.weights.h5", &weights}};
  for (const auto& [name, bytes] : entries) {
    if (bytes->empty()) continue;
    zip_source_t* source = zip_source_buffer(archive, bytes->data(), bytes->size(), 0);
    ck_assert_int_ge(zip_file_add(archive, name, source, 0), 0);
  }
  ck_assert_int_eq(zip_close(archive), 0);
}

void write_model(const std::string& path, const std::string& config = json_text(architecture())) {
  write_archive(path, config,
                hdf5_of({{"layers/conv2d/vars/0", diagonal({1, 2, 3})},
                         {"layers/conv2d_1/vars/0", diagonal({1, 1, -1})},
                         {"layers/conv2d_2/vars/0", diagonal({7, 8, 9})},
                         {"layers/sequential/layers/conv2d/vars/0", diagonal({4, 5, 6})}}));
}

convert::ConvertOptions with_lambda() {
  convert::ConvertOptions options;
  options.import.custom_layers["twice"].affine = {2.0f, 0.5f};
  return options;
}

void expect(const char* what, const std::string& path, const convert::ConvertOptions& options,
            const std::vector<float>& input, const std::vector<float>& want) {
  auto model = convert::convert_keras(path, options, nullptr);
  ck_assert_msg(model.ok(), "%s: %s", what, model.ok() ? "" : model.error().message.c_str());
  expect_close(what, run_model(what, std::move(model.value()), input.data()), want.data(),
               want.size());
}

void refused(const std::string& path, const convert::ConvertOptions& options,
             std::initializer_list<const char*> words) {
  expect_refused(convert::convert_keras(path, options, nullptr), words);
}

}  // namespace

DVNN_TEST(archives_are_read) {
  const TemporaryPath path;
  write_model(path.path);
  const std::vector<float> input = rising(3 * kPixels);
  std::vector<float> want;
  const float outer[] = {1, 2, -3}, inner[] = {4, 5, 6};
  for (size_t i = 0; i < input.size(); ++i) want.push_back((input[i] * 2 + 1) * outer[i / kPixels]);
  for (size_t i = 0; i < input.size(); ++i) {
    want.push_back(input[i] * inner[i / kPixels] * 2 + 0.5f);
  }
  expect("a functional model", path.path, with_lambda(), input, want);
  refused(path.path, {}, {"'twice'", "Lambda", "--layer-types", "affine"});
}

DVNN_TEST(models_end_where_they_are_told_to) {
  const TemporaryPath path;
  write_model(path.path);
  const std::vector<float> input = rising(3 * kPixels);
  std::vector<float> want;
  for (size_t i = 0; i < input.size(); ++i) {
    want.push_back(input[i] * static_cast<float>(i / kPixels + 7));
  }
  convert::ConvertOptions options;  // the Lambda that nobody declares is left out
  options.import.outputs = {"side"};
  expect("cut at a layer", path.path, options, input, want);
  options.import.outputs = {"none"};
  refused(path.path, options, {"--outputs none", "no such layer", "'join'"});
  options.import.outputs.clear();
  options.import.inputs.push_back({"y", {}, {1}});
  options.import.custom_layers = with_lambda().import.custom_layers;
  refused(path.path, options, {"--set y", "no such input", "'x'"});
}

DVNN_TEST(damaged_archives_are_refused) {
  const TemporaryPath path;
  write_archive(path.path, "", "weights");
  refused(path.path, {}, {"config.json", "not a Keras model"});
  write_archive(path.path, "{}", "no HDF5");
  refused(path.path, {}, {"model.weights.h5", "not an HDF5 file"});
  write_model(path.path, "{");
  refused(path.path, {}, {"config.json"});
  write_model(path.path, "[]");
  refused(path.path, {}, {"no model's architecture"});
  std::ofstream(path.path, std::ios::binary | std::ios::trunc) << "PK\x03\x04 and then nothing";
  refused(path.path, {}, {"damaged ZIP archive"});
}

// Memory is taken for what comes out of an archive, not for what it announces.
DVNN_TEST(archives_that_lie_about_a_size_get_no_memory_for_it) {
  const TemporaryPath path;
  write_archive(path.path, "{}", "weights");
  std::string bytes;
  {
    std::ifstream in(path.path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  constexpr size_t kSizeAt = 24;  // in an entry of the central directory
  const size_t entry = bytes.rfind("PK\x01\x02");
  ck_assert(entry != std::string::npos);
  bytes.replace(entry + kSizeAt, 4, std::string("\xff\xff\xff\x3f", 4));
  std::ofstream(path.path, std::ios::binary | std::ios::trunc) << bytes;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  refused(path.path, {}, {"model.weights.h5", "damaged"});
  getrusage(RUSAGE_SELF, &after);
  constexpr long kMostKilobytes = 200 * 1024;
  ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, kMostKilobytes);
}

// libzip and zlib run where a damaged archive reaches nothing: in a process that is a sandbox.
DVNN_TEST(archives_are_unpacked_in_another_process) {
  constexpr long kKilobytes = 128 * 1024;
  const TemporaryPath path;
  if (fork() == 0) {  // whose memory is not ours
    write_archive(path.path, "{}", std::string(kKilobytes * 1024, '\0'));
    _exit(0);
  }
  int status = 0;
  ck_assert_int_gt(wait(&status), 0);
  ck_assert_int_eq(status, 0);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  refused(path.path, {}, {"model.weights.h5", "not an HDF5 file"});
  getrusage(RUSAGE_SELF, &after);
  ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, kKilobytes / 2);
}

}  // namespace dvnn::test::keras3_tests
