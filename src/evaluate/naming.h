// SPDX-License-Identifier: Apache-2.0
// What mistakes a gallery would make that knows some people by pictures: each picture is looked for
// among all others ("leave one out"), once as one of a known person, and once as if that person
// were not known. A picture has a name if its cosine to the most alike picture of that person
// reaches the threshold, and that to any other person's is less by the margin.
#pragma once

#include <cstdint>
#include <vector>

namespace dvnn::evaluate {

/// Cosines of a picture to the most alike picture of its own person (without itself), of the most
/// alike other person, and of the next one. -2: there is none.
struct NamingTrial {
  double own = -2, other = -2, next = -2;
  int person = 0;
};

/// A share that was counted, with the interval that has the true one with 90 % certainty (Wilson's;
/// each bound holds with 95 %). `effect` is the design effect, >= 1: pictures of one person
/// resemble each other, so that `of` of them tell as much as `of / effect` of as many people (Kish,
/// Survey Sampling, 1965, 5.4 and 8.2).
struct CountedShare {
  uint64_t count = 0, of = 0;
  double effect = 1;
  double share() const { return of > 0 ? static_cast<double>(count) / static_cast<double>(of) : 0; }
  double least() const;
  double most() const;
};

struct NamingFigures {
  double threshold = 0, margin = 0;
  CountedShare rejects;  // pictures of known people that have no name
  CountedShare wrong;    // pictures of known people that have another one's name
  CountedShare accepts;  // pictures of strangers that have a name
};

/// What a gallery should use; the share of mistakes that as many other pictures have at most, with
/// 95 % certainty; and whether that is as rare as wanted.
struct NamingProposal {
  NamingFigures figures;
  double most_to_come = 1;
  bool reached = false;
};

/// Compares all pictures. `embeddings` have one length and are finite and not all 0; `people` has a
/// number for each.
std::vector<NamingTrial> try_names(const std::vector<std::vector<float>>& embeddings,
                                   const std::vector<int>& people);

NamingFigures naming_at(const std::vector<NamingTrial>& trials, double threshold, double margin);

/// Proposes a threshold and a margin with which as many other pictures have, with 95 % certainty, a
/// share of mistakes (strangers accepted, and wrong names) of at most `most_accepts`, and with
/// which fewest pictures of known people are rejected. Where the pictures are too few to show that,
/// they are those without any mistake; where that cannot be either, those with fewest. Between all
/// thresholds that reject as few, it is the middle: pictures to come are worse than those at hand.
NamingProposal propose_naming(const std::vector<NamingTrial>& trials, double most_accepts);

}  // namespace dvnn::evaluate
