// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/evaluate_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "base/json.h"
#include "evaluate/annotations/annotations.h"
#include "tools/evaluate/task_report.h"

namespace dvnn::tools {
namespace {

using evaluate::DataSet;
using evaluate::Figures;
using evaluate::Interval;

// A figure: its name in JSON, the head of its column, and its member.
struct Column {
  const char *name, *head;
  double Figures::*value;
};
constexpr Column kColumns[] = {
    {"ap", "AP", &Figures::ap},
    {"ap50", "AP50", &Figures::ap50},
    {"ap75", "AP75", &Figures::ap75},
    {"ap_small", "small", &Figures::ap_small},
    {"ap_medium", "medium", &Figures::ap_medium},
    {"ap_large", "large", &Figures::ap_large},
    {"ar1", "AR1", &Figures::ar1},
    {"ar10", "AR10", &Figures::ar10},
    {"ar100", "AR100", &Figures::ar},
    {"ar_small", "small", &Figures::ar_small},
    {"ar_medium", "medium", &Figures::ar_medium},
    {"ar_large", "large", &Figures::ar_large},
};
constexpr Column kPointColumns[] = {
    {"ap", "AP", &Figures::ap},
    {"ap50", "AP50", &Figures::ap50},
    {"ap75", "AP75", &Figures::ap75},
    {"ap_medium", "medium", &Figures::ap_medium},
    {"ap_large", "large", &Figures::ap_large},
    {"ar20", "AR20", &Figures::ar},
    {"ar20_50", "AR50", &Figures::ar50},
    {"ar20_75", "AR75", &Figures::ar75},
    {"ar20_medium", "medium", &Figures::ar_medium},
    {"ar20_large", "large", &Figures::ar_large},
};
constexpr size_t kNameBytes = 24;
constexpr double kHighFloor = 0.05;  // curves without lower confidences lack several points of AP

std::string figure_text(double value) {
  return value < 0 ? "     -" : format("%6.3f", value);
}

std::string interval_text(const Interval& interval) {
  return interval.low < 0 ? "" : format("%.3f..%.3f", interval.low, interval.high);
}

std::string name_text(const std::string& name) {
  return format("%-*s", static_cast<int>(kNameBytes), short_text(name, kNameBytes).c_str());
}

void print_heads(const char* first, Span<const Column> columns) {
  std::printf("%s", name_text(first).c_str());
  for (const Column& column : columns) std::printf(" %6s", column.head);
  std::printf("\n");
}

void print_figures(const std::string& name, const Figures& figures, Span<const Column> columns) {
  std::printf("%s", name_text(name).c_str());
  for (const Column& column : columns)
    std::printf(" %s", figure_text(figures.*column.value).c_str());
  std::printf("\n");
}

std::string list_text(const std::vector<std::string>& names) {
  constexpr size_t kMostShown = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostShown); ++i) {
    text += (i ? ", " : "") + short_text(names[i], 40);
  }
  return text +
         (names.size() > kMostShown ? format(" and %zu more", names.size() - kMostShown) : "");
}

// --- the data ------------------------------------------------------------------------------------

// Returns whether to list classes. Texts have none; masks without names have all classes that a
// byte can hold.
bool shows_classes(const DataSet& data) {
  if (data.kind == evaluate::Annotations::kTexts) return false;
  return data.named || data.kind != evaluate::Annotations::kMasks;
}

struct Counts {
  size_t objects = 0, crowds = 0, ignored = 0;
};

Counts counts_of(const DataSet& data) {
  Counts counts;
  for (const evaluate::Picture& picture : data.pictures) {
    for (const evaluate::Truth& truth : picture.truths) {
      counts.crowds += truth.crowd;
      counts.ignored += truth.ignored && !truth.crowd;
      counts.objects += !truth.crowd && !truth.ignored;
    }
  }
  return counts;
}

void print_data(const DataSet& data) {
  const Counts counts = counts_of(data);
  std::printf("%s (%s): %zu pictures", printable(data.source).c_str(), annotations_name(data.kind),
              data.pictures.size());
  if (counts.objects) std::printf(", %zu objects", counts.objects);
  if (shows_classes(data)) std::printf(" of %zu classes", data.classes.size());
  if (counts.crowds) std::printf(", %zu crowds", counts.crowds);
  if (counts.ignored) std::printf(", %zu ignored", counts.ignored);
  if (!data.sequences.empty()) std::printf(" in %zu sequences", data.sequences.size());
  std::printf("\n");
}

// --- detectors -----------------------------------------------------------------------------------

