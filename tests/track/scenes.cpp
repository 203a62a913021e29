// SPDX-License-Identifier: Apache-2.0
#include "track/scenes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace dvnn::test {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Numbers from a seed, equal with every standard library, whose distributions may differ.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double uniform(double low, double high) { return low + (high - low) * engine_() / 4294967296.0; }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  double normal() {
    const double r = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
    return r * std::cos(2 * kPi * uniform(0, 1));
  }

 private:
  std::mt19937 engine_;
};

constexpr double kWidth = 1280, kHeight = 720, kFocal = 1000;  // pixels
constexpr double kNearest = 1.5;                               // metres from the camera
constexpr double kLeastVisible = 0.25;  // what shows less of itself neither counts nor is found
constexpr double kStep = 0.02;          // seconds in which ways are integrated

// A thing on the ground: X to the right, Z away from where the camera began.
struct Thing {
  double wide, high;         // metres
  std::vector<double> x, z;  // every kStep
};

struct Camera {
  double high;                               // metres above the ground
  std::vector<double> x, z, turned, nodded;  // every kStep; the last two in pixels
};

size_t index_of(double time) {
  return static_cast<size_t>(std::lround(time / kStep));
}

struct World {
  Scene scene;
  std::vector<Thing> things;
  Camera camera;

  // Where a thing's box is, wherever the frame ends; false where it is behind the camera.
  bool box_of(const Thing& thing, size_t i, Box* box, double* depth) const {
    *depth = thing.z[i] - camera.z[i];
    if (*depth < kNearest) return false;
    const double scale = kFocal / *depth;
    const double middle = kWidth / 2 + scale * (thing.x[i] - camera.x[i]) + camera.turned[i];
    const double foot = 0.4 * kHeight + scale * camera.high + camera.nodded[i];
    *box = {middle - scale * thing.wide / 2, foot - scale * thing.high,
            middle + scale * thing.wide / 2, foot};
    return true;
  }
};

// People stroll, stop, go on and turn; cars keep their lanes.
Thing walker(bool among, double end, Random* random) {
  const double high = random->uniform(1.5, 1.9);
  Thing thing{random->uniform(0.36, 0.44) * high, high, {}, {}};
  double z = among ? random->uniform(3, 40) : random->uniform(7, 22);
  double x = among ? random->uniform(-6, 6) : random->uniform(-16, 16);
  const double side = random->chance(0.5) ? 1 : -1;
  double pace = random->uniform(0.7, 1.5);
  double across = side * pace, along = among ? (random->chance(0.7) ? -1 : 1) * pace : 0;
  if (among) across *= random->uniform(0, 0.4);
  double until = 0, speed = 1;
  const double sway = random->uniform(0, 6), swaying = random->uniform(0.3, 0.8);
  for (double t = 0; t <= end; t += kStep) {
    if (t >= until) {
      until = t + random->uniform(1, 4);
      speed = random->chance(0.15) ? random->uniform(0, 0.2) : random->uniform(0.7, 1.2);
      if (random->chance(0.06)) across = -across;
    }
    x += speed * across * kStep;
    z += (speed * along + 0.25 * std::sin(swaying * t + sway)) * kStep;
    // Who has gone comes back as somebody else would: on the other side.
    if (!among && x * across > 0 && std::fabs(x) > 18) x = -x;
    thing.x.push_back(x);
    thing.z.push_back(z);
  }
  return thing;
}

Thing car(double end, Random* random) {
  Thing thing{random->uniform(1.7, 2.2), random->uniform(1.4, 1.8), {}, {}};
  const double kind = random->uniform(0, 1);
  double x = 0, z = 0, speed = 0;
  if (kind < 0.45) {  // parked
    x = (random->chance(0.5) ? 1 : -1) * random->uniform(5, 7.5);
    z = random->uniform(5, 400);
    thing.wide *= 1.4;
  } else if (kind < 0.8) {  // oncoming
    x = random->uniform(-3.6, -2.9);
    z = random->uniform(30, 800);
    speed = random->uniform(-15, -9);
  } else {  // ahead
    x = random->uniform(-0.3, 0.3);
    z = random->uniform(8, 60);
    speed = random->uniform(9, 14);
  }
  for (double t = 0; t <= end; t += kStep) {
    z += speed * kStep;
    thing.x.push_back(x);
    thing.z.push_back(z);
  }
  return thing;
}

