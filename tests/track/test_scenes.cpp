// SPDX-License-Identifier: Apache-2.0
// The tracker on whole scenes, rendered and recorded ones, beside published trackers.
#include "track/scenes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>

#include "check_suite.h"
#include "track/baselines.h"
#include "track/followed.h"

namespace dvnn::test::scenes_tests {

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

}  // namespace

START_TEST(scenes_rank_trackers_as_recordings_do_and_ours_leads) {
  const struct {
    const char* what;
    Scene scene;
    double fps;
    int order[3];  // from the best on
  } cases[] = {{"street", Scene::kStreet, 25, {kByteTrack, kOcSort, kSort}},
               {"walk", Scene::kWalk, 25, {kByteTrack, kOcSort, kSort}},
               {"road", Scene::kRoad, 10, {kOcSort, kByteTrack, kSort}}};
  for (const auto& c : cases) {
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
END_TEST

START_TEST(fewer_frames_and_fewer_looks_cost_little) {
  const double full = street_idf1(25, 1);
  const struct {
    double fps;
    size_t every;
    double cost;  // points of IDF1
  } cases[] = {{50, 1, 3}, {12.5, 1, 3}, {6.25, 1, 6}, {25, 2, 3}, {25, 4, 6}, {25, 8, 10}};
  for (const auto& c : cases) {
    const double idf1 = street_idf1(c.fps, c.every);
    std::printf("%g frames/s, every %zu. looked at: IDF1 %.1f, of %.1f\n", c.fps, c.every, idf1,
                full);
    ck_assert_msg(full - idf1 < c.cost, "%g frames/s, every %zu.: %.1f of %.1f", c.fps, c.every,
                  idf1, full);
  }
}
END_TEST

START_TEST(smoothed_boxes_are_nearer_to_the_truth) {
  const struct {
    Scene scene;
    double fps, error;
  } cases[] = {{Scene::kStreet, 25, 0.03},
               {Scene::kStreet, 6.25, 0.03},
               {Scene::kStreet, 25, 0.003},
               {Scene::kWalk, 25, 0.03},
               {Scene::kRoad, 10, 0.03}};
  for (const auto& c : cases) {
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
END_TEST

// Each thing has a look of its own, which embeddings tell with an error: their cosines are 0.8 for
// one thing and 0 for two, on average.
START_TEST(looks_spare_switches) {
  constexpr size_t kLength = 32;
  Figures of[2];
  for (const bool with_looks : {false, true}) {
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      const Sampled sampled = sample(Scene::kStreet, seed, kSeconds, 12.5);
      const Sequence& sequence = sampled.sequence;
      std::mt19937 random(seed);
      const auto any = [&] { return static_cast<float>(random() % 2001) / 1000 - 1; };
      std::map<long, std::vector<float>> looks;
      track::TrackIds ids;
      track::Tracker tracker(&ids);
      Frames tracks(sequence.detections.size());
      for (size_t i = 0; i < tracks.size(); ++i) {
        std::vector<std::vector<float>> embeddings;
        std::vector<track::Detection> detections;
        for (size_t k = 0; k < sequence.detections[i].size(); ++k) {
          const Seen& seen = sequence.detections[i][k];
          const int owner = sampled.owners[i][k];
          std::vector<float> look(kLength);
          if (owner >= 0) {
            std::vector<float>& own = looks[sequence.truth[i][static_cast<size_t>(owner)].id];
            if (own.empty()) {
              for (size_t j = 0; j < kLength; ++j) own.push_back(any());
            }
            look = own;
          }
          for (float& value : look) value += any() / 2;
          embeddings.push_back(std::move(look));
          track::Detection detection;
          detection.box = {seen.box.x0, seen.box.y0, seen.box.x1, seen.box.y1};
          detection.confidence = static_cast<float>(seen.confidence);
          detections.push_back(detection);
        }
        for (size_t k = 0; with_looks && k < detections.size(); ++k)
          detections[k].embedding = embeddings[k];
        tracker.update(static_cast<track::Time>(80e6 * static_cast<double>(i)),
                       {sequence.width, sequence.height}, detections);
        for (size_t k = 0; k < detections.size(); ++k) {
          const image::Corners& box = detections[k].box;
          if (const track::Track* track = tracker.track_of(k))
            tracks[i].push_back({static_cast<long>(track->id), {box.x0, box.y0, box.x1, box.y1}});
        }
      }
      of[with_looks].add(
          figures_of(sequence.truth, counted(sequence.truth, tracks, sequence.ignored)));
    }
  }
  std::printf(
      "street, 12.5 frames/s: HOTA %.1f, IDF1 %.1f, %ld switches without looks; %.1f, %.1f, "
      "%ld with\n",
      100 * of[0].hota(), 100 * of[0].idf1(), of[0].switches, 100 * of[1].hota(),
      100 * of[1].idf1(), of[1].switches);
  ck_assert_msg(of[1].idf1() >= of[0].idf1() && of[1].switches < of[0].switches, "%.3f, %.3f",
                of[0].idf1(), of[1].idf1());
}
END_TEST

// Recorded sequences are not ours to give away: without them this says so.
START_TEST(recorded_sequences_are_tracked_better_than_by_published_trackers) {
  const std::string folder = DVNN_TEST_DATA "/tracking/";
  const struct {
    const char* what;
    std::vector<const char*> names;
    double sure;
    double hota, idf1;  // at least, in percent
  } sets[] = {{"MOT15",
               {"mot15/ADL-Rundle-6", "mot15/ETH-Sunnyday", "mot15/KITTI-13", "mot15/PETS09-S2L1",
                "mot15/Venice-2"},
               0.5,
               40,
               53},
              {"MOT17",
               {"mot17/MOT17-02", "mot17/MOT17-05", "mot17/MOT17-10", "mot17/MOT17-13"},
               0.6,
               56,
               71.5},
              {"KITTI",
               {"kitti-car/KITTI-0001", "kitti-car/KITTI-0003", "kitti-car/KITTI-0005",
                "kitti-car/KITTI-0007", "kitti-car/KITTI-0009", "kitti-car/KITTI-0011",
                "kitti-car/KITTI-0013", "kitti-car/KITTI-0015", "kitti-car/KITTI-0019"},
               0.6,
               73.5,
               87}};
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
    ck_assert_msg(100 * ours.hota() >= set.hota && 100 * ours.idf1() >= set.idf1, "%s", set.what);
    for (int k = 1; k < kTrackers; ++k) {
      ck_assert_msg(ours.hota() > compared.of[k].hota() && ours.idf1() > compared.of[k].idf1() &&
                        ours.switches < compared.of[k].switches,
                    "%s: tracker %d is better", set.what, k);
    }
  }
}
END_TEST

DVNN_SUITE(track_scenes, scenes_rank_trackers_as_recordings_do_and_ours_leads,
           fewer_frames_and_fewer_looks_cost_little, looks_spare_switches,
           smoothed_boxes_are_nearer_to_the_truth,
           recorded_sequences_are_tracked_better_than_by_published_trackers)

}  // namespace dvnn::test::scenes_tests