void print_classes(const MeasuredDetector& measured, const MeasureOptions& options) {
  std::printf("%s %8s %6s %6s %10s %10s %7s %6s\n", name_text("class").c_str(), "objects", "AP",
              "AP50", "threshold", "precision", "recall", "F1");
  for (const MeasuredClass& c : measured.classes) {
    std::printf("%s %8llu %s %s %10.6g %9.1f%% %6.1f%% %6.3f%s\n", name_text(c.label).c_str(),
                static_cast<unsigned long long>(c.objects), figure_text(c.figures.ap).c_str(),
                figure_text(c.figures.ap50).c_str(), c.operation.threshold,
                100 * c.operation.precision(), 100 * c.operation.recall(), c.operation.f1(),
                c.reached ? "" : "  not reached");
  }
  const auto far = [](const MeasuredClass& c) { return !c.reached; };
  if (std::any_of(measured.classes.begin(), measured.classes.end(), far)) {
    std::printf(
        "note: where a precision of %g is not reached, too little was found, or too much of it is "
        "wrong, to be "
        "95 %% sure of it\n",
        options.precision.value_or(0));
  }
}

// A cell of the matrix that counts mistakes.
struct Mistake {
  uint64_t count;
  size_t truth, found;
};

std::vector<Mistake> mistakes_of(const evaluate::Confusion& confusion) {
  std::vector<Mistake> mistakes;
  for (size_t t = 0; t < confusion.side(); ++t) {
    for (size_t f = 0; f < confusion.side(); ++f) {
      if (t != f && confusion.count(t, f) > 0) mistakes.push_back({confusion.count(t, f), t, f});
    }
  }
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return mistakes;
}

void print_mistakes(const DataSet& data, const evaluate::Confusion& confusion) {
  constexpr size_t kMostShown = 8;
  const std::vector<Mistake> mistakes = mistakes_of(confusion);
  if (mistakes.empty()) return;
  const auto name = [&](size_t i) {
    return i < data.classes.size() ? short_text(data.classes[i], 40) : "nothing";
  };
  std::printf("most frequent mistakes at these thresholds:\n");
  for (size_t i = 0; i < std::min(mistakes.size(), kMostShown); ++i) {
    std::printf("  %6llu  %s, found: %s\n", static_cast<unsigned long long>(mistakes[i].count),
                name(mistakes[i].truth).c_str(), name(mistakes[i].found).c_str());
  }
}

void print_detector(const DataSet& data, const Measured& measured, const MeasureOptions& options) {
  const MeasuredDetector& detector = *measured.detector;
  if (detector.ap.low >= 0) {
    std::printf("95 %% of samples: AP %s, AP50 %s, AP75 %s, AR100 %s\n",
                interval_text(detector.ap).c_str(), interval_text(detector.ap50).c_str(),
                interval_text(detector.ap75).c_str(), interval_text(detector.ar).c_str());
  }
  print_classes(detector, options);
  std::printf("thresholds=\"%s\"\n", printable(detector.thresholds).c_str());
  const auto has_comma = [](const MeasuredClass& c) {
    return c.label.find(',') != std::string::npos;
  };
  if (std::any_of(detector.classes.begin(), detector.classes.end(), has_comma)) {
    std::printf("note: labels with a comma cannot stand in dvdecode's thresholds\n");
  }
  print_mistakes(data, detector.confusion);
}

// --- classifiers ---------------------------------------------------------------------------------

void print_classifier(const Measured& measured) {
  const evaluate::Hits& all = measured.classifier->all;
  std::printf("%s %8llu %s %s   %s\n", name_text(base_name(measured.path)).c_str(),
              static_cast<unsigned long long>(all.pictures),
              figure_text(share_of(all.first, all.pictures)).c_str(),
              figure_text(share_of(all.among_five, all.pictures)).c_str(),
              interval_text(measured.first).c_str());
}

void print_pixels(const Measured& measured) {
  std::printf("%s %6s %9s\n", name_text("class").c_str(), "IoU", "pixels");
  for (const MeasuredPixels::Class& c : measured.pixels->classes) {
    std::printf("%s %s %9llu\n", name_text(c.label).c_str(), figure_text(c.overlap).c_str(),
                static_cast<unsigned long long>(c.pixels));
  }
}

