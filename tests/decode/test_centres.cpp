// SPDX-License-Identifier: Apache-2.0
// Peaks of heat maps: CenterNet.
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::centres_tests {

using json = dvnn::Json;

START_TEST(peaks_of_heat_maps_are_centres) {
  std::vector<float> heat(8, 0.0f), sizes(16, 1.0f), offsets(16, 0.5f);
  heat[4] = 0.6f;  // beside the peak
  heat[5] = 0.9f;
  sizes[5] = 2;
  const json params = {{"image", {32, 16}}, {"stride", 8}, {"num_classes", 1}};
  const auto found = Outputs()
                         .add("hm", {1, 1, 2, 4}, heat)
                         .add("wh", {1, 2, 2, 4}, sizes)
                         .add("off", {1, 2, 2, 4}, offsets)
                         .found("heatmap-centres", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 4 / 32.0, 8 / 16.0, 20 / 32.0, 16 / 16.0);
}
END_TEST

DVNN_SUITE(decoders, peaks_of_heat_maps_are_centres)

}  // namespace dvnn::test::centres_tests
