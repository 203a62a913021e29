// SPDX-License-Identifier: Apache-2.0
// Converts and runs many models in one process, as `dvnet convert` and `dvnet run --dump` do one.
// Each line of the standard input is a job, `MODEL.onnx INPUT.npy PREFIX OPTIONS`, or a model of
// Keras (.h5, .keras), or Caffe's two files, joined by a comma. INPUT may also be NAME=INPUT.npy
// for each input, joined by commas. Options are joined by commas, too:
//   none             nothing
//   hwc              the layout of `dvnet convert --hwc`
//   scale=, mean=    a NUMBER
//   frames=          how many frames each input is, along its first axis; they follow each other
//   state=OUT=IN:1x2 a state, whose dimensions may be missing
//   live=, output=   a NAME
// The answer is a line of JSON: {"outputs": [names]}, each of which is PREFIX.N.npy, with the
// frames along its first axis, or {"refused": why} of what does not convert, or {"failed": why} of
// what converts and does not run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

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

std::vector<std::string> parts_of(const std::string& list, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

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

// An input's numbers for all frames.
struct Input {
  std::string path, name;
  tools::NpyArray array;
};

Result<std::vector<Input>> read_inputs(const std::string& list, const network::Model& model) {
  std::vector<Input> inputs;
  for (const std::string& part : parts_of(list, ',')) {
    const size_t equals = part.find('=');
    const bool named = equals != std::string::npos;
    Input input = {named ? part.substr(equals + 1) : part,
                   named ? part.substr(0, equals) : model.tensor(model.input.tensor).name,
                   {}};
    DVNN_ASSIGN(input.array, tools::read_npy(input.path));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

tools::NpyArray frame_of(const tools::NpyArray& array, int frame, int frames) {
  const auto each = static_cast<std::ptrdiff_t>(array.values.size()) / frames;
  const auto begin = array.values.begin() + frame * each;
  return {{array.dims.begin() + 1, array.dims.end()}, {begin, begin + each}};
}

Result<Shape> of_frames(const Shape& shape, int frames) {
  if (shape.rank == Shape::kMaxRank) return unsupported("an output has no axis left for frames");
  Shape all = {frames};
  for (int i = 0; i < shape.rank; ++i) all[++all.rank - 1] = shape[i];
  return all;
}

// Runs `frames` frames, or the whole arrays if that is 0, and writes the outputs.
Result<Json> run(const std::string& network, const Job& job, int frames) {
  network::NetworkSource source;
  source.path = network;
  DVNN_ASSIGN(auto session, tools::Session::open(source, "soft"));
  session->follow_frames();
  const network::Model& model = session->model();
  DVNN_ASSIGN(std::vector<Input> inputs, read_inputs(job.input, model));
  std::vector<std::vector<float>> results(model.outputs.size());
  for (int frame = 0; frame < std::max(frames, 1); ++frame) {
    for (Input& input : inputs) {
      tools::NpyArray one = frames > 0 ? frame_of(input.array, frame, frames) : input.array;
      DVNN_TRY(session->load(input.path, input.name, &one));
    }
    DVNN_TRY(session->run(job.input));
    for (size_t i = 0; i < results.size(); ++i) {
      const ConstTensorView view = session->slot().output(i);
      std::vector<float> values(view.desc.shape.count());
      read_nchw(view, values.data());
      results[i].insert(results[i].end(), values.begin(), values.end());
    }
  }
  Json names = Json::array();
  for (size_t i = 0; i < results.size(); ++i) {
    Shape shape = session->slot().output(i).desc.shape;
    if (frames > 0) {
      DVNN_ASSIGN(shape, of_frames(shape, frames));
    }
    DVNN_TRY(tools::write_npy(job.prefix + "." + std::to_string(i) + ".npy", shape, results[i]));
    names.push_back(model.outputs[i].name);
  }
  return Json{{"outputs", names}};
}

// "OUT=IN" or "OUT=IN:1x2".
import::StateOption state_of(const std::string& text){const size_t equals = text.find('='),
                                                      colon = text.find(':');
import::StateOption state = {
    text.substr(0, equals), text.substr(equals + 1, colon - equals - 1), {}};
if (colon == std::string::npos) return state;
for (const std::string& part : parts_of(text.substr(colon + 1), 'x')) {
  state.dims.push_back(std::atoi(part.c_str()));
}
return state;
}  // namespace

convert::ConvertOptions options_of(const std::string& text, int* frames) {
  convert::ConvertOptions options;
  for (const std::string& part : parts_of(text, ',')) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    options.hwc |= key == "hwc";
    if (key == "scale") options.picture.scale.fill(std::strtof(value.c_str(), nullptr));
    if (key == "mean") options.picture.mean.fill(std::strtof(value.c_str(), nullptr));
    if (key == "frames") *frames = std::atoi(value.c_str());
    if (key == "state") options.import.states.push_back(state_of(value));
    if (key == "live") options.import.live.push_back(value);
    if (key == "output") options.import.outputs.push_back(value);
  }
  return options;
}

Json answer(const Job& job) {
  int frames = 0;
  auto model = convert_file(job.model, options_of(job.options, &frames));
  if (!model.ok()) return error_of("refused", model.error());
  const std::string network = job.prefix + ".dvn";
  if (Status s = network::write_dvn(model.value(), network); !s.ok()) {
    return error_of("failed", s.error());
  }
  auto outputs = run(network, job, frames);
  std::remove(network.c_str());
  return outputs.ok() ? outputs.value() : error_of("failed", outputs.error());
}

}  // namespace dvnn::test
}  // namespace dvnn::test

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    dvnn::test::Job job;
    std::istringstream(line) >> job.model >> job.input >> job.prefix >> job.options;
    std::cout << dvnn::json_text(dvnn::test::answer(job)) << std::endl;
  }
}