// Folders of pictures are classes for one network and identities for another.
void print_overview(const std::vector<Measured>& measured) {
  const auto any = [&](auto member) {
    return std::any_of(measured.begin(), measured.end(),
                       [member](const Measured& m) { return (m.*member).has_value(); });
  };
  const auto has_points = [](const Measured& m) { return m.detector && m.detector->key_points; };
  if (any(&Measured::tracks)) print_tracks(measured);
  if (any(&Measured::detector)) {
    print_heads("", kColumns);
    for (const Measured& m : measured) {
      if (m.detector) print_figures(base_name(m.path), m.detector->figures, kColumns);
    }
  }
  if (any(&Measured::reading)) print_readings(measured);
  if (any(&Measured::pixels)) {
    std::printf("%s %6s %8s\n", name_text("").c_str(), "mIoU", "accuracy");
    for (const Measured& m : measured) {
      if (!m.pixels) continue;
      std::printf("%s %s   %s\n", name_text(base_name(m.path)).c_str(),
                  figure_text(m.pixels->mean_overlap).c_str(),
                  figure_text(m.pixels->accuracy).c_str());
    }
  }
  if (any(&Measured::classifier)) {
    std::printf("%s %8s %6s %6s   %s\n", name_text("").c_str(), "pictures", "top-1", "top-5",
                "top-1, 95 % of samples");
    for (const Measured& m : measured) {
      if (m.classifier) print_classifier(m);
    }
  }
  if (any(&Measured::embeddings)) print_embeddings(measured);
  const auto has_masks = [](const Measured& m) { return m.detector && m.detector->masks; };
  if (std::any_of(measured.begin(), measured.end(), has_masks)) {
    print_heads("masks", kColumns);
    for (const Measured& m : measured) {
      if (has_masks(m)) print_figures(base_name(m.path), *m.detector->masks, kColumns);
    }
  }
  if (std::any_of(measured.begin(), measured.end(), has_points)) {
    print_heads("key points", kPointColumns);
    for (const Measured& m : measured) {
      if (has_points(m)) print_figures(base_name(m.path), *m.detector->key_points, kPointColumns);
    }
  }
}

// --- devices ------------------------------------------------------------------------------------

void print_difference(const DataSet& data, const MeasuredDifference& measured) {
  constexpr size_t kMostShown = 8;
  const size_t count = measured.pictures.size();
  const auto objects = std::count_if(measured.pictures.begin(), measured.pictures.end(),
                                     [](const PictureDifference& of) { return of.objects; });
  std::printf("against '%s': outputs are the same on %zu of %zu pictures, and objects on %zu\n",
              printable(measured.other).c_str(), data.pictures.size() - count, data.pictures.size(),
              data.pictures.size() - static_cast<size_t>(objects));
  for (size_t i = 0; i < std::min(count, kMostShown); ++i) {
    const PictureDifference& of = measured.pictures[i];
    std::printf("  %s: %llu values differ, by up to %g in output '%s'; %s objects\n",
                short_text(base_name(data.pictures[of.picture].path), 40).c_str(),
                static_cast<unsigned long long>(of.values), of.largest,
                short_text(of.output, 40).c_str(), of.objects ? "other" : "the same");
  }
  if (count > kMostShown) std::printf("  and %zu more\n", count - kMostShown);
}

OrderedJson difference_json(const DataSet& data, const MeasuredDifference& measured) {
  OrderedJson json = {{"other", measured.other}, {"pictures", OrderedJson::array()}};
  for (const PictureDifference& of : measured.pictures) {
    json["pictures"].push_back(
        {{"picture", data.pictures[of.picture].path},
         {"output", of.output},
         {"values", of.values},
         {"largest", std::isfinite(of.largest) ? OrderedJson(of.largest) : OrderedJson()},
         {"objects", of.objects}});
  }
  return json;
}

// --- JSON ----------------------------------------------------------------------------------------

OrderedJson number_json(double value) {
  return value < 0 ? OrderedJson() : OrderedJson(value);
}

OrderedJson figures_json(const Figures& figures, Span<const Column> columns) {
  OrderedJson json = OrderedJson::object();
  for (const Column& column : columns) json[column.name] = number_json(figures.*column.value);
  return json;
}

OrderedJson interval_json(const Interval& interval) {
  return {number_json(interval.low), number_json(interval.high)};
}

OrderedJson class_json(const MeasuredClass& c) {
  return {{"label", c.label},
          {"objects", c.objects},
          {"figures", figures_json(c.figures, kColumns)},
          {"threshold", c.operation.threshold},
          {"reached", c.reached},
          {"precision", c.operation.precision()},
          {"recall", c.operation.recall()},
          {"f1", c.operation.f1()},
          {"right", c.operation.right},
          {"wrong", c.operation.wrong},
          {"missed", c.operation.missed},
          {"curve", c.half.precisions}};
}

// Returns the cells of the matrix that are not 0; null stands for no object.
OrderedJson confusion_json(const DataSet& data, const evaluate::Confusion& confusion) {
  const auto name = [&](size_t i) {
    return i < data.classes.size() ? OrderedJson(data.classes[i]) : OrderedJson();
  };
  OrderedJson cells = OrderedJson::array();
  for (size_t t = 0; t < confusion.side(); ++t) {
    for (size_t f = 0; f < confusion.side(); ++f) {
      if (confusion.count(t, f) == 0) continue;
      cells.push_back({{"is", name(t)}, {"found", name(f)}, {"count", confusion.count(t, f)}});
    }
  }
  return cells;
}

