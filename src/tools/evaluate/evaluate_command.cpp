// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "base/names.h"
#include "evaluate/annotations/annotations.h"
#include "network/dvn_file.h"
#include "plan/replan.h"
#include "tools/commands.h"
#include "tools/evaluate/evaluate_report.h"
#include "tools/evaluate/follow.h"
#include "tools/evaluate/keep.h"
#include "tools/evaluate/measured.h"
#include "tools/evaluate/page/evaluate_page.h"
#include "tools/evaluate/subject.h"
#include "tools/network_options.h"
#include "tools/options.h"

namespace dvnn::tools {
namespace {

using evaluate::Annotations;
using evaluate::DataSet;

struct EvaluateOptions {
  std::string data, html, save;
  Annotations kind = Annotations::kFind;
  bool json = false, by_index = false, keep = false;
  bool on_device = true, in_fp32 = false;
  double threshold = 0;
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
  const std::string as = arguments.text("as");
  options->on_device = as != "fp32";
  options->in_fp32 = as != "device";
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
  if (as != "device" && as != "fp32" && as != "both") {
    return "--as '" + short_text(as, 40) + "' is none of device, fp32 and both";
  }
  if (as != "device" && options->keep) return "--keep is of what a device finds, not of --as " + as;
  if (as == "both" && !options->save.empty())
    return "--save is of one network, and so not of --as both";
  const double precision = arguments.fraction("precision");
  if (precision != 0) options->measure.precision = precision;
  if (!(precision >= 0 && precision < 1)) return format("--precision %g is not in 0..1", precision);
  return "";
}

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

// Makes the subject run in FP32. A network that is loaded has left its weights with the device, so
// the file is read again.
Status run_in_fp32(const Arguments& arguments, Subject* subject) {
  const std::string what = "network '" + subject->path + "' in FP32";
  DVNN_ASSIGN(network::Model model, network::read_dvn(subject->path));
  if (arguments.given("size")) {
    DVNN_ASSIGN(const plan::PixelSize size, plan::parse_size(arguments.text("size")));
    DVNN_ASSIGN(model, plan::replan(model, size.width, size.height));
  }
  std::shared_ptr<const decode::CustomDecoders> decoders;
  if (arguments.given("decoder-library")) {
    DVNN_ASSIGN(decoders, decode::CustomDecoders::open(arguments.text("decoder-library")));
  }
  auto run = create_float_run(std::move(model), arguments.text("custom-layers"), decoders.get());
  if (!run.ok()) return run.error().within(what);
  subject->in_fp32 = std::move(run.value());
  subject->path += " in FP32";
  return {};
}

// Whether a file is of what was found in sequences, and not a network.
bool is_mot_results(const std::string& path) {
  return ends_with(path, ".txt") || evaluate::is_folder(path);
}

bool is_network(const std::string& path, const DataSet& data) {
  return !ends_with(path, ".json") && !(data.kind == Annotations::kMot && is_mot_results(path));
}

Result<Subject> open_subject(const std::string& path, const Arguments& arguments,
                             const EvaluateOptions& options, const DataSet& data, bool in_fp32) {
  Subject subject;
  subject.path = path;
  if (ends_with(path, ".json")) {
    subject.labels = data.classes;
    subject.known.assign(data.classes.size(), true);
    DVNN_ASSIGN(subject.found, read_coco_results(path, data));
    return subject;
  }
  if (data.kind == Annotations::kMot && is_mot_results(path)) {
    subject.labels = data.classes;
    subject.known.assign(data.classes.size(), true);
    DVNN_ASSIGN(evaluate::MotResults results, read_mot_results(path, data));
    subject.found = std::move(results.found);
    subject.followed = std::move(results.followed);
    subject.only_tracks = !subject.followed.empty();
    return subject;
  }
  DVNN_ASSIGN(subject.session, open_session(path, arguments));
  DVNN_TRY(check_task(data, &subject));
  DVNN_TRY(match_classes(data, options.by_index, &subject));
  if (in_fp32) DVNN_TRY(run_in_fp32(arguments, &subject));
  return subject;
}

Result<std::vector<Subject>> open_subjects(const Arguments& arguments,
                                           const EvaluateOptions& options, DataSet* data) {
  std::vector<Subject> subjects;
  bool runs = false;
  for (const std::string& path : arguments.files()) {
    if (ends_with(path, ".json") && data->kind != Annotations::kCoco) {
      return invalid_argument(
          "'" + path +
          "' has what was found in COCO's form, by ids that only COCO's annotations have");
    }
    for (const bool in_fp32 : {true, false}) {
      // What was found elsewhere is as it is.
      const bool wanted = !is_network(path, *data) ? !in_fp32
                          : in_fp32                ? options.in_fp32
                                                   : options.on_device;
      if (!wanted) continue;
      DVNN_ASSIGN(Subject subject, open_subject(path, arguments, options, *data, in_fp32));
      runs = runs || subject.session;
      if (options.keep) DVNN_TRY(check_keeps(subject));
      subjects.push_back(std::move(subject));
    }
  }
  if (!options.save.empty() && data->kind != Annotations::kCoco) {
    return invalid_argument("--save writes what was found by COCO's ids, which '" + data->source +
                            "' does not have");
  }
  if (runs) DVNN_TRY(locate_pictures(data));
  return subjects;
}

Status evaluate_all(const Arguments& arguments, const EvaluateOptions& options) {
  DVNN_ASSIGN(DataSet data, evaluate::read_data_set(options.data, options.kind));
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
  for (const Subject& subject : subjects)
    measured.push_back(measure(data, subject, options.measure));
  const OrderedJson report = measured_json(data, measured, options.measure);
  if (options.json) {
    std::printf("%s\n", json_text(report, 1, true).c_str());
  } else {
    print_measured(data, measured, options.measure);
  }
  if (!options.html.empty()) {
    DVNN_ASSIGN(const std::string page, evaluate_page(data, subjects, measured, report));
    DVNN_TRY(replace_file(options.html, {page}));
  }
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

constexpr const char* kForms[] = {"device", "fp32", "both"};
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
    {"as", 0, Takes::kText, "FORM",
     "What to run: device; fp32: the network's operations and weights, no result rounded to 16 "
     "bits, on the CPU; both, side by side",
     "device", kForms},
    {"track", 0, Takes::kTexts, "NAME=VALUE",
     "Of sequences: a property of dvtrack, such as max-lost-ms=1000 or camera=static; may be given "
     "several times"},
    {"json", 0, Takes::kNothing, nullptr, "Print one JSON object"},
    {"html", 0, Takes::kFile, "FILE",
     "Write a page with the numbers, curves of precision and recall, and the pictures with most "
     "mistakes"},
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
