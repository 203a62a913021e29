// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/task_report.h"

#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::tools {
namespace {

constexpr int kNameWidth = 24;

std::string name_of(const Measured& measured) {
  return format("%-*s", kNameWidth,
                short_text(base_name(measured.path), static_cast<size_t>(kNameWidth)).c_str());
}

std::string share_text(double value) {
  return value < 0 ? "     -" : format("%6.3f", value);
}

OrderedJson share_json(double value) {
  return value < 0 ? OrderedJson() : OrderedJson(value);
}

OrderedJson range_json(const evaluate::Interval& interval) {
  return {share_json(interval.low), share_json(interval.high)};
}

std::string range_text(const evaluate::Interval& interval) {
  return interval.low < 0 ? "" : format("%.3f..%.3f", interval.low, interval.high);
}

}  // namespace

void print_readings(const std::vector<Measured>& measured) {
  std::printf("%-*s %8s %6s %6s %6s   %s\n", kNameWidth, "", "texts", "exact", "CER", "WER",
              "CER, 95 % of samples");
  for (const Measured& m : measured) {
    if (!m.reading) continue;
    const evaluate::ReadingCount& count = m.reading->count;
    std::printf("%s %8llu %s %s %s   %s\n", name_of(m).c_str(),
                static_cast<unsigned long long>(count.texts),
                share_text(count.exact_share()).c_str(),
                share_text(count.character_error()).c_str(), share_text(count.word_error()).c_str(),
                range_text(m.reading->character_error).c_str());
  }
}

void print_misread(const evaluate::DataSet& data, const MeasuredReading& measured) {
  constexpr size_t kMostShown = 8;
  const size_t count = measured.misread.size();
  if (count > 0) std::printf("%zu misread:\n", count);
  for (size_t i = 0; i < std::min(count, kMostShown); ++i) {
    const size_t picture = measured.misread[i];
    std::printf("  %s: '%s', read: '%s'\n",
                short_text(base_name(data.pictures[picture].path), 40).c_str(),
                short_text(data.pictures[picture].text, 40).c_str(),
                short_text(measured.texts[picture], 40).c_str());
  }
}

OrderedJson reading_json(const evaluate::DataSet& data, const MeasuredReading& measured) {
  const evaluate::ReadingCount& count = measured.count;
  OrderedJson json = {{"texts", count.texts},
                      {"exact", share_json(count.exact_share())},
                      {"cer", share_json(count.character_error())},
                      {"wer", share_json(count.word_error())},
                      {"characters", count.characters},
                      {"words", count.words}};
  if (measured.character_error.low >= 0) {
    json["intervals"] = {{"exact", range_json(measured.exact)},
                         {"cer", range_json(measured.character_error)}};
  }
  json["misread"] = OrderedJson::array();
  for (const size_t picture : measured.misread) {
    json["misread"].push_back({{"picture", data.pictures[picture].path},
                               {"is", data.pictures[picture].text},
                               {"read", measured.texts[picture]}});
  }
  return json;
}

void print_embeddings(const std::vector<Measured>& measured) {
  std::printf("%-*s %8s %6s %6s %6s\n", kNameWidth, "", "queries", "rank 1", "rank 5", "mAP");
  for (const Measured& m : measured) {
    if (!m.embeddings) continue;
    const evaluate::EmbeddingFigures& figures = m.embeddings->figures;
    std::printf("%s %8zu %s %s %s\n", name_of(m).c_str(), figures.queries.size(),
                share_text(figures.rank(1)).c_str(), share_text(figures.rank(5)).c_str(),
                share_text(figures.mean_precision()).c_str());
  }
  for (const Measured& m : measured) {
    if (!m.embeddings) continue;
    const evaluate::EmbeddingFigures& figures = m.embeddings->figures;
    std::printf("\n%s: %llu pairs of one identity, %llu of two\n", printable(m.path).c_str(),
                static_cast<unsigned long long>(figures.same_pairs),
                static_cast<unsigned long long>(figures.other_pairs));
    std::printf("%15s %14s %9s\n", "false accepts", "true accepts", "cosine");
    for (const evaluate::AcceptRate& rate : figures.rates) {
      std::printf("%15g %14.4f %9.4f\n", rate.false_accepts, rate.true_accepts, rate.threshold);
    }
  }
}