World world_of(Scene scene, double seconds, Random* random) {
  World world;
  world.scene = scene;
  const double end = seconds + 1;
  const int count = scene == Scene::kStreet ? 14 : scene == Scene::kWalk ? 22 : 60;
  for (int i = 0; i < count; ++i)
    world.things.push_back(scene == Scene::kRoad ? car(end, random)
                                                 : walker(scene == Scene::kWalk, end, random));
  Camera& camera = world.camera;
  camera.high = scene == Scene::kStreet ? 3.5 : 1.6;
  const double pace = scene == Scene::kStreet ? 0 : scene == Scene::kWalk ? 0.7 : 11;
  double z = 0, turned = 0, turning = 0, stopped_until = -1;
  for (double t = 0; t <= end; t += kStep) {
    if (scene == Scene::kRoad && random->chance(0.05 * kStep)) stopped_until = t + 4;
    z += (t < stopped_until ? 0 : pace) * kStep;
    if (scene != Scene::kStreet) {
      const double most = scene == Scene::kWalk ? 160 : 120;  // pixels a second
      turning += -0.8 * turning * kStep + most * std::sqrt(kStep) * random->normal();
      turned += (turning - 0.3 * turned) * kStep;
    }
    const double bounce = scene == Scene::kWalk ? 7 * std::sin(2 * kPi * 1.9 * t) : 0;
    camera.x.push_back(0);
    camera.z.push_back(z);
    camera.turned.push_back(turned);
    camera.nodded.push_back(bounce);
  }
  return world;
}

Box shown_part(const Box& box) {
  return {std::max(0.0, box.x0), std::max(0.0, box.y0), std::min(kWidth, box.x1),
          std::min(kHeight, box.y1)};
}

// A share of a box in the frame that nothing nearer hides.
double visible_share(const Box& box, double depth, const std::vector<std::pair<double, Box>>& all) {
  constexpr int kPoints = 10;
  int seen = 0;
  for (int k = 0; k < kPoints * kPoints; ++k) {
    const double x = box.x0 + (box.x1 - box.x0) * (k % kPoints + 0.5) / kPoints;
    const double y = box.y0 + (box.y1 - box.y0) * (static_cast<int>(k / kPoints) + 0.5) / kPoints;
    if (x < 0 || x >= kWidth || y < 0 || y >= kHeight) continue;
    seen += std::none_of(all.begin(), all.end(), [&](const auto& other) {
      const Box& b = other.second;
      // A thing does not fill its box: people behind its rim are seen.
      const double rim = 0.12 * (b.x1 - b.x0);
      return other.first < depth && x >= b.x0 + rim && x < b.x1 - rim && y >= b.y0 && y < b.y1;
    });
  }
  return static_cast<double>(seen) / (kPoints * kPoints);
}

// What the detector is to a thing: it wavers slowly, and misses in runs.
struct Attention {
  double waver[4] = {}, doubt = 0;
  bool misses = false;
};

struct False {
  Box box;
  double confidence, until;
};

class Detector {
 public:
  Detector(Scene scene, double error, double interval, unsigned seed)
      : scene_(scene),
        error_(scene == Scene::kRoad ? error / 2 : error),
        interval_(interval),
        random_(seed) {}

