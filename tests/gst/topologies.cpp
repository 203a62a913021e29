// SPDX-License-Identifier: Apache-2.0
#include "topologies.h"

#include "watched_pipeline.h"

namespace dvnn::test {
namespace {

// What may stand at a place.
enum class Place { kPixels, kViews, kOutputs, kObjects, kTensors };

class Maker {
 public:
  Maker(guint64 seed, int frames) : random_(g_rand_new_with_seed(static_cast<guint32>(seed))) {
    // GRand's first numbers of neighbouring seeds are alike.
    for (int i = 0; i < 16; ++i) g_rand_int(random_);
    topology_.seed = seed;
    frames_ = frames;
  }
  ~Maker() { g_rand_free(random_); }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  Topology make() {
    if (chance(0.15)) {
      make_tensor_stream();
    } else {
      make_frames();
    }
    return topology_;
  }

 private:
  int below(int limit) { return g_rand_int_range(random_, 0, limit); }
  bool chance(double p) { return g_rand_double(random_) < p; }
  std::string number(int from, int to) { return std::to_string(from + below(to - from + 1)); }
  const char* one_of(const std::vector<const char*>& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }

  void make_frames() {
    topology_.networks = {Looks::kRed};
    // With settings of dvconvert, what is found is not what the pixels say: a linear pipeline says
    // it, and nothing may change pixels or times.
    settings_ = chance(0.35);
    const std::string view = settings_ ? (chance(0.5) ? regions() : settings()) : "";
    if (settings_) topology_.networks = {Looks::kUpperRed};
    const bool series = !settings_ && chance(0.25);
    std::string& launch = topology_.launch;
    launch = painted_source(frames_) + stages(Place::kPixels);
    launch += "dvconvert " + view + " ! " + stages(Place::kViews);
    launch += network(topology_.networks[0], !series) + " ! " + stages(Place::kOutputs);
    launch += "dvdecode ! " + stages(Place::kObjects);
    if (series) {
      topology_.networks.push_back(Looks::kBlue);
      if (chance(0.8)) launch += "dvconvert ! ";
      launch += stages(Place::kViews) + network(Looks::kBlue, false) + " ! " +
                stages(Place::kOutputs) + "dvdecode ! " + stages(Place::kObjects);
    } else if (chance(0.2)) {
      // videoconvert and others drop what is late.
      topology_.sends_qos = topology_.skips_frames = topology_.loses_frames = true;
    }
    if (chance(0.2)) launch += "dvoverlay name=overlay ! ";
    launch += "fakesink name=out async=false";
    if (settings_) {
      topology_.reference = painted_source(frames_) + "dvconvert " + view + " ! " +
                            infer(topology_.networks[0]) +
                            " ! dvdecode ! fakesink name=out async=false";
    }
  }

  void make_tensor_stream() {
    const std::string view = chance(0.5) ? settings() : "";
    topology_.networks = {Looks::kUpperRed};
    settings_ = true;
    const std::string head = painted_source(frames_);
    topology_.launch = head + stages(Place::kPixels) + "dvconvert " + view + " ! other/tensors ! " +
                       stages(Place::kTensors) + network(Looks::kUpperRed, false) +
                       " ! other/tensors ! " + stages(Place::kTensors) +
                       "fakesink name=out async=false";
    topology_.reference = head + "dvconvert " + view + " ! " + infer(Looks::kUpperRed) +
                          " ! other/tensors ! fakesink name=out async=false";
  }

  std::string settings() {
    return one_of({"roi=\"<0.5,0.0,0.5,1.0>\"", "video-direction=90r", "video-direction=180",
                   "roi=\"<0.0,0.25,0.5,0.5>\" video-direction=horiz",
                   "backend=cpu roi=\"<0.25,0.25,0.5,0.5>\""});
  }

  std::string regions() {
    return one_of(
        {"regions=list region-list=\"[[0.5,0,0.5,1]]\"",
         "regions=list region-list=\"[[0,0,0.5,0.5],[0.25,0.25,0.5,0.5],[0.5,0.5,0.5,0.5]]\"",
         "regions=list video-direction=90r region-list=\"[[0,0,1,0.5],[0,0.5,1,0.5]]\"",
         "regions=tiles tiles=2x2,1x1 overlap=0.5", "regions=tiles tiles=4x4",
         "regions=tiles tiles=3x1 roi=\"<0,0.25,1,0.5>\""});
  }

