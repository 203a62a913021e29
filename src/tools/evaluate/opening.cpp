// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/opening.h"

#include <algorithm>

#include "base/format.h"
#include "base/names.h"
#include "evaluate/annotations/annotations.h"
#include "evaluate/whole_pictures.h"
#include "layers/custom_library.h"
#include "network/dvn_file.h"
#include "plan/replan.h"
#include "tools/session.h"

namespace dvnn::tools {
namespace {

using evaluate::Annotations;
using evaluate::DataSet;

// Returns what annotations of a form describe. Folders may be of classes or, for a network that
// gives attributes, of identities that embeddings tell apart.
objects::Kind told_by(Annotations kind, const decode::Decoder* decoder) {
  const bool attributes = decoder && decoder->kind() == objects::Kind::kAttributes;
  if (kind == Annotations::kTexts || (kind == Annotations::kFolders && attributes))
    return objects::Kind::kAttributes;
  if (kind == Annotations::kFolders) return objects::Kind::kClassification;
  return kind == Annotations::kMasks ? objects::Kind::kSegmentation : objects::Kind::kDetection;
}

// Checks that the network finds what the annotations describe.
Status check_task(const DataSet& data, Subject* subject) {
  const decode::Decoder* decoder = subject->session->decoder();
  subject->finds = told_by(data.kind, decoder);
  if (subject->finds == objects::Kind::kAttributes &&
      data.pictures.size() > evaluate::kMostEmbeddings && data.kind == Annotations::kFolders) {
    return too_large(format("'%s' has %zu pictures; embeddings of at most %zu are compared",
                            data.source.c_str(), data.pictures.size(), evaluate::kMostEmbeddings));
  }
  if (decoder && decoder->kind() == subject->finds) return {};
  return unsupported(
      "network '" + subject->path + "' " +
      (decoder ? std::string("finds: ") + kind_name(decoder->kind()) : "has no decoder") +
      "; annotations of the kind '" + annotations_name(data.kind) +
      "' are for: " + kind_name(subject->finds));
}

Result<std::shared_ptr<const decode::CustomDecoders>> decoders_of(const Arguments& arguments) {
  if (!arguments.given("decoder-library")) return std::shared_ptr<const decode::CustomDecoders>();
  return decode::CustomDecoders::open(arguments.text("decoder-library"));
}

// Makes the subject run in FP32. A network that is loaded has left its weights with the device, so
// the file is read again.
Status run_in_fp32(const Arguments& arguments, Subject* subject) {
  const std::string what = "network '" + subject->path + "' in FP32";
  DVNN_ASSIGN(network::Model model, read_sized(subject->path, arguments));
  DVNN_ASSIGN(const auto decoders, decoders_of(arguments));
  auto run = create_float_run(std::move(model), arguments.text("custom-layers"), decoders.get());
  if (!run.ok()) return run.error().within(what);
  subject->in_fp32 = std::move(run.value());
  subject->path += " in FP32";
  return {};
}

bool has_bytes(const network::Model& model) {
  for (const network::Step& step : model.steps) {
    if (step.kind != network::StepKind::kDevice) continue;
    for (const device::ConvRun& run : step.command.runs) {
      if (run.weight_format == device::WeightFormat::kQuantised) return true;
    }
  }
  return false;
}

Result<Subject> open_in_bytes(const std::string& path, bool by_index, const Arguments& arguments,
                              const DataSet& data) {
  const std::string name = path + " in 8 bits";
  DVNN_ASSIGN(network::Model model, read_sized(path, arguments));
  auto layers = plan::layers_of_halves(model);
  if (!layers.ok()) return layers.error().within("network '" + name + "'");
  std::vector<size_t> nodes;
  for (const plan::WeighedLayer& layer : layers.value()) nodes.push_back(layer.node);
  auto bytes = plan::with_bytes(model, nodes);
  if (!bytes.ok()) return bytes.error().within("network '" + name + "'");
  return open_model(std::move(bytes.value()), name, by_index, arguments, data);
}

// Whether a file is of what was found in sequences, and not a network.
bool is_mot_results(const std::string& path) {
  return ends_with(path, ".txt") || evaluate::is_folder(path);
}

Result<Subject> open_results(const std::string& path, const DataSet& data) {
  Subject subject;
  subject.path = path;
  subject.labels = data.classes;
  subject.known.assign(data.classes.size(), true);
  if (data.kind == Annotations::kMot) {
    DVNN_ASSIGN(evaluate::MotResults results, read_mot_results(path, data));
    subject.found = std::move(results.found);
    subject.followed = std::move(results.followed);
    subject.only_tracks = !subject.followed.empty();
    return subject;
  }
  if (data.kind != Annotations::kCoco) {
    return invalid_argument(
        "'" + path +
        "' has what was found in COCO's form, by ids that only COCO's annotations have");
  }
  DVNN_ASSIGN(subject.found, read_coco_results(path, data));
  return subject;
}

}  // namespace

Result<std::vector<Form>> parse_forms(const std::string& text) {
  if (text == "both") return std::vector<Form>{Form::kFp32, Form::kDevice};
  std::vector<Form> forms;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    DVNN_ASSIGN(const Form form, parse_name<Form>(name, kFormNames, "form"));
    if (std::find(forms.begin(), forms.end(), form) != forms.end()) {
      return invalid_argument("'" + name + "' is there twice");
    }
    forms.push_back(form);
    begin = end + 1;
  }
  return forms;
}

