// SPDX-License-Identifier: Apache-2.0
// Number of pieces into which a convolution is cut, for the cache and for the threads.
#pragma once

namespace dvnn::softdv {

/// `bands` of rows (of pixels if there is one row), each cut into `groups` of the result's chunks.
struct Shares {
  int bands, groups;
};

/// Group `index` of `count`.
struct Group {
  int index, count;
};

/// Limits for cutting a convolution.
struct Cuts {
  int units;          // rows, or pixels of the only row: the largest number of bands
  int least_bands;    // the fewest that fit the cache
  int most_bands;     // the most that are large enough to be worth a share
  int most_groups;    // the most; each group reads all of its band's source
  bool groups_first;  // cut groups before bands: the source is read again rather than the weights
  double macs;        // multiplications of the whole convolution
  bool mostly_weights = false;  // a whole source has fewer values than the weights
};

/// Chooses the cut. One thread needs only what the cache asks for. More threads take several shares
/// each, so that one delayed thread does not delay the others, but none too small to be worth its
/// overhead.
Shares choose_shares(const Cuts& cuts, int threads);

}  // namespace dvnn::softdv
