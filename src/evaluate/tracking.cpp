// SPDX-License-Identifier: Apache-2.0
#include "evaluate/tracking.h"

namespace dvnn::evaluate {
namespace {

tracks::Box corners_of(const Box& box) {
  return {box.x, box.y, box.x + box.width, box.y + box.height};
}

tracks::Figures judge_one(const DataSet& data, const FollowedByPicture& followed,
                          const Sequence& sequence, int class_id) {
  tracks::Frames truth(sequence.count), found(sequence.count), all;
  tracks::Ignored ignored;
  ignored.things.resize(sequence.count);
  for (size_t i = 0; i < sequence.count; ++i) {
    for (const Truth& one : data.pictures[sequence.first + i].truths) {
      if (one.class_id != class_id) continue;
      (one.ignored ? ignored.things[i] : truth[i])
          .push_back({static_cast<long>(one.track), corners_of(one.box)});
    }
    for (const Followed& one : followed[sequence.first + i]) {
      if (one.class_id == class_id)
        found[i].push_back({static_cast<long>(one.track), corners_of(one.box)});
    }
  }
  // A track that fits another thing better than an ignored one counts.
  all = truth;
  for (size_t i = 0; i < sequence.others.size(); ++i) {
    for (const Box& box : sequence.others[i]) all[i].push_back({0, corners_of(box)});
  }
  return figures_of(truth, counted(all, found, ignored));
}

}  // namespace

std::vector<SequenceFigures> judge_tracks(const DataSet& data, const FollowedByPicture& followed,
                                          const std::vector<bool>& known) {
  std::vector<SequenceFigures> judged;
  for (size_t s = 0; s < data.sequences.size(); ++s) {
    for (size_t c = 0; c < data.classes.size(); ++c) {
      if (!known[c]) continue;
      const int class_id = static_cast<int>(c);
      judged.push_back({s, class_id, judge_one(data, followed, data.sequences[s], class_id)});
    }
  }
  return judged;
}

}  // namespace dvnn::evaluate