bool is_network(const std::string& path, const DataSet& data) {
  return !ends_with(path, ".json") && !(data.kind == Annotations::kMot && is_mot_results(path));
}

Result<network::Model> read_sized(const std::string& path, const Arguments& arguments) {
  DVNN_ASSIGN(network::Model model, network::read_dvn(path));
  if (!arguments.given("size")) return model;
  DVNN_ASSIGN(const plan::PixelSize size, plan::parse_size(arguments.text("size")));
  return plan::replan(model, size.width, size.height);
}

Result<Subject> open_model(network::Model model, const std::string& path, bool by_index,
                           const Arguments& arguments, const DataSet& data) {
  Subject subject;
  subject.path = path;
  std::shared_ptr<const layers::CustomLibrary> library;
  if (arguments.given("custom-layers")) {
    DVNN_ASSIGN(library, layers::CustomLibrary::open(arguments.text("custom-layers")));
  }
  DVNN_ASSIGN(const auto decoders, decoders_of(arguments));
  DVNN_ASSIGN(auto device, device::Device::open(arguments.text("device")));
  DVNN_ASSIGN(auto network, network::Network::create(std::move(model), std::move(device), nullptr,
                                                     std::move(library)));
  DVNN_ASSIGN(subject.session, Session::create(std::move(network), decoders.get()));
  DVNN_TRY(check_task(data, &subject));
  DVNN_TRY(match_classes(data, by_index, &subject));
  return subject;
}

Result<Subject> open_subject(const std::string& path, Form form, bool by_index,
                             const Arguments& arguments, const DataSet& data) {
  if (!is_network(path, data)) return open_results(path, data);
  if (form == Form::kInt8) return open_in_bytes(path, by_index, arguments, data);
  Subject subject;
  subject.path = path;
  const std::string device = form == Form::kSoft ? "soft" : arguments.text("device");
  DVNN_ASSIGN(subject.session, open_session(path, device, arguments));
  if (form == Form::kFp16 && has_bytes(subject.session->model())) {
    return unsupported("network '" + path +
                       "' has weights of 8 bits, so it has no form fp16: convert its model again "
                       "without --quantize");
  }
  DVNN_TRY(check_task(data, &subject));
  DVNN_TRY(match_classes(data, by_index, &subject));
  if (form == Form::kSoft) subject.path += " on the software device";
  if (form == Form::kFp32) DVNN_TRY(run_in_fp32(arguments, &subject));
  return subject;
}

}  // namespace dvnn::tools
