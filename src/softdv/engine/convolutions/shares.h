// SPDX-License-Identifier: Apache-2.0
// Into how many pieces a convolution is cut, for the cache and for the threads.
#pragma once

namespace dvnn::softdv {

/// `bands` of rows (of pixels, where there is one row), each by `groups` of the result's chunks.
struct Shares {
  int bands, groups;
};

/// One of the groups.
struct Group {
  int index, count;
};

/// The ways in which a convolution may be cut.
struct Cuts {
  int units;          // rows, or pixels of the only row: the largest number of bands
  int least_bands;    // the fewest that fit the cache
  int most_bands;     // the most that are large enough to be worth a share
  int most_groups;    // each reads all of a band's source
  bool groups_first;  // each band reads the source again rather than the weights
  double macs;        // multiplications of the whole
};

/// One thread takes what the cache asks for. More take several shares each, so that one that is
/// held up does not hold up the others, and none that is smaller than the way to it.
Shares choose_shares(const Cuts& cuts, int threads);

}  // namespace dvnn::softdv
