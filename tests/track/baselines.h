// SPDX-License-Identifier: Apache-2.0
// Published trackers, written from their papers with the parameters given there, to compare ours
// with. They count frames, and treat all confident detections as one class.
#pragma once

#include "track/sequence.h"

namespace dvnn::test {

/// SORT (Bewley et al., 2016): a Kalman filter of constant speed over (centre, area, aspect), one
/// assignment by overlap.
Frames run_sort(const Sequence& sequence);
/// ByteTrack (Zhang et al., 2022): a filter over (centre, aspect, height), overlap times score, and
/// a second round for weak detections. `least`: confidence of a strong detection.
Frames run_byte_track(const Sequence& sequence, double least);
/// OC-SORT (Cao et al., 2023): SORT with the direction of observations, a round by the last
/// observation, and a filter that is replayed after a gap.
Frames run_oc_sort(const Sequence& sequence, double least);

}  // namespace dvnn::test
