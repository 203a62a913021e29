// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "base/names.h"
#include "base/result.h"
#include "decode/decoder.h"
#include "evaluate/annotations/annotations.h"
#include "network/dvn_file.h"
#include "tools/commands.h"
#include "tools/evaluate/byte_search.h"
#include "tools/evaluate/curve_plot.h"
#include "tools/evaluate/evaluate_report.h"
#include "tools/evaluate/follow.h"
#include "tools/evaluate/measured.h"
#include "tools/evaluate/opening.h"
#include "tools/evaluate/subject.h"
#include "tools/options.h"
#include "tools/session.h"

namespace dvnn::tools {
namespace {

using evaluate::Annotations;
using evaluate::DataSet;

// Returns the file that a name leads to, so that a link stays a link when the file is replaced.
std::string file_behind(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  return error ? path : file.string();
}

Error refused(const Subject& subject, const std::string& why) {
  return {ErrorCode::kUnsupported, "--keep: '" + subject.path + "' " + why};
}

// Checks, before anything runs, that a subject's file can keep thresholds: a .dvn file that finds
// boxes, in a folder that can be written to.
Status check_keeps(const Subject& subject) {
  if (!subject.session) return refused(subject, "is no network");
  if (!ends_with(subject.path, ".dvn")) {
    return refused(subject, "is no .dvn file; the thresholds of another network are for dvdecode");
  }
  if (subject.finds != objects::Kind::kDetection) {
    return refused(subject,
                   std::string("finds: ") + kind_name(subject.finds) + "; thresholds are of boxes");
  }
  const std::string folder = std::filesystem::path(file_behind(subject.path)).parent_path();
  if (Status s = check_folder(folder.empty() ? "." : folder); !s.ok()) {
    return s.error().within("--keep cannot replace '" + subject.path + "'");
  }
  return {};
}

// Writes the thresholds of all measured classes into the subject's file, in place of those that it
// has. The file is replaced as a whole or not at all.
Status keep_thresholds(const Subject& subject, const MeasuredDetector& measured) {
  const std::string path = file_behind(subject.path);
  // The file is read again: the session's model may be planned for another size.
  DVNN_ASSIGN(network::Model model, network::read_dvn(path));
  const network::Model& ran = subject.session->model();
  if (model.labels != ran.labels || model.source != ran.source ||
      model.decoder.name != ran.decoder.name) {
    return Error{ErrorCode::kIo, "--keep: '" + subject.path +
                                     "' was replaced by another network while this one "
                                     "ran, and stays as it is"};
  }
  std::map<std::string, double> thresholds;
  for (const MeasuredClass& of : measured.classes) thresholds[of.label] = of.operation.threshold;
  decode::set_class_thresholds(thresholds, &model.decoder.params);
  return network::write_dvn(model, path);
}

struct EvaluateOptions {
  std::string data, html, plot, save, quantized;
  Annotations kind = Annotations::kFind;
  bool json = false, by_index = false, keep = false;
  std::vector<Form> forms;
  double threshold = 0, most_loss = 0;
  TrackOptions track;
  MeasureOptions measure;
};

// Parses a command line. Returns the mistake in it; empty if it has none.
std::string parse(const Arguments& arguments, EvaluateOptions* options) {
  options->data = arguments.text("data");
  options->json = arguments.given("json");
  options->html = arguments.text("html");
  options->save = arguments.text("save");
  options->keep = arguments.given("keep");
  options->by_index = arguments.given("by-index");
  options->threshold = arguments.fraction("threshold");
  options->plot = arguments.text("plot");
  options->quantized = arguments.text("quantize");
  options->most_loss = arguments.fraction("loss");
  options->measure.rounds = arguments.number("samples");
  options->measure.seed = static_cast<uint64_t>(arguments.number("seed"));
  if (arguments.files().empty()) return "needs a network file, or a JSON file of what was found";
  if (!options->save.empty() && arguments.files().size() != 1) return "--save is of one network";
  if (options->data.empty()) return "needs --data with a folder of pictures and annotations";
  if (!(options->threshold >= 0 && options->threshold <= 1)) {
    return format("--threshold %g is not in 0..1", options->threshold);
  }
  constexpr int kMostSamples = 100000;
  if (options->measure.rounds < 0 || options->measure.rounds > kMostSamples) {
    return format("--samples %d is not in 0..%d", options->measure.rounds, kMostSamples);
  }
  const auto kind = parse_name<Annotations>(arguments.text("annotations"),
                                            evaluate::kAnnotationNames, "kind of annotations");
  if (!kind.ok()) return "--annotations: " + kind.error().message;
  options->kind = kind.value();
  auto track = parse_track_options(arguments.texts("track"));
  if (!track.ok()) return "--track: " + track.error().message;
  options->track = track.value();
  const std::string as = arguments.text("as");
  auto forms = parse_forms(as);
  if (!forms.ok()) return "--as: " + forms.error().message;
  options->forms = std::move(forms.value());
  const bool plain = as == "device";
  if (!plain && options->keep) return "--keep is of what a device finds, not of --as " + as;
  if (options->forms.size() > 1 && !options->save.empty())
    return "--save is of one network, and so not of --as " + as;
  if (!options->quantized.empty()) {
    const std::vector<std::string>& files = arguments.files();
    if (files.size() != 1 || !ends_with(files[0], ".dvn")) return "--quantize is of one .dvn file";
    if (!plain) return "--quantize is of what a device finds, not of --as " + as;
  }
  if (!(options->most_loss >= 0 && options->most_loss <= 1))
    return format("--loss %g is not in 0..1", options->most_loss);
  const double precision = arguments.fraction("precision");
  if (precision != 0) options->measure.precision = precision;
  if (!(precision >= 0 && precision < 1)) return format("--precision %g is not in 0..1", precision);
  return "";
}

// Opens a network or a file in its forms. The software device is compared with another device
// beside it.
Status open_forms(const std::string& path, const Arguments& arguments,
                  const EvaluateOptions& options, const DataSet& data,
                  std::vector<Subject>* subjects) {
  size_t on_device = Subject::kNone;
  const std::vector<Form> once = {Form::kDevice};
  for (const Form form : is_network(path, data) ? options.forms : once) {
    DVNN_ASSIGN(Subject subject, open_subject(path, form, options.by_index, arguments, data));
    if (options.keep) DVNN_TRY(check_keeps(subject));
    if (form == Form::kDevice || form == Form::kFp16) on_device = subjects->size();
    subjects->push_back(std::move(subject));
  }
  for (size_t i = 0; i < options.forms.size() && on_device != Subject::kNone; ++i) {
    if (options.forms[i] == Form::kSoft && is_network(path, data))
      (*subjects)[subjects->size() - options.forms.size() + i].compared_with = on_device;
  }
  return {};
}

Result<std::vector<Subject>> open_subjects(const Arguments& arguments,
                                           const EvaluateOptions& options, DataSet* data) {
  std::vector<Subject> subjects;
  for (const std::string& path : arguments.files())
    DVNN_TRY(open_forms(path, arguments, options, *data, &subjects));
  if (!options.save.empty() && data->kind != Annotations::kCoco) {
    return invalid_argument("--save writes what was found by COCO's ids, which '" + data->source +
                            "' does not have");
  }
  const auto runs = [](const Subject& subject) { return subject.session != nullptr; };
  if (std::any_of(subjects.begin(), subjects.end(), runs)) DVNN_TRY(locate_pictures(data));
  return subjects;
}

// Finds which weights can have 8 bits, and writes the network that keeps the metric.
Status spend_bytes(const Arguments& arguments, const EvaluateOptions& options,
                   const Measured& measured, DataSet* data, OrderedJson* report) {
  const std::string& path = arguments.files()[0];
  DVNN_ASSIGN(const network::Model model, read_sized(path, arguments));
  const auto open = [&](network::Model other) {
    return open_model(std::move(other), path, options.by_index, arguments, *data);
  };
  ByteSearchOptions search{options.threshold, options.most_loss, options.measure.precision};
  auto found = search_bytes(model, *metric_of(measured), search, open, data);
  if (!found.ok()) return found.error().within("--quantize: network '" + path + "'");
  DVNN_TRY(network::write_dvn(found.value().model, options.quantized));
  (*report)["quantized"] = byte_search_json(found.value(), options.quantized);
  if (!options.json) print_byte_search(found.value(), options.quantized);
  return {};
}

Status write_pictures(const EvaluateOptions& options, const DataSet& data,
                      const std::vector<Subject>& subjects, const std::vector<Measured>& measured,
                      const OrderedJson& report) {
  if (!options.html.empty()) {
    DVNN_ASSIGN(const std::string page, evaluate_page(data, subjects, measured, report));
    DVNN_TRY(replace_file(options.html, {page}));
  }
  if (options.plot.empty()) return {};
  const CurvePlot plot = measured_plot(measured, report);
  if (plot.curves.empty())
    return unsupported("--plot draws curves of detectors or of --quantize, and here are none");
  return replace_file(options.plot, {svg_of(plot)});
}

Status evaluate_all(const Arguments& arguments, const EvaluateOptions& options) {
  DVNN_ASSIGN(DataSet data, evaluate::read_data_set(options.data, options.kind));
  if (!arguments.texts("track").empty() && data.sequences.empty()) {
    return invalid_argument("--track is of sequences, which '" + options.data + "' does not have");
  }
  DVNN_ASSIGN(std::vector<Subject> subjects, open_subjects(arguments, options, &data));
  SequenceCamera camera(data, options.track.camera);
  DVNN_TRY(run_subjects(static_cast<float>(options.threshold), &data, &subjects,
                        [&](size_t picture, const Bitmap& bgr) { camera.see(picture, bgr); }));
  for (Subject& subject : subjects) {
    if (!data.sequences.empty() && !subject.only_tracks)
      follow(data, camera, options.track, &subject);
  }
  if (!options.save.empty()) {
    DVNN_TRY(replace_file(options.save, {coco_results_text(subjects[0].found, data)}));
  }
  std::vector<Measured> measured;
  for (const Subject& subject : subjects) {
    measured.push_back(measure(data, subject, options.measure));
    if (subject.compared_with == Subject::kNone) continue;
    measured.back().difference = {subjects[subject.compared_with].path, subject.differences};
  }
  OrderedJson report = measured_json(data, measured, options.measure);
  if (!options.json) print_measured(data, measured, options.measure);
  if (!options.quantized.empty()) {
    DVNN_TRY(spend_bytes(arguments, options, measured[0], &data, &report));
  }
  if (options.json) std::printf("%s\n", json_text(report, 1, true).c_str());
  DVNN_TRY(write_pictures(options, data, subjects, measured, report));
  for (size_t i = 0; i < subjects.size() && options.keep; ++i) {
    DVNN_TRY(keep_thresholds(subjects[i], *measured[i].detector));
    if (options.json) continue;
    std::printf("%s: keeps these thresholds\n", printable(subjects[i].path).c_str());
  }
  return {};
}

int evaluate_networks(const Arguments& arguments) {
  EvaluateOptions options;
  const std::string mistake = parse(arguments, &options);
  if (!mistake.empty()) return wrong_usage(arguments.command(), mistake);
  const Status done = evaluate_all(arguments, options);
  return done.ok() ? 0 : fail(done.error());
}

constexpr const char* kForms[] = {"device", "fp16", "int8", "soft", "fp32", "both"};
constexpr Option kEvaluateOptions[] = {
    {"data", 0, Takes::kFile, "FOLDER",
     "The pictures and their annotations, or the file of annotations"},
    {"annotations", 0, Takes::kText, "KIND",
     "The form of the annotations; auto: what lies there decides", "auto",
     evaluate::kAnnotationNames},
    {"precision", 'p', Takes::kFraction, "P",
     "Choose for each class the threshold that finds most with at least this precision, 0..1, "
     "instead of the one with "
     "the best F1",
     "0"},
    {"threshold", 't', Takes::kFraction, "C",
     "Least confidence that counts, 0..1; above 0.01 it cuts the curves off", "0.001"},
    {"by-index", 0, Takes::kNothing, nullptr,
     "Match the network's classes with the data's by index, not by name"},
    {"samples", 0, Takes::kNumber, "N",
     "Samples of pictures that the 95 % intervals are taken of; 0: no intervals", "200"},
    {"seed", 0, Takes::kNumber, "N", "Which samples", "1"},
    {"as", 0, Takes::kText, "FORMS",
     "What to run, side by side, between commas: device, the file as it is; fp16, which refuses "
     "weights of 8 bits; int8: with all weights in 8 bits; soft: on the software device, compared "
     "with `device` picture by picture; fp32: on the CPU, no result rounded to 16 bits; both: "
     "fp32,device",
     "device", kForms},
    {"quantize", 0, Takes::kFile, "NETWORK.dvn",
     "Write the network with weights of 8 bits where that costs the metric least"},
    {"loss", 0, Takes::kFraction, "LOSS", "Of --quantize: the most that the metric may lose, 0..1",
     "0.005"},
    {"track", 0, Takes::kTexts, "NAME=VALUE",
     "Of sequences: a property of dvtrack, such as max-lost-ms=1000 or camera=static; may be given "
     "several times"},
    {"json", 0, Takes::kNothing, nullptr, "Print one JSON object"},
    {"html", 0, Takes::kFile, "FILE",
     "Write a page with the numbers, curves of precision and recall, and the pictures with most "
     "mistakes"},
    {"plot", 0, Takes::kFile, "FILE.svg",
     "Draw the curves of precision and recall or, with --quantize, of the metric by bytes"},
    {"save", 0, Takes::kFile, "FOUND.json",
     "Write what the network has found in the form that COCO's programs read, and this command in "
     "place of a network"},
    {"keep", 0, Takes::kNothing, nullptr,
     "Write the chosen thresholds into the network files, where dvdecode and dvnet run find them"},
    kWeightsOption,
    kCustomLayersOption,
    kDecoderLibraryOption,
    kSizeOption,
    kDeviceOption};

}  // namespace

const Command kEvaluateCommand = {
    "evaluate",
    "measure how well networks find what annotated pictures show",
    "NETWORK.dvn|NETWORK.so|FOUND.json|FOUND.txt... --data FOLDER",
    "Runs networks on annotated pictures and prints average precision by COCO's rules, or top-1 "
    "and top-5, mIoU, how well texts are read, identities told apart or objects followed; and the "
    "best thresholds. FOUND has what other programs have found, as COCO's own or the MOT "
    "challenge's read it.",
    kEvaluateOptions,
    evaluate_networks};

}  // namespace dvnn::tools