OrderedJson detector_json(const DataSet& data, const MeasuredDetector& measured, bool intervals) {
  OrderedJson json = {{"figures", figures_json(measured.figures, kColumns)}};
  if (measured.key_points) json["key_points"] = figures_json(*measured.key_points, kPointColumns);
  if (measured.masks) json["masks"] = figures_json(*measured.masks, kColumns);
  if (intervals) {
    json["intervals"] = {{"ap", interval_json(measured.ap)},
                         {"ap50", interval_json(measured.ap50)},
                         {"ap75", interval_json(measured.ap75)},
                         {"ar100", interval_json(measured.ar)}};
  }
  json["thresholds"] = measured.thresholds;
  json["classes"] = OrderedJson::array();
  for (const MeasuredClass& c : measured.classes) json["classes"].push_back(class_json(c));
  json["confusion"] = confusion_json(data, measured.confusion);
  return json;
}

OrderedJson hits_json(const evaluate::Hits& hits) {
  return {{"pictures", hits.pictures},
          {"top1", number_json(share_of(hits.first, hits.pictures))},
          {"top5", number_json(share_of(hits.among_five, hits.pictures))}};
}

OrderedJson pixels_json(const MeasuredPixels& measured) {
  OrderedJson json = {{"miou", number_json(measured.mean_overlap)},
                      {"accuracy", number_json(measured.accuracy)},
                      {"classes", OrderedJson::array()}};
  for (const MeasuredPixels::Class& c : measured.classes) {
    json["classes"].push_back({{"label", c.label}, {"iou", c.overlap}, {"pixels", c.pixels}});
  }
  return json;
}

OrderedJson classifier_json(const DataSet& data, const Measured& measured, bool intervals) {
  OrderedJson json = hits_json(measured.classifier->all);
  if (intervals) {
    json["intervals"] = {{"top1", interval_json(measured.first)},
                         {"top5", interval_json(measured.among_five)}};
  }
  json["classes"] = OrderedJson::array();
  for (size_t i = 0; i < data.classes.size(); ++i) {
    OrderedJson of = {{"class", data.classes[i]}};
    of.update(hits_json(measured.classifier->classes[i]));
    json["classes"].push_back(of);
  }
  return json;
}

}  // namespace

void print_measured(const DataSet& data, const std::vector<Measured>& measured,
                    const MeasureOptions& options) {
  print_data(data);
  print_overview(measured);
  for (const Measured& m : measured) {
    if (m.detector || m.pixels || m.tracks || m.difference || m.reading || !m.missing.empty() ||
        !m.foreign.empty()) {
      std::printf("\n%s\n", printable(m.path).c_str());
    }
    if (!m.missing.empty()) {
      std::printf("note: the network does not know, and they do not count: %s\n",
                  list_text(m.missing).c_str());
    }
    if (!m.foreign.empty()) {
      std::printf("note: the data does not have, and they do not count: %s\n",
                  list_text(m.foreign).c_str());
    }
    if (m.floor > kHighFloor) {
      std::printf(
          "note: the network's decoder finds nothing below a confidence of %g, which cuts the "
          "curves "
          "off: convert the model with another confidence_threshold\n",
          m.floor);
    }
    if (m.difference) print_difference(data, *m.difference);
    if (m.tracks) print_sequences(data, *m.tracks);
    if (m.detector) print_detector(data, m, options);
    if (m.pixels) print_pixels(m);
    if (m.reading) print_misread(data, *m.reading);
  }
}

OrderedJson measured_json(const DataSet& data, const std::vector<Measured>& measured,
                          const MeasureOptions& options) {
  const Counts counts = counts_of(data);
  OrderedJson json = {
      {"data",
       {{"source", data.source},
        {"annotations", annotations_name(data.kind)},
        {"pictures", data.pictures.size()},
        {"objects", counts.objects},
        {"crowds", counts.crowds},
        {"ignored", counts.ignored},
        {"sequences", data.sequences.size()},
        {"classes", shows_classes(data) ? OrderedJson(data.classes) : OrderedJson()}}}};
  json["networks"] = OrderedJson::array();
  for (const Measured& m : measured) {
    OrderedJson of = {
        {"network", m.path}, {"missing", m.missing}, {"foreign", m.foreign}, {"floor", m.floor}};
    const bool intervals = options.rounds > 0;
    if (m.detector) of["detection"] = detector_json(data, *m.detector, intervals);
    if (m.pixels) of["segmentation"] = pixels_json(*m.pixels);
    if (m.reading) of["reading"] = reading_json(data, *m.reading);
    if (m.difference) of["difference"] = difference_json(data, *m.difference);
    if (m.tracks) of["tracking"] = tracks_json(data, *m.tracks);
    if (m.embeddings) of["embeddings"] = embeddings_json(*m.embeddings);
    if (m.classifier) of["classification"] = classifier_json(data, m, intervals);
    json["networks"].push_back(of);
  }
  return json;
}

}  // namespace dvnn::tools
