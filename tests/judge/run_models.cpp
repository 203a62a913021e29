// SPDX-License-Identifier: Apache-2.0
// Converts and runs many models in one process, as `dvnet convert` and `dvnet run --dump` do one.
// Each line of the standard input is a job, `MODEL.onnx INPUT.npy PREFIX OPTIONS`, or a model of
// Keras (.h5, .keras), or Caffe's two files, joined by a comma; options are joined by commas, too:
// hwc, scale=NUMBER, mean=NUMBER, or none. Its answer is a line of JSON: {"outputs": [names]}, each
// of which is PREFIX.N.npy, or {"refused": why} of what does not convert, or {"failed": why} of
// what converts and does not run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include "base/json.h"
#include "convert/convert.h"
#include "network/dvn_file.h"
#include "tools/npy.h"
#include "tools/session.h"

namespace dvnn::test {
namespace {

struct Job {
  std::string model, input, prefix, options;
};

Json error_of(const char* kind, const Error& error) {
  return {{kind, error.message}};
}

Result<network::Model> convert_file(const std::string& files,
                                    const convert::ConvertOptions& options) {
  const size_t comma = files.find(',');
  if (comma != std::string::npos) {
    return convert::convert_caffe(files.substr(0, comma), files.substr(comma + 1), options,
                                  nullptr);
  }
  const std::string ending = files.substr(std::min(files.rfind('.'), files.size()));
  const bool keras = ending == ".h5" || ending == ".keras";
  return keras ? convert::convert_keras(files, options, nullptr)
               : convert::convert_onnx(files, options, nullptr);
}

Result<Json> run(const std::string& network, const Job& job) {
  network::NetworkSource source;
  source.path = network;
  DVNN_ASSIGN(auto session, tools::Session::open(source, "soft"));
  DVNN_ASSIGN(auto array, tools::read_npy(job.input));
  DVNN_TRY(session->load(job.input, &array));
  DVNN_TRY(session->slot().run());
  Json names = Json::array();
  const network::Model& model = session->model();
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    const ConstTensorView view = session->slot().output(i);
    std::vector<float> values(view.desc.shape.count());
    read_nchw(view, values.data());
    DVNN_TRY(
        tools::write_npy(job.prefix + "." + std::to_string(i) + ".npy", view.desc.shape, values));
    names.push_back(model.outputs[i].name);
  }
  return Json{{"outputs", names}};
}

Json answer(const Job& job) {
  convert::ConvertOptions options;
  options.hwc = job.options.find("hwc") != std::string::npos;
  for (const auto& [name, numbers] :
       {std::pair("scale=", &options.picture.scale), std::pair("mean=", &options.picture.mean)}) {
    const size_t at = job.options.find(name);
    if (at == std::string::npos) continue;
    numbers->fill(std::strtof(job.options.c_str() + at + std::strlen(name), nullptr));
  }
  auto model = convert_file(job.model, options);
  if (!model.ok()) return error_of("refused", model.error());
  const std::string network = job.prefix + ".dvn";
  if (Status s = network::write_dvn(model.value(), network); !s.ok()) {
    return error_of("failed", s.error());
  }
  auto outputs = run(network, job);
  std::remove(network.c_str());
  return outputs.ok() ? outputs.value() : error_of("failed", outputs.error());
}

}  // namespace
}  // namespace dvnn::test

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    dvnn::test::Job job;
    std::istringstream(line) >> job.model >> job.input >> job.prefix >> job.options;
    std::cout << dvnn::json_text(dvnn::test::answer(job)) << std::endl;
  }
}
