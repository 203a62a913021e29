// SPDX-License-Identifier: Apache-2.0
#include "tools/enrol/enrol_report.h"

#include <algorithm>
#include <cstdio>

#include "base/format.h"

namespace dvnn::tools {
namespace {

using evaluate::CountedShare;
using evaluate::NamingFigures;

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

}  // namespace

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

}  // namespace dvnn::tools