  std::string network(Looks looks, bool may_skip) {
    std::string properties;
    if (chance(0.5)) properties += "max-in-flight=" + number(1, 4) + " ";
    if (may_skip && chance(0.1)) {
      properties += "when-busy=pass ";
      topology_.skips_frames = true;
    }
    if (may_skip && chance(0.1)) {
      properties += "interval-frames=" + number(2, 4) + " ";
      topology_.skips_frames = true;
    }
    return infer(looks, properties);
  }

  // None to three stages, each with " ! " behind it.
  std::string stages(Place place) {
    std::string text;
    for (int n = below(4); n > 0; --n) text += stage(place) + " ! ";
    return text;
  }

  std::string stage(Place place) {
    const bool frames = place != Place::kTensors;
    const bool may_refuse = frames || told_;
    switch (below(14)) {
      case 0:
      case 1:
        return "queue";
      case 2:
        return "queue max-size-buffers=" + number(1, 4);
      case 3:
        return unlimited() + " min-threshold-buffers=" + number(2, 25);
      case 4:
        if (!chance(0.5)) return "queue";
        topology_.loses_frames = true;
        return "queue max-size-buffers=" + number(1, 4) +
               " leaky=" + one_of({"upstream", "downstream"});
      case 5:
      case 6:
        return may_refuse ? tee(place) : "queue ! identity";
      case 7:
        if (!frames || settings_) return "queue";
        topology_.changes_times = true;
        return std::string("videorate ! video/x-raw,framerate=") + one_of({"15/1", "60/1"});
      case 8:
        if (!frames || (settings_ && place == Place::kPixels)) return "queue";
        return std::string("videoconvert ! video/x-raw,format=") +
               one_of(settings_ ? std::vector<const char*>{"BGRx", "RGB", "RGBA"}
                                : std::vector<const char*>{"I420", "NV12", "BGRx", "RGB"});
      case 9:
        if (!frames || settings_) return "valve drop=false";
        topology_.scales = true;
        return std::string("videoscale ! video/x-raw,width=") + one_of({"64", "96", "160"}) +
               ",height=" + one_of({"64", "96", "128"});
      case 10:
        return "identity sleep-time=" + number(50, 500);
      case 11:
        if (!chance(0.3)) return may_refuse ? "identity drop-allocation=true" : "queue ! valve";
        topology_.loses_frames = true;
        return "identity drop-probability=0.2";
      case 12:
        if (chance(0.1)) {
          topology_.fails = true;
          return "identity error-after=" + number(2, 20);
        }
        if (chance(0.2)) {
          topology_.loses_frames = true;
          return "identity eos-after=" + number(2, 20);
        }
        return "multiqueue";
      default:
        return "input-selector";
    }
  }

  static std::string unlimited() {
    return "queue max-size-buffers=0 max-size-bytes=0 max-size-time=0";
  }

  std::string tee(Place place) {
    const std::string name = "t" + std::to_string(tees_++);
    std::string text = "tee name=" + name;
    for (int n = 1 + below(2); n > 0; --n) text += " " + name + ". ! " + branch(place);
    return text + " " + name + ". ! " + one_of({"queue", "queue max-size-buffers=2", "identity"});
  }

  std::string branch(Place place) {
    const bool unseen = place == Place::kPixels || place == Place::kViews;
    switch (below(unseen && !settings_ && !topology_.side_network ? 7 : 6)) {
      case 0:
        return "fakesink async=false";
      case 1:
        return "queue ! fakesink async=false";
      case 2:
        return "queue max-size-buffers=2 ! identity sleep-time=" + number(100, 1000) +
               " ! fakesink async=false";
      case 3:
        return unlimited() + " min-threshold-buffers=" + number(5, 40) + " ! fakesink async=false";
      case 4:
        return std::string("queue ! appsink async=false sync=false wait-on-eos=false ") +
               one_of({"", "max-buffers=10 drop=true"});
      case 5:
        return "queue ! valve drop=true drop-mode=forward-sticky-events ! fakesink async=false";
      default:
        topology_.side_network = true;
        return "queue ! " + infer(Looks::kBlue) +
               " ! dvdecode ! fakesink name=out_blue async=false";
    }
  }

  GRand* random_;
  Topology topology_;
  int frames_ = 0, tees_ = 0;
  bool settings_ = false, told_ = false;
};

}  // namespace

Topology make_topology(guint64 seed, int frames) {
  return Maker(seed, frames).make();
}

}  // namespace dvnn::test
