// SPDX-License-Identifier: Apache-2.0
// The tracker on whole scenes, rendered and recorded ones, beside published trackers.
#include "track/scenes.h"

#include <cstdio>
#include <string>

#include "check_suite.h"
#include "track/baselines.h"
#include "track/sequence.h"

namespace dvnn::test::scenes_tests {

DVNN_SUITE(track_scenes);

namespace {

constexpr unsigned kSeeds = 6;
constexpr double kSeconds = 40;
enum { kOurs, kSort, kByteTrack, kOcSort, kTrackers };

struct Compared {
  Figures of[kTrackers];
};

void add(const Sequence& sequence, double sure, Compared* compared) {
  const Frames tracks[kTrackers] = {run_ours(sequence), run_sort(sequence),
                                    run_byte_track(sequence, sure), run_oc_sort(sequence, sure)};
  for (int k = 0; k < kTrackers; ++k) {
    compared->of[k].add(
        figures_of(sequence.truth, counted(sequence.truth, tracks[k], sequence.ignored)));
  }
}

void print(const char* what, const Compared& compared) {
  std::printf("%s:", what);
  for (const char* name : {"ours", "SORT", "ByteTrack", "OC-SORT"}) {
    const Figures& f = compared.of[std::string(name) == "ours"   ? kOurs
                                   : std::string(name) == "SORT" ? kSort
                                   : name[0] == 'B'              ? kByteTrack
                                                                 : kOcSort];
    std::printf(" %s %.1f/%.1f/%.1f/%ld", name, 100 * f.hota(), 100 * f.mota(), 100 * f.idf1(),
                f.switches);
  }
  std::printf("\n");
}

// The street at a rate, of which each Nth frame is looked at.
double street_idf1(double fps, size_t every) {
  Figures sum;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    const Sequence sequence = sample(Scene::kStreet, seed, kSeconds, fps).sequence;
    sum.add(figures_of(sequence.truth,
                       counted(sequence.truth, run_ours(sequence, {}, every), sequence.ignored)));
  }
  return 100 * sum.idf1();
}

// The scene at 12.5 frames/s, as a network describes its things.
Figures described(Scene scene, const Describer& describer, bool looks) {
  Figures sum;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    Sampled sampled = sample(scene, seed, kSeconds, 12.5);
    give_looks(describer, seed, &sampled);
    track::Settings settings;
    if (!looks) settings.appearance = 0;
    const Sequence& sequence = sampled.sequence;
    sum.add(figures_of(sequence.truth,
                       counted(sequence.truth, run_ours(sequence, settings), sequence.ignored)));
  }
  return sum;
}

void print(const char* what, const Figures& without, const Figures& with) {
  std::printf("%s: %.1f/%.1f/%.1f/%ld, %.1f/%.1f/%.1f/%ld\n", what, 100 * without.hota(),
              100 * without.mota(), 100 * without.idf1(), without.switches, 100 * with.hota(),
              100 * with.mota(), 100 * with.idf1(), with.switches);
}

}  // namespace

DVNN_TEST(scenes_rank_trackers_as_recordings_do_and_ours_leads) {
  const struct {
    const char* what;
    Scene scene;
    double fps;
    int order[3];  // from the best on
  } cases[] = {{"street", Scene::kStreet, 25, {kByteTrack, kOcSort, kSort}},
               {"walk", Scene::kWalk, 25, {kByteTrack, kOcSort, kSort}},
               {"road", Scene::kRoad, 10, {kOcSort, kByteTrack, kSort}}};
  size_t number = 0;
  for (const auto& c : cases) {
    if (!dvnn_plays(number++)) continue;
    Compared compared;
    for (unsigned seed = 1; seed <= kSeeds; ++seed)
      add(sample(c.scene, seed, kSeconds, c.fps).sequence, 0.6, &compared);
    print(c.what, compared);
    const Figures* of = compared.of;
    ck_assert_msg(of[c.order[0]].hota() > of[c.order[1]].hota() &&
                      of[c.order[1]].hota() > of[c.order[2]].hota(),
                  "%s: another order", c.what);
    for (int k = 1; k < kTrackers; ++k) {
      ck_assert_msg(of[kOurs].hota() > of[k].hota() + 0.02 &&
                        of[kOurs].idf1() > of[k].idf1() + 0.02 && of[kOurs].mota() > of[k].mota() &&
                        of[kOurs].switches < of[k].switches,
                    "%s: tracker %d is better", c.what, k);
    }
  }
}

DVNN_TEST(fewer_frames_and_fewer_looks_cost_little) {
  const double full = street_idf1(25, 1);
  const struct {
    double fps;
    size_t every;
    double cost;  // points of IDF1
  } cases[] = {{50, 1, 3}, {12.5, 1, 3}, {6.25, 1, 6}, {25, 2, 3}, {25, 4, 6}, {25, 8, 10}};
  size_t number = 0;
  for (const auto& c : cases) {
    if (!dvnn_plays(number++)) continue;
    const double idf1 = street_idf1(c.fps, c.every);
    std::printf("%g frames/s, every %zu. looked at: IDF1 %.1f, of %.1f\n", c.fps, c.every, idf1,
                full);
    ck_assert_msg(full - idf1 < c.cost, "%g frames/s, every %zu.: %.1f of %.1f", c.fps, c.every,
                  idf1, full);
  }
}

