// SPDX-License-Identifier: Apache-2.0
// Makes a gallery of names from folders of pictures, and says what mistakes it would make.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "decode/decoder.h"
#include "evaluate/annotations/annotations.h"
#include "evaluate/naming.h"
#include "evaluate/whole_pictures.h"
#include "match/gallery.h"
#include "match/keeper.h"
#include "regions/alignment.h"
#include "tools/commands.h"
#include "tools/found.h"
#include "tools/pictures.h"
#include "tools/session.h"

namespace dvnn::tools {
namespace {

using evaluate::CountedShare;
using evaluate::NamingFigures;

// What dvnet enrol tells of a gallery, as JSON and as text.
struct EnrolFacts {
  std::string gallery;  // the file that was written; may be empty
  size_t people = 0, pictures = 0, length = 0;
  size_t left_out = 0;      // pictures in which nothing was found
  size_t alone = 0;         // people with one picture only
  double most_accepts = 0;  // what was asked for
  std::vector<evaluate::NamingTrial> trials;
  evaluate::NamingProposal proposal;
};

constexpr int kCurveSteps = 20;

OrderedJson share_json(const CountedShare& share) {
  return {{"count", share.count},
          {"of", share.of},
          {"share", share.share()},
          {"interval", {share.least(), share.most()}}};
}

OrderedJson figures_json(const NamingFigures& figures) {
  return {{"threshold", figures.threshold},
          {"margin", figures.margin},
          {"rejects", share_json(figures.rejects)},
          {"wrong", share_json(figures.wrong)},
          {"accepts", share_json(figures.accepts)}};
}

NamingFigures curve_at(const EnrolFacts& facts, int step) {
  return evaluate::naming_at(facts.trials, static_cast<double>(step) / kCurveSteps,
                             facts.proposal.figures.margin);
}

std::string share_text(const CountedShare& share) {
  if (share.of == 0) return "-";
  return format("%5.1f %% (%.1f-%.1f)", 100 * share.share(), 100 * share.least(),
                100 * share.most());
}

void print_row(const NamingFigures& figures, const char* note) {
  std::printf("  %9.2f  %-22s %-22s %-22s%s\n", figures.threshold,
              share_text(figures.rejects).c_str(), share_text(figures.wrong).c_str(),
              share_text(figures.accepts).c_str(), note);
}

OrderedJson enrol_json(const EnrolFacts& facts) {
  OrderedJson curve = OrderedJson::array();
  for (int step = 0; step <= kCurveSteps; ++step) {
    curve.push_back(figures_json(curve_at(facts, step)));
  }
  OrderedJson proposal = figures_json(facts.proposal.figures);
  proposal["reached"] = facts.proposal.reached;
  return {{"gallery", facts.gallery},           {"people", facts.people},
          {"pictures", facts.pictures},         {"length", facts.length},
          {"left_out", facts.left_out},         {"alone", facts.alone},
          {"most_accepts", facts.most_accepts}, {"proposal", std::move(proposal)},
          {"curve", std::move(curve)}};
}

void print_enrol(const EnrolFacts& facts) {
  const NamingFigures& chosen = facts.proposal.figures;
  std::printf("%zu people by %zu pictures, vectors of %zu numbers\n", facts.people, facts.pictures,
              facts.length);
  if (facts.left_out > 0) {
    std::printf("%zu pictures were left out: nothing was found in them\n", facts.left_out);
  }
  if (facts.alone > 0) {
    std::printf("%zu have one picture only, so nothing tells whether they would be known again\n",
                facts.alone);
  }
  std::printf("\nEach picture among all others, with margin %.2f (90 %% intervals):\n",
              chosen.margin);
  std::printf("  %9s  %-22s %-22s %-22s\n", "threshold", "known, without name", "known, wrong name",
              "strangers with a name");
  for (int step = kCurveSteps / 5; step <= kCurveSteps; ++step)
    print_row(curve_at(facts, step), "");
  std::printf("\nProposed: threshold=%.2f margin=%.2f\n", chosen.threshold, chosen.margin);
  print_row(chosen, "");
  if (!facts.proposal.reached) {
    std::printf(
        "So few pictures cannot show that mistakes are rarer than %.3g %%, only than %.1f %%.\n",
        100 * facts.most_accepts, 100 * facts.proposal.most_to_come);
  }
  if (!facts.gallery.empty()) std::printf("Written: %s\n", printable(facts.gallery).c_str());
}

namespace fs = std::filesystem;

using Vectors = std::vector<std::vector<float>>;
/// Vectors by name.
using People = std::map<std::string, Vectors>;

Error unreadable(const std::string& folder, const std::error_code& why) {
  return {ErrorCode::kNotFound, "'" + printable(folder) + "' cannot be read: " + why.message()};
}

// Returns the pictures of each person: those in FOLDER/NAME.
Result<std::map<std::string, std::vector<std::string>>> find_pictures(const std::string& folder) {
  std::map<std::string, std::vector<std::string>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (!entry.is_directory(ignored)) continue;
    std::vector<std::string> pictures;
    std::error_code unread;
    for (const auto& file : fs::directory_iterator(entry.path(), unread)) {
      if (evaluate::is_picture_name(file.path().string())) pictures.push_back(file.path().string());
    }
    if (unread) return unreadable(entry.path().string(), unread);
    const std::string name = entry.path().filename().string();
    if (const Status good = match::check_name(name); !good.ok()) {
      return good.error().within("folder '" + printable(entry.path().string()) + "'");
    }
    std::sort(pictures.begin(), pictures.end());
    if (pictures.size() > match::kMostVectorsEach) {
      return too_large(format("'%s' has %zu pictures, and may have %zu",
                              printable(entry.path().string()).c_str(), pictures.size(),
                              match::kMostVectorsEach));
    }
    if (!pictures.empty()) found[name] = std::move(pictures);
  }
  if (error) return unreadable(folder, error);
  if (found.empty()) {
    return Error(ErrorCode::kNotFound, "'" + printable(folder) +
                                           "' has no folder with pictures: it needs NAME/*.jpg "
                                           "for each person");
  }
  return found;
}

// Returns the part of a picture in which a detector finds somebody: as dvconvert regions=objects
// align=points shows it if the detector finds a face's five points, else its box.
Result<image::View> part_of(Session* detector, const Shape& input, const std::string& path,
                            const Bitmap& picture) {
  DVNN_TRY(detector->load(picture));
  DVNN_TRY(detector->run(path));
  DVNN_ASSIGN(const objects::Objects found, detector->decode(decode::kUsualThreshold));
  const objects::Object* best = nullptr;
  for (const objects::Object& object : found) {
    if (objects::has_box(object) && (!best || object.confidence > best->confidence)) {
      best = &object;
    }
  }
  if (!best) return malformed("'" + printable(path) + "': the detector finds nobody in it");
  const image::Corners all{0, 0, static_cast<double>(picture.width),
                           static_cast<double>(picture.height)};
  image::View view;
  if (best->points.size() == regions::face_places().size()) {
    std::vector<regions::Place> places;
    for (const objects::Point& point : best->points) places.emplace_back(point.x, point.y);
    const double aspect = static_cast<double>(input[2]) / static_cast<double>(input[3]);
    if (const auto slant = regions::align_points(places, regions::face_places(), aspect)) {
      view.slant = regions::shares_of(*slant, all);
      return view;
    }
  }
  const image::Corners& box = best->box;
  view.region = {box.x0 / all.x1, box.y0 / all.y1, (box.x1 - box.x0) / all.x1,
                 (box.y1 - box.y0) / all.y1};
  return view;
}

// Returns the embedding that the network finds in a picture, of length 1. `detector`, if not null,
// says in which part.
Result<std::vector<float>> embedding_of(Session* session, Session* detector,
                                        const std::string& path) {
  DVNN_ASSIGN(const Bitmap picture, read_picture(path));
  if (detector) {
    const Shape& input = session->slot().network()->input_desc().shape;
    DVNN_ASSIGN(const image::View part, part_of(detector, input, path, picture));
    DVNN_TRY(session->load(picture, part));
  } else {
    DVNN_TRY(session->load(picture));
  }
  DVNN_TRY(session->run(path));
  DVNN_ASSIGN(const objects::Objects found, session->decode(0));
  const objects::Object* best = nullptr;
  for (const objects::Object& object : found) {
    if (!object.embedding.empty() && (!best || object.confidence > best->confidence)) {
      best = &object;
    }
  }
  if (!best) return malformed("'" + printable(path) + "': the network finds no embedding in it");
  std::vector<float> unit = best->embedding;
  if (!match::make_unit(&unit)) {
    return malformed("'" + printable(path) + "': its embedding has no direction");
  }
  return unit;
}

// Pictures in which nothing is found are left out, with a warning.
Result<People> embed(const std::string& network, const std::string& folder,
                     const Arguments& arguments, size_t* left_out) {
  DVNN_ASSIGN(const auto pictures, find_pictures(folder));
  DVNN_ASSIGN(const auto session, open_session(network, arguments));
  if (!session->decoder()) {
    return invalid_argument("'" + printable(network) +
                            "' names no decoder, so nothing finds its embedding");
  }
  std::unique_ptr<Session> detector;
  if (arguments.given("detector")) {
    DVNN_ASSIGN(detector, open_session(arguments.text("detector"), arguments));
    const decode::Decoder* decoder = detector->decoder();
    if (!decoder || decoder->kind() != objects::Kind::kDetection) {
      return invalid_argument("--detector names a network that " +
                              (decoder ? std::string("finds: ") + kind_name(decoder->kind())
                                       : std::string("has no decoder")) +
                              "; it must find boxes");
    }
  }
  People people;
  for (const auto& [name, files] : pictures) {
    for (const std::string& file : files) {
      auto unit = embedding_of(session.get(), detector.get(), file);
      if (unit.ok()) {
        people[name].push_back(std::move(unit.value()));
      } else if (unit.error().code == ErrorCode::kMalformed) {
        std::fprintf(stderr, "dvnet: warning: %s; it is left out\n", unit.error().message.c_str());
        ++*left_out;
      } else {
        return unit.take_failure();
      }
    }
    if (people.count(name) == 0) {
      return malformed("'" + printable(name) + "' has no picture that can be used");
    }
  }
  return people;
}

// Adds people of a gallery that are not in the folder.
Status add_known(const std::string& path, match::Gallery* gallery, People* people) {
  DVNN_ASSIGN(*gallery, match::read_gallery(path, false));
  const size_t length = people->begin()->second.front().size();
  if (gallery->length != 0 && gallery->length != length) {
    return invalid_argument(format("'%s' has vectors of %zu numbers, the network's have %zu",
                                   printable(path).c_str(), gallery->length, length));
  }
  for (const match::Person& person : gallery->people) {
    Vectors vectors;
    for (size_t at = 0; at < person.vectors.size(); at += length) {
      const auto begin = person.vectors.begin() + static_cast<std::ptrdiff_t>(at);
      vectors.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
    }
    people->emplace(person.name, std::move(vectors));
  }
  return {};
}

// Measures the mistakes of a gallery of these people, and proposes its threshold.
Result<EnrolFacts> measure(const People& people, double most_accepts) {
  EnrolFacts facts;
  Vectors all;
  std::vector<int> owners;
  for (const auto& [name, vectors] : people) {
    for (const auto& vector : vectors) {
      all.push_back(vector);
      owners.push_back(static_cast<int>(facts.people));
    }
    ++facts.people;
    facts.alone += vectors.size() == 1 ? 1 : 0;
  }
  if (all.size() > evaluate::kMostEmbeddings) {
    return too_large(format("there are %zu pictures, and all pairs of at most %zu are compared",
                            all.size(), evaluate::kMostEmbeddings));
  }
  facts.pictures = all.size();
  facts.length = all.front().size();
  facts.most_accepts = most_accepts;
  facts.trials = evaluate::try_names(all, owners);
  facts.proposal = evaluate::propose_naming(facts.trials, most_accepts);
  return facts;
}

// Puts the people into the gallery; those whose vectors are another network's keep their version.
void fill(const People& people, const People& fresh, const std::string& network,
          const EnrolFacts& facts, match::Gallery* gallery) {
  const int64_t now = match::Keeper::wall_clock();
  gallery->length = facts.length;
  gallery->network = base_name(network);
  gallery->threshold = facts.proposal.figures.threshold;
  gallery->margin = facts.proposal.figures.margin;
  for (const auto& [name, vectors] : people) {
    match::Person* person = gallery->find(name);
    if (!person) person = &gallery->people.emplace_back();
    person->name = name;
    if (fresh.count(name) == 0) continue;
    person->version = std::max(person->version + 1, now);
    person->vectors.clear();
    for (const auto& vector : vectors) {
      person->vectors.insert(person->vectors.end(), vector.begin(), vector.end());
    }
  }
}

Status enrol(const Arguments& arguments, double most_accepts) {
  const std::string &network = arguments.files()[0], &folder = arguments.files()[1];
  const std::string output = arguments.text("output");
  size_t left_out = 0;
  DVNN_ASSIGN(const People fresh, embed(network, folder, arguments, &left_out));
  People people = fresh;
  match::Gallery gallery;
  if (arguments.given("add")) DVNN_TRY(add_known(output, &gallery, &people));
  DVNN_ASSIGN(EnrolFacts facts, measure(people, most_accepts));
  facts.left_out = left_out;
  if (!output.empty()) {
    fill(people, fresh, network, facts, &gallery);
    DVNN_TRY(match::write_gallery(gallery, output));
    facts.gallery = output;
  }
  if (arguments.given("json")) {
    std::printf("%s\n", json_text(enrol_json(facts), -1, true).c_str());
  } else {
    print_enrol(facts);
  }
  return {};
}

int enrol_people(const Arguments& arguments) {
  const Command& command = arguments.command();
  if (arguments.files().size() != 2) {
    return wrong_usage(command, "needs a network and a folder with a folder of pictures by name");
  }
  const double most = arguments.fraction("accepts");
  if (!(most > 0 && most < 1))
    return wrong_usage(command, format("--accepts %g is not in 0..1", most));
  if (arguments.given("add") && arguments.text("output").empty()) {
    return wrong_usage(command, "--add is of the gallery that --output names");
  }
  if (arguments.given("detector") && arguments.given("size")) {
    return wrong_usage(command, "--size would be that of --detector, too");
  }
  const Status status = enrol(arguments, most);
  return status.ok() ? 0 : fail(status.error());
}

constexpr Option kEnrolOptions[] = {
    {"output", 'o', Takes::kFile, "GALLERY.jsonl",
     "The gallery to write, for dvmatch's gallery-file; without it, only the figures are printed"},
    {"add", 0, Takes::kNothing, nullptr,
     "Keep those whom the gallery knows already; a name that is in the folder, too, is replaced"},
    {"accepts", 'a', Takes::kFraction, "SHARE",
     "Propose the threshold with which no more strangers than this get a name, 0..1", "0.01"},
    {"detector", 0, Takes::kFile, "NETWORK.dvn",
     "The pictures are whole photographs: show the network what this one is surest of, and a face "
     "by its five points, as dvconvert regions=objects align=points does"},
    {"json", 0, Takes::kNothing, nullptr, "Print one JSON object"},
    kWeightsOption,
    kCustomLayersOption,
    kDecoderLibraryOption,
    kSizeOption,
    kDeviceOption};

}  // namespace

const Command kEnrolCommand = {
    "enrol",
    "make a gallery of names from pictures, and tell its mistakes",
    "NETWORK.dvn|NETWORK.so FOLDER",
    "Runs a network that finds embeddings on FOLDER/NAME/*.jpg, writes who is known by which "
    "vectors, looks for each picture among all others, and proposes the threshold and margin that "
    "suit this gallery, with how sure so many pictures are.",
    kEnrolOptions,
    enrol_people};

}  // namespace dvnn::tools
