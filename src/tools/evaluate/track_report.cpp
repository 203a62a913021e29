// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/track_report.h"

#include <cstdio>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::tools {
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