DVNN_TEST(smoothed_boxes_are_nearer_to_the_truth) {
  const struct {
    Scene scene;
    double fps, error;
  } cases[] = {{Scene::kStreet, 25, 0.03},
               {Scene::kStreet, 6.25, 0.03},
               {Scene::kStreet, 25, 0.003},
               {Scene::kWalk, 25, 0.03},
               {Scene::kRoad, 10, 0.03}};
  size_t number = 0;
  for (const auto& c : cases) {
    if (!dvnn_plays(number++)) continue;
    double smoothed = 0, detected = 0;
    size_t count = 0;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      const Sampled sampled = sample(c.scene, seed, kSeconds, c.fps, c.error);
      const auto tracks = follow(sampled.sequence, {});
      for (size_t i = 0; i < tracks.size(); ++i) {
        for (const Followed& one : tracks[i]) {
          if (one.detection == 0) continue;
          const int owner = sampled.owners[i][one.detection - 1];
          if (owner < 0) continue;
          const Box& there = sampled.sequence.truth[i][static_cast<size_t>(owner)].box;
          smoothed += iou(one.box, there);
          detected += iou(sampled.sequence.detections[i][one.detection - 1].box, there);
          ++count;
        }
      }
    }
    smoothed /= static_cast<double>(count), detected /= static_cast<double>(count);
    std::printf(
        "overlap with the truth, scene %d, %g frames/s, off by %g: %.4f smoothed, %.4f detected\n",
        static_cast<int>(c.scene), c.fps, c.error, smoothed, detected);
    ck_assert_msg(smoothed > detected - 0.0005, "%.4f of %.4f", smoothed, detected);
  }
}

DVNN_TEST(looks_spare_switches) {
  const struct {
    const char* what;
    Describer describer;
    double gain;   // points of IDF1 on the walk, at least
    double share;  // of the switches that is left, at most
  } cases[] = {{"sharp", kSharp, 6, 0.8},
               {"usual", kUsual, 6, 0.8},
               {"poor", kPoor, 4, 0.8},
               {"vague", kVague, -0.5, 1.1}};
  size_t number = 0;
  for (const auto& c : cases) {
    if (!dvnn_plays(number++)) continue;
    const Figures without = described(Scene::kWalk, c.describer, false);
    const Figures with = described(Scene::kWalk, c.describer, true);
    print(c.what, without, with);
    ck_assert_msg(
        100 * (with.idf1() - without.idf1()) > c.gain &&
            static_cast<double>(with.switches) <= c.share * static_cast<double>(without.switches),
        "%s", c.what);
  }
}

DVNN_TEST(labels_that_flip_cost_little) {
  Describer flips = kUsual;
  flips.flips = 0.2;
  for (const bool looks : {false, true}) {
    const Figures steady = described(Scene::kWalk, kUsual, looks);
    const Figures flipping = described(Scene::kWalk, flips, looks);
    print(looks ? "flips, with looks" : "flips, without looks", steady, flipping);
    ck_assert_msg(
        flipping.hota() > steady.hota() - 0.005 && 4 * flipping.switches < 5 * steady.switches,
        "%d", looks);
  }
}

// Recorded sequences are not ours to give away: without them this says so.
DVNN_TEST(recorded_sequences_are_tracked_better_than_by_published_trackers) {
  const std::string folder = DVNN_TEST_DATA "/tracking/";
  const struct {
    const char* what;
    std::vector<const char*> names;
    double sure;
    double hota, mota, idf1;  // at least, in percent
  } sets[] = {{"MOT15",
               {"mot15/ADL-Rundle-6", "mot15/ETH-Sunnyday", "mot15/KITTI-13", "mot15/PETS09-S2L1",
                "mot15/Venice-2"},
               0.5,
               41,
               38,
               56},
              {"MOT17",
               {"mot17/MOT17-02", "mot17/MOT17-05", "mot17/MOT17-10", "mot17/MOT17-13"},
               0.6,
               57,
               64,
               73},
              {"KITTI",
               {"kitti-car/KITTI-0001", "kitti-car/KITTI-0003", "kitti-car/KITTI-0005",
                "kitti-car/KITTI-0007", "kitti-car/KITTI-0009", "kitti-car/KITTI-0011",
                "kitti-car/KITTI-0013", "kitti-car/KITTI-0015", "kitti-car/KITTI-0019"},
               0.6,
               74,
               78,
               88}};
  for (const auto& set : sets) {
    Compared compared;
    for (const char* name : set.names) {
      Sequence sequence = read_sequence(folder + name);
      if (sequence.detections.empty()) {
        std::printf("skipped: no %s%s\n", folder.c_str(), name);
        return;
      }
      sequence.camera.clear();
      add(sequence, set.sure, &compared);
    }
    print(set.what, compared);
    const Figures& ours = compared.of[kOurs];
    ck_assert_msg(100 * ours.hota() >= set.hota && 100 * ours.mota() >= set.mota &&
                      100 * ours.idf1() >= set.idf1,
                  "%s", set.what);
    for (int k = 1; k < kTrackers; ++k) {
      ck_assert_msg(ours.hota() > compared.of[k].hota() && ours.idf1() > compared.of[k].idf1() &&
                        ours.switches < compared.of[k].switches,
                    "%s: tracker %d is better", set.what, k);
    }
  }
}

}  // namespace dvnn::test::scenes_tests