OrderedJson embeddings_json(const MeasuredEmbeddings& measured) {
  const evaluate::EmbeddingFigures& figures = measured.figures;
  OrderedJson json = {
      {"queries", figures.queries.size()},    {"rank1", share_json(figures.rank(1))},
      {"rank5", share_json(figures.rank(5))}, {"map", share_json(figures.mean_precision())},
      {"same_pairs", figures.same_pairs},     {"other_pairs", figures.other_pairs},
      {"rates", OrderedJson::array()}};
  for (const evaluate::AcceptRate& rate : figures.rates) {
    json["rates"].push_back({{"false_accepts", rate.false_accepts},
                             {"threshold", rate.threshold},
                             {"true_accepts", rate.true_accepts}});
  }
  return json;
}

namespace {

using TrackFigures = evaluate::tracks::Figures;

constexpr int kTrackNameWidth = 24;

void print_track_heads(const char* first) {
  std::printf("%-*s %6s %6s %6s %6s %6s %6s %8s %9s %7s %7s\n", kTrackNameWidth, first, "HOTA",
              "DetA", "AssA", "LocA", "MOTA", "IDF1", "switches", "fragments", "missed", "false");
}

void print_track_row(const std::string& name, const TrackFigures& f) {
  std::printf("%-*s %6.3f %6.3f %6.3f %6.3f %6.3f %6.3f %8ld %9ld %7ld %7ld\n", kTrackNameWidth,
              short_text(name, static_cast<size_t>(kTrackNameWidth)).c_str(), f.hota(), f.det_a(),
              f.ass_a(), f.loc_a(), f.mota(), f.idf1(), f.switches, f.fragments,
              f.truths - f.matches, f.found - f.matches);
}

OrderedJson track_figures_json(const TrackFigures& f) {
  return {{"hota", f.hota()},
          {"det_a", f.det_a()},
          {"ass_a", f.ass_a()},
          {"loc_a", f.loc_a()},
          {"mota", f.mota()},
          {"idf1", f.idf1()},
          {"switches", f.switches},
          {"fragments", f.fragments},
          {"objects", f.truths},
          {"found", f.found},
          {"missed", f.truths - f.matches},
          {"false", f.found - f.matches}};
}

}  // namespace

void print_tracks(const std::vector<Measured>& measured) {
  print_track_heads("tracks");
  for (const Measured& m : measured) {
    if (m.tracks) print_track_row(base_name(m.path), m.tracks->all);
  }
}

void print_sequences(const evaluate::DataSet& data, const MeasuredTracks& measured) {
  print_track_heads("sequence");
  for (size_t i = 0; i < data.sequences.size(); ++i) {
    print_track_row(data.sequences[i].name, measured.by_sequence[i]);
  }
  if (measured.classes.size() < 2) return;
  print_track_heads("class");
  for (const auto& [label, figures] : measured.classes) print_track_row(label, figures);
}

OrderedJson tracks_json(const evaluate::DataSet& data, const MeasuredTracks& measured) {
  OrderedJson json = {{"figures", track_figures_json(measured.all)},
                      {"sequences", OrderedJson::array()},
                      {"classes", OrderedJson::array()}};
  for (size_t i = 0; i < data.sequences.size(); ++i) {
    json["sequences"].push_back({{"sequence", data.sequences[i].name},
                                 {"frames", data.sequences[i].count},
                                 {"rate", data.sequences[i].rate},
                                 {"figures", track_figures_json(measured.by_sequence[i])}});
  }
  for (const auto& [label, figures] : measured.classes) {
    json["classes"].push_back({{"label", label}, {"figures", track_figures_json(figures)}});
  }
  return json;
}

}  // namespace dvnn::tools