  // Whether the thing is found, and how.
  bool look(const Box& there, double share, Attention* to, Seen* seen) {
    constexpr double kWaverSeconds = 0.4;
    const double kept = std::exp(-interval_ / kWaverSeconds), fresh = std::sqrt(1 - kept * kept);
    for (double& waver : to->waver) waver = kept * waver + fresh * random_.normal();
    to->doubt = kept * to->doubt + fresh * random_.normal();
    const double ends = 1 - std::exp(-interval_ / 0.25);
    // Cars are found more surely than people, and their boxes are nearer to them.
    const double rarely = scene_ == Scene::kRoad ? 0.1 : 1;
    const double begins = 1 - std::exp(-interval_ * rarely * (share > 0.6 ? 0.25 : 1.5));
    to->misses = random_.chance(to->misses ? 1 - ends : begins);
    if (share < kLeastVisible || to->misses || random_.chance(0.03 * rarely)) return false;
    const double size = std::sqrt(area_of(there));
    const auto off = [&](int i) {
      return error_ * size * (0.7 * to->waver[i] + 0.7 * random_.normal());
    };
    seen->box = {there.x0 + off(0), there.y0 + off(1), there.x1 + off(2), there.y1 + off(3)};
    // If a person is half hidden, the legs are.
    seen->box.y1 -= 0.5 * std::max(0.0, 0.7 - share) * (there.y1 - there.y0);
    seen->confidence =
        std::clamp(0.42 + 0.5 * share + 0.1 * to->doubt + 0.04 * random_.normal(), 0.05, 0.99);
    return seen->box.x1 > seen->box.x0 + 4 && seen->box.y1 > seen->box.y0 + 4;
  }

  // False boxes last for a while.
  const std::vector<False>& make_up(double time) {
    all_.erase(
        std::remove_if(all_.begin(), all_.end(), [&](const False& f) { return f.until < time; }),
        all_.end());
    const double rate = scene_ == Scene::kRoad ? 4 : 1;  // a second
    if (random_.chance(rate * interval_)) {
      const double high = random_.uniform(40, 250);
      const double wide = high * (scene_ == Scene::kRoad ? random_.uniform(0.8, 1.6) : 0.4);
      const double x = random_.uniform(0, kWidth - wide), y = random_.uniform(0, kHeight - high);
      all_.push_back({{x, y, x + wide, y + high},
                      random_.uniform(0.3, scene_ == Scene::kRoad ? 0.95 : 0.75),
                      time - 0.15 * std::log(1 - random_.uniform(0, 1))});
    }
    return all_;
  }
  bool blinks() { return random_.chance(0.3); }
  double tremble() { return random_.normal(); }

 private:
  Scene scene_;
  double error_, interval_;
  Random random_;
  std::vector<False> all_;
};

}  // namespace

Sampled sample(Scene scene, unsigned seed, double seconds, double fps, double error) {
  Random random(seed);
  const World world = world_of(scene, seconds, &random);
  Detector detector(scene, error, 1 / fps, seed + 1000);
  std::vector<Attention> attention(world.things.size());
  // People's boxes reach beyond the frame where the camera walks; cars' end there.
  const bool amodal = scene == Scene::kWalk;
  const auto frames = static_cast<size_t>(seconds * fps);
  Sampled result;
  Sequence& sequence = result.sequence;
  sequence.fps = fps, sequence.width = kWidth, sequence.height = kHeight;
  sequence.detections.resize(frames);
  sequence.truth.resize(frames);
  sequence.ignored.things.resize(frames);
  result.owners.resize(frames);
  for (size_t f = 0; f < frames; ++f) {
    const double time = static_cast<double>(f) / fps;
    const size_t i = index_of(time);
    std::vector<std::pair<double, Box>> all(world.things.size());
    std::vector<char> there(world.things.size());
    for (size_t k = 0; k < all.size(); ++k) {
      there[k] = world.box_of(world.things[k], i, &all[k].second, &all[k].first) &&
                 area_of(shown_part(all[k].second)) > 0 && all[k].second.y1 - all[k].second.y0 > 25;
      if (!there[k]) all[k] = {1e9, {}};
    }
    const auto add = [&](const Seen& seen, int owner) {
      sequence.detections[f].push_back(seen);
      result.owners[f].push_back(owner);
    };
    for (size_t k = 0; k < all.size(); ++k) {
      if (!there[k]) continue;
      const auto& [depth, whole] = all[k];
      const double share = visible_share(whole, depth, all);
      const Box box = amodal ? whole : shown_part(whole);
      const bool counts = share >= kLeastVisible;
      (counts ? sequence.truth : sequence.ignored.things)[f].push_back(
          {static_cast<long>(k + 1), box});
      Seen seen;
      if (!detector.look(box, share, &attention[k], &seen)) continue;
      if (!amodal) seen.box = shown_part(seen.box);
      if (area_of(seen.box) <= 0) continue;
      add(seen, counts ? static_cast<int>(sequence.truth[f].size() - 1) : -1);
    }
    for (const False& made : detector.make_up(time)) {
      if (detector.blinks()) continue;
      Seen seen{
          made.box, std::clamp(made.confidence + 0.05 * detector.tremble(), 0.1, 0.95), 0, {}};
      seen.box.x0 += 3 * detector.tremble(), seen.box.y1 += 3 * detector.tremble();
      if (seen.box.x1 > seen.box.x0 && seen.box.y1 > seen.box.y0) add(seen, -1);
    }
  }
  return result;
}

