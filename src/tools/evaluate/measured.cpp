// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/measured.h"

#include <algorithm>

#include "base/format.h"
#include "tools/progress.h"

namespace dvnn::tools {
namespace {

using evaluate::Area;
using evaluate::ClassJudgement;
using evaluate::DataSet;
using evaluate::Figures;
using evaluate::Judgement;
using evaluate::Measure;

constexpr int kHalf = 0, kThreeQuarters = 5;  // indices of the overlaps 0.5 and 0.75

// Returns the judgements of those classes that the network knows.
Judgement known_classes(const Judgement& all, const Subject& subject) {
  Judgement known;
  for (size_t i = 0; i < all.size(); ++i) {
    if (subject.known[i]) known.push_back(all[i]);
  }
  return known;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? -1 : sum / static_cast<double>(values.size());
}

// Returns AP, AP50, AP75 and AR of a sample of pictures.
std::vector<double> sampled(const Judgement& judgement, const std::vector<uint32_t>& weights) {
  std::vector<double> all, half, strict, recalls;
  for (const ClassJudgement& of : judgement) {
    for (int i = 0; i < evaluate::kOverlaps; ++i) {
      const evaluate::Curve curve =
          curve_of(of, {evaluate::kAll, evaluate::kMostFound, i}, &weights);
      if (curve.precision < 0) continue;
      all.push_back(curve.precision);
      recalls.push_back(curve.recall);
      if (i == kHalf) half.push_back(curve.precision);
      if (i == kThreeQuarters) strict.push_back(curve.precision);
    }
  }
  return {mean_of(all), mean_of(half), mean_of(strict), mean_of(recalls)};
}

void add_intervals(const DataSet& data, const Judgement& judgement, const MeasureOptions& options,
                   MeasuredDetector* to) {
  if (options.rounds == 0) return;
  Progress progress("drawing samples", static_cast<size_t>(options.rounds));
  const auto intervals = evaluate::bootstrap(data.pictures.size(), options.rounds, options.seed,
                                             [&](const std::vector<uint32_t>& weights) {
                                               progress.advance();
                                               return sampled(judgement, weights);
                                             });
  to->ap = intervals[0];
  to->ap50 = intervals[1];
  to->ap75 = intervals[2];
  to->ar = intervals[3];
}

MeasuredClass measure_class(const ClassJudgement& of, const std::string& label,
                            const MeasureOptions& options) {
  MeasuredClass measured;
  measured.label = label;
  measured.objects = of.count(evaluate::kAll);
  measured.figures = figures_of(of, Measure::kBoxes);
  measured.half = curve_of(of, {});
  if (options.precision) {
    const evaluate::Chosen chosen = operation_of_precision(of, *options.precision);
    measured.operation = chosen.operation;
    measured.reached = chosen.reached;
  } else {
    measured.operation = best_operation(of);
  }
  return measured;
}

// A class without objects gets an unreachable threshold: all that is found of it is wrong.
constexpr double kNever = 2;

void add_classes(const Judgement& judgement, const Subject& subject, const MeasureOptions& options,
                 MeasuredDetector* to) {
  to->by_class.assign(judgement.size(), kNever);
  for (size_t i = 0; i < judgement.size(); ++i) {
    if (!subject.known[i] || judgement[i].count(evaluate::kAll) == 0) continue;
    to->classes.push_back(measure_class(judgement[i], subject.labels[i], options));
    const MeasuredClass& measured = to->classes.back();
    to->by_class[i] = measured.operation.threshold;
    // dvdecode's property is a list separated by commas, so such a label cannot be in it.
    if (measured.label.find(',') != std::string::npos) continue;
    to->thresholds += format("%s%s:%.9g", to->thresholds.empty() ? "" : ",", measured.label.c_str(),
                             measured.operation.threshold);
  }
}

void add_mistakes(const DataSet& data, const Subject& subject, MeasuredDetector* to) {
  to->confusion = evaluate::Confusion(data.classes.size());
  for (size_t p = 0; p < data.pictures.size(); ++p) {
    const evaluate::Picture picture = counted_picture(data, subject, p);
    const evaluate::Comparison comparison = compare(picture, subject.found[p], to->by_class);
    to->confusion.add(picture, subject.found[p], comparison);
    to->mistakes.push_back(comparison.mistakes(picture, subject.found[p]));
  }
}

bool have_points(const DataSet& data, const Subject& subject) {
  const auto any_truth = [](const evaluate::Picture& picture) {
    return std::any_of(picture.truths.begin(), picture.truths.end(),
                       [](const evaluate::Truth& truth) { return !truth.points.empty(); });
  };
  const auto any_found = [](const std::vector<evaluate::Found>& found) {
    return std::any_of(found.begin(), found.end(),
                       [](const evaluate::Found& f) { return !f.points.empty(); });
  };
  return std::any_of(data.pictures.begin(), data.pictures.end(), any_truth) &&
         std::any_of(subject.found.begin(), subject.found.end(), any_found);
}

bool have_masks(const DataSet& data, const Subject& subject) {
  const auto any_truth = [](const evaluate::Picture& picture) {
    return std::any_of(picture.truths.begin(), picture.truths.end(),
                       [](const evaluate::Truth& truth) { return truth.mask != nullptr; });
  };
  const auto any_found = [](const std::vector<evaluate::Found>& found) {
    return std::any_of(found.begin(), found.end(),
                       [](const evaluate::Found& f) { return f.mask != nullptr; });
  };
  return std::any_of(data.pictures.begin(), data.pictures.end(), any_truth) &&
         std::any_of(subject.found.begin(), subject.found.end(), any_found);
}

MeasuredDetector measure_detector(const DataSet& data, const Subject& subject,
                                  const MeasureOptions& options) {
  MeasuredDetector measured;
  const Judgement judgement = judge(data, subject.found, Measure::kBoxes);
  const Judgement known = known_classes(judgement, subject);
  measured.figures = figures_of(known, Measure::kBoxes);
  if (have_points(data, subject)) {
    const Judgement points = judge(data, subject.found, Measure::kKeyPoints);
    measured.key_points = figures_of(known_classes(points, subject), Measure::kKeyPoints);
  }
  if (have_masks(data, subject)) {
    const Judgement masks = judge(data, subject.found, Measure::kMasks);
    measured.masks = figures_of(known_classes(masks, subject), Measure::kMasks);
  }
  add_classes(judgement, subject, options, &measured);
  add_intervals(data, known, options, &measured);
  add_mistakes(data, subject, &measured);
  return measured;
}

void measure_classifier(const DataSet& data, const Subject& subject, const MeasureOptions& options,
                        Measured* to) {
  const std::vector<size_t> places = places_of(data, subject.found);
  to->classifier = accuracy_of(data, places, subject.known);
  if (options.rounds == 0) return;
  const auto shares = [&](const std::vector<uint32_t>& weights) -> std::vector<double> {
    evaluate::Hits hits;
    for (size_t p = 0; p < places.size(); ++p) {
      if (subject.known[static_cast<size_t>(data.pictures[p].class_id)])
        hits.add(places[p], weights[p]);
    }
    return {share_of(hits.first, hits.pictures), share_of(hits.among_five, hits.pictures)};
  };
  const auto intervals =
      evaluate::bootstrap(data.pictures.size(), options.rounds, options.seed, shares);
  to->first = intervals[0];
  to->among_five = intervals[1];
}

MeasuredPixels measure_pixels(const DataSet& data, const Subject& subject) {
  MeasuredPixels measured;
  measured.mean_overlap = subject.pixels.mean_overlap();
  measured.accuracy = subject.pixels.accuracy();
  for (size_t i = 0; i < data.classes.size(); ++i) {
    const double overlap = subject.pixels.overlap(i);
    if (overlap >= 0)
      measured.classes.push_back({subject.labels[i], subject.pixels.pixels(i), overlap});
  }
  return measured;
}

MeasuredReading measure_reading(const DataSet& data, const Subject& subject,
                                const MeasureOptions& options) {
  MeasuredReading measured;
  measured.texts = subject.texts;
  std::vector<evaluate::ReadingCount> counts;
  for (size_t p = 0; p < data.pictures.size(); ++p) {
    counts.push_back(evaluate::count_reading(data.pictures[p].text, subject.texts[p]));
    measured.count.add(counts.back());
    if (counts.back().exact == 0) measured.misread.push_back(p);
  }
  if (options.rounds == 0) return measured;
  const auto shares = [&](const std::vector<uint32_t>& weights) -> std::vector<double> {
    evaluate::ReadingCount all;
    for (size_t p = 0; p < counts.size(); ++p) all.add(counts[p], weights[p]);
    return {all.exact_share(), all.character_error()};
  };
  const auto intervals = evaluate::bootstrap(counts.size(), options.rounds, options.seed, shares);
  measured.exact = intervals[0];
  measured.character_error = intervals[1];
  return measured;
}

MeasuredEmbeddings measure_embeddings(const DataSet& data, const Subject& subject) {
  std::vector<int> identities;
  for (const evaluate::Picture& picture : data.pictures) identities.push_back(picture.class_id);
  return {evaluate::compare_embeddings(subject.embeddings, identities)};
}

MeasuredTracks measure_tracks(const DataSet& data, const Subject& subject) {
  MeasuredTracks measured;
  measured.by_sequence.resize(data.sequences.size());
  std::vector<evaluate::tracks::Figures> by_class(data.classes.size());
  for (const auto& one : judge_tracks(data, subject.followed, subject.known)) {
    measured.all.add(one.figures);
    measured.by_sequence[one.sequence].add(one.figures);
    by_class[static_cast<size_t>(one.class_id)].add(one.figures);
  }
  for (size_t i = 0; i < by_class.size(); ++i) {
    if (subject.known[i]) measured.classes.emplace_back(subject.labels[i], by_class[i]);
  }
  return measured;
}

}  // namespace

// Returns the decoder's own threshold, which a decoder of a library may have, too.
static double decoder_floor(const network::Model& model) {
  const auto at = model.decoder.params.find("confidence_threshold");
  return at != model.decoder.params.end() && at->is_number() ? at->get<double>() : 0;
}

std::optional<Metric> metric_of(const Measured& measured) {
  if (measured.detector) return Metric{"AP", measured.detector->figures.ap};
  if (measured.classifier) {
    const evaluate::Hits& hits = measured.classifier->all;
    return Metric{"top-1", share_of(hits.first, hits.pictures)};
  }
  if (measured.pixels) return Metric{"mIoU", measured.pixels->mean_overlap};
  if (measured.reading) return Metric{"1 - CER", 1 - measured.reading->count.character_error()};
  if (measured.embeddings) return Metric{"mAP", measured.embeddings->figures.mean_precision()};
  return {};
}

double share_of(uint64_t part, uint64_t all) {
  return all == 0 ? -1 : static_cast<double>(part) / static_cast<double>(all);
}

evaluate::Picture counted_picture(const DataSet& data, const Subject& subject, size_t index) {
  evaluate::Picture picture = data.pictures[index];
  for (evaluate::Truth& truth : picture.truths) {
    truth.ignored |= !subject.known[static_cast<size_t>(truth.class_id)];
  }
  return picture;
}

Measured measure(const DataSet& data, const Subject& subject, const MeasureOptions& options) {
  Measured measured;
  measured.path = subject.path;
  measured.foreign = subject.foreign;
  if (subject.session) measured.floor = decoder_floor(subject.session->model());
  for (size_t i = 0; i < data.classes.size(); ++i) {
    if (data.named && !subject.known[i]) measured.missing.push_back(data.classes[i]);
  }
  if (subject.finds == objects::Kind::kClassification) {
    measure_classifier(data, subject, options, &measured);
  } else if (subject.finds == objects::Kind::kAttributes) {
    if (data.kind == evaluate::Annotations::kTexts) {
      measured.reading = measure_reading(data, subject, options);
    } else {
      measured.embeddings = measure_embeddings(data, subject);
    }
  } else if (subject.finds == objects::Kind::kSegmentation) {
    measured.pixels = measure_pixels(data, subject);
  } else if (!subject.only_tracks) {
    measured.detector = measure_detector(data, subject, options);
  }
  if (!data.sequences.empty()) measured.tracks = measure_tracks(data, subject);
  return measured;
}

}  // namespace dvnn::tools