namespace {

constexpr size_t kLength = 32;

using Look = std::vector<double>;

// About as long as 1.
Look any_look(Random* random) {
  Look look(kLength);
  for (double& value : look) value = random->normal() / std::sqrt(kLength);
  return look;
}

void add(const Look& other, double share, Look* look) {
  for (size_t i = 0; i < kLength; ++i) (*look)[i] += share * other[i];
}

// The thing that hides most of another one, and how much; -1 if none does.
int hider_of(const std::vector<NamedBox>& things, size_t hidden, double* share) {
  const Box& box = things[hidden].box;
  int hider = -1;
  *share = 0;
  for (size_t i = 0; i < things.size(); ++i) {
    const Box& other = things[i].box;
    const double width = std::min(box.x1, other.x1) - std::max(box.x0, other.x0);
    const double height = std::min(box.y1, other.y1) - std::max(box.y0, other.y0);
    if (other.y1 <= box.y1 || width <= 0 || height <= 0) continue;
    const double covered = width * height / area_of(box);
    if (covered <= *share) continue;
    *share = covered;
    hider = static_cast<int>(i);
  }
  return hider;
}

}  // namespace

void give_looks(const Describer& describer, unsigned seed, Sampled* sampled) {
  Random random(seed);
  const Look common = any_look(&random);
  std::map<long, Look> own;
  const auto own_of = [&](long id) -> const Look& {
    Look& look = own[id];
    if (look.empty()) look = any_look(&random);
    return look;
  };
  Sequence& sequence = sampled->sequence;
  for (size_t f = 0; f < sequence.detections.size(); ++f) {
    const std::vector<NamedBox>& things = sequence.truth[f];
    for (size_t k = 0; k < sequence.detections[f].size(); ++k) {
      Seen& seen = sequence.detections[f][k];
      const int owner = sampled->owners[f][k];
      Look look(kLength);
      add(common, describer.common, &look);
      add(any_look(&random), describer.noise, &look);
      long id = 0;
      if (owner >= 0) {
        id = things[static_cast<size_t>(owner)].id;
        double share = 0;
        const int hider = hider_of(things, static_cast<size_t>(owner), &share);
        add(own_of(id), 1 - share, &look);
        if (hider >= 0) add(own_of(things[static_cast<size_t>(hider)].id), share, &look);
      } else {
        add(any_look(&random), 1, &look);
      }
      const bool flips = random.chance(describer.flips);
      seen.class_id = describer.flips > 0 ? 1 + static_cast<int>((id + flips) % 2) : 0;
      if (random.chance(describer.described)) seen.look.assign(look.begin(), look.end());
    }
  }
}

}  // namespace dvnn::test
