// SPDX-License-Identifier: Apache-2.0
// Networks that are C++ sources, in a program and as libraries.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/json.h"
#include "check_suite.h"
#include "layers/named_layer.h"
#include "network/generated_network.h"
#include "network/model_decoder.h"
#include "network/network.h"
#include "small_network.h"

namespace dvnn::test::generated_tests {

DVNN_SUITE(generated);

using network::Network;

namespace {

constexpr int kW = 4, kH = 3;

// Values that binary16 and all sums of the network hold exactly.
float pixel(int x, int y, int c) {
  return static_cast<float>(x - 2 * y + 5 * c) / 4;
}
float three_weight(int m, int c) {
  return static_cast<float>(m + 1 + 2 * c) / 2;
}
float five_weight(int m, int c) {
  return static_cast<float>(m - 3 * c) / 2;
}

float convolved(float (*weight)(int, int), int x, int y, int m) {
  return weight(m, 0) * pixel(x, y, 0) + weight(m, 1) * pixel(x, y, 1) + static_cast<float>(m);
}

float joined(int x, int y, int c) {
  return c < 3 ? convolved(three_weight, x, y, c) : convolved(five_weight, x, y, c - 3);
}

std::vector<uint8_t> packed(int m, float (*weight)(int, int)) {
  std::vector<half_t> weights, bias;
  for (int k = 0; k < m; ++k) {
    for (int c = 0; c < 2; ++c) weights.push_back(float_to_half(weight(k, c)));
    bias.push_back(float_to_half(static_cast<float>(k)));
  }
  PackedGeometry geometry;
  geometry.m = m;
  geometry.c = 2;
  geometry.kx = geometry.ky = 1;
  std::vector<uint8_t> stream(packed_weights_size(geometry));
  pack_weights(geometry, {nullptr, weights.data(), bias.data(), nullptr}, stream.data());
  return stream;
}

std::vector<uint8_t> small_weights() {
  std::vector<uint8_t> bytes = packed(3, three_weight);
  const std::vector<uint8_t> five = packed(5, five_weight);
  bytes.insert(bytes.end(), five.begin(), five.end());
  ck_assert_uint_eq(bytes.size(), 1184);
  std::vector<half_t> fc(104, 0);  // 96 weights of 1/8, a bias of 1, padding
  std::fill(fc.begin(), fc.begin() + 96, float_to_half(0.125f));
  fc[96] = float_to_half(1);
  const auto* first = reinterpret_cast<const uint8_t*>(fc.data());
  bytes.insert(bytes.end(), first, first + fc.size() * sizeof(half_t));
  return bytes;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<uint8_t>& bytes) {
    static int number = 0;
    path_ = "/tmp/dvnn-test-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The device's order for up to 8 channels: x, y, channel.
void fill_input(uint8_t* to) {
  auto* values = reinterpret_cast<half_t*>(to);
  for (int x = 0; x < kW; ++x) {
    for (int y = 0; y < kH; ++y) {
      for (int c = 0; c < 2; ++c) *values++ = float_to_half(pixel(x, y, c));
    }
  }
}

void check_small_outputs(const std::vector<float>& five, const std::vector<float>& softmax) {
  ck_assert_uint_eq(five.size(), kW * kH * 5);
  ck_assert_uint_eq(softmax.size(), kW * kH * 8);
  for (int x = 0; x < kW; ++x) {
    for (int y = 0; y < kH; ++y) {
      for (int m = 0; m < 5; ++m) {
        const float want = convolved(five_weight, x, y, m);
        ck_assert_float_eq(five[static_cast<size_t>((x * kH + y) * 5 + m)], want);
      }
      float sum = 0;
      for (int c = 0; c < 8; ++c) sum += std::exp(2 * joined(x, y, c));
      for (int c = 0; c < 8; ++c) {
        const float have = softmax[static_cast<size_t>((y * kW + x) * 8 + c)];
        ck_assert_float_eq_tol(have, std::exp(2 * joined(x, y, c)) / sum, 1e-5f);
      }
    }
  }
}

std::string failure(const network::NetworkSource& source) {
  auto network = Network::load(source, "soft");
  ck_assert_msg(!network.ok(), "'%s' was loaded", source.path.c_str());
  return network.error().message;
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

static int callbacks = 0;

static void double_values(fpga_layer& layer, void* custom_param) {
  ++callbacks;
  std::vector<float> values;
  get_layer_input(layer, values);
  ck_assert_uint_eq(values.size(), kW * kH * 8);
  ck_assert_float_eq(values[(2 * kW + 3) * 8 + 6], joined(3, 2, 6));  // H, W, C
  for (float& v : values) v *= static_cast<custom_param_Double*>(custom_param)->factor;
  put_layer_output(layer, values, true);
}

DVNN_TEST(a_program_runs_its_network) {
  const TemporaryFile weights(small_weights());
  CSmall network;
  network.WantLayerOutputs();
  ck_assert(network.Initialize());
  ck_assert(network.LoadWeights(weights.path()));
  ck_assert(network.Commit());
  fill_input(static_cast<uint8_t*>(network.get_network_input_addr_cpu()));
  ck_assert(network.RunNetwork());
  ck_assert_int_eq(callbacks, 1);
  ck_assert_int_eq(network.get_output_layer_count(), 2);
  std::vector<float> five, softmax;
  network.get_final_output(five, 0);
  network.get_final_output(softmax, 1);
  check_small_outputs(five, softmax);

  // Every layer's own result was kept.
  const fpga_layer& flat = network.get_layer(4);
  ck_assert_uint_eq(flat.output.size(), 96);
  float total = 1;
  for (int y = 0; y < kH; ++y) {
    for (int x = 0; x < kW; ++x) {
      for (int c = 0; c < 8; ++c) {
        const float want = 2 * joined(x, y, c);
        ck_assert_float_eq(
            static_cast<float>(flat.output[static_cast<size_t>((y * kW + x) * 8 + c)]), want);
        total += want / 8;
      }
    }
  }
  ck_assert_float_eq(static_cast<float>(network.get_layer(5).output[0]), total);
}

DVNN_TEST(calls_in_the_wrong_order_are_refused) {
  const TemporaryFile weights(small_weights()), wrong(std::vector<uint8_t>(1391));
  CSmall network;
  std::vector<float> output = {1};
  network.get_final_output(output, 0);
  ck_assert(output.empty());
  ck_assert(!network.RunNetwork());
  ck_assert(!network.Commit());
  ck_assert(!network.LoadWeights(weights.path()));
  ck_assert(network.Initialize());
  ck_assert(!network.Initialize());
  ck_assert(!network.LoadWeights("/nowhere"));
  ck_assert(!network.LoadWeights(wrong.path()));
  ck_assert(!network.RunNetwork());
  ck_assert(network.LoadWeights(weights.path()));
  ck_assert(network.Commit());
  ck_assert(!network.Commit());
  network.get_layer(-1).name = "nobody";
  network.get_layer(99).name = "nobody";
  fill_input(static_cast<uint8_t*>(network.get_network_input_addr_cpu()));
  ck_assert(network.RunNetwork());
}

// A program is told on standard error.
DVNN_TEST(layers_beyond_the_memory_are_refused_with_their_bytes) {
  const TemporaryFile weights(small_weights());
  const struct {
    int layer;
    size_t fpga_layer::*offset;
    size_t at;
    const char* said;
  } cases[] = {
      {6, &fpga_layer::output_offs, 1000,
       "6 'probabilities': its output takes bytes 1000 to 1384 "},
      {6, &fpga_layer::input_offs, 1264, "6 'probabilities': its input takes bytes 1264 to 1456 "},
      {4, &fpga_layer::output_offs, 1074, "4 'flat': its output takes bytes 1074 to 1266 "}};
  for (const auto& c : cases) {
    CSmall network;
    ck_assert(network.Initialize());
    ck_assert(network.LoadWeights(weights.path()));
    network.get_layer(c.layer).*c.offset = c.at;
    const TemporaryFile told({});
    const int console = dup(STDERR_FILENO);
    ck_assert_ptr_nonnull(std::freopen(told.path().c_str(), "w", stderr));
    const bool committed = network.Commit();
    std::fflush(stderr);
    dup2(console, STDERR_FILENO);
    close(console);
    ck_assert(!committed);
    std::string line;
    std::getline(std::ifstream(told.path()), line);
    const std::string wanted = std::string("layer ") + c.said + "of an I/O buffer of 1264";
    ck_assert_msg(has(line, wanted.c_str()), "'%s' has no '%s'", line.c_str(), wanted.c_str());
  }
}

DVNN_TEST(a_library_runs_as_a_network_with_many_slots) {
  const TemporaryFile weights(small_weights());
  // Twice: the library stays loaded, and its static lists point into the first instance.
  for (int round = 0; round < 2; ++round) {
    auto network = Network::load({SMALL_MODULE, weights.path()}, "soft");
    ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
    ck_assert(network.value()->input_desc().shape == (Shape{1, 2, kH, kW}));
    auto first = network.value()->create_slot();
    ck_assert(first.ok());
    first.value().reset();
    for (int i = 0; i < 3; ++i) {
      auto slot = network.value()->create_slot();
      ck_assert(slot.ok());
      fill_input(slot.value()->input().data());
      network::RunTimes times;
      ck_assert(slot.value()->run(&times).ok());
      const ConstTensorView five = slot.value()->output(0), softmax = slot.value()->output(1);
      ck_assert(five.desc.layout == Layout::kWhc8);
      ck_assert(softmax.desc.layout == Layout::kNhwc && softmax.desc.type == ElementType::kFloat32);
      std::vector<float> values(static_cast<size_t>(five.desc.shape.elements()));
      half_to_float(reinterpret_cast<const half_t*>(five.data), values.data(), values.size());
      const auto* probabilities = reinterpret_cast<const float*>(softmax.data);
      check_small_outputs(values, {probabilities, probabilities + 96});
    }
  }
}

DVNN_TEST(layers_of_a_library_are_listed) {
  const TemporaryFile weights(small_weights());
  const auto network = Network::load({SMALL_MODULE, weights.path()}, "soft");
  ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
  const auto& layers = dvnn::network::generated_layers(*network.value());
  ck_assert_uint_eq(layers.size(), 7);
  ck_assert_str_eq(layers[0].name.c_str(), "three");
  ck_assert(layers[0].on_device);
  ck_assert_str_eq(layers[0].input.c_str(), "4x3x2");
  ck_assert_str_eq(layers[0].output.c_str(), "4x3x3");
  ck_assert_int_eq(static_cast<int>(std::count_if(layers.begin(), layers.end(),
                                                  [](const auto& l) { return l.on_device; })),
                   3);
}

DVNN_TEST(libraries_that_do_not_fit_are_named) {
  const TemporaryFile weights(small_weights()), wrong(std::vector<uint8_t>(7));
  ck_assert(has(failure({SMALL_MODULE, ""}), "weights"));
  ck_assert(has(failure({SMALL_MODULE, "/nowhere.bin"}), "/nowhere.bin"));
  const std::string size = failure({SMALL_MODULE, wrong.path()});
  ck_assert(has(size, wrong.path().c_str()) && has(size, "7 bytes") && has(size, "1392"));
  ck_assert(has(failure({NO_NETWORK, weights.path()}), "DVNN_NETWORK"));
  ck_assert(has(failure({"/nowhere.so", weights.path()}), "/nowhere.so"));
  // A library that is no network is told so first, and not asked for weights.
  ck_assert(has(failure({NO_NETWORK, ""}), "DVNN_NETWORK"));
}

// The vendor's programs get these with dmp_network.h.
DVNN_TEST(the_vendors_clocks_measure_time) {
  constexpr int kPause = 20000;  // microseconds
  const double begin = get_clock_sec();
  TimeInterval real;
  TimeIntervalThread own;
  usleep(kPause);
  ck_assert_int_ge(real.get_us(), kPause);
  ck_assert_double_ge(real.get_ms(), kPause / 1e3);
  ck_assert_double_ge(get_clock_sec() - begin, kPause / 1e6);
  ck_assert_int_lt(own.get_us(), kPause);  // a sleeping thread uses no processor time
  const double around = get_clock_sec();
  real.reset();
  const auto since = real.get_us();
  ck_assert_double_le(1e-6 * static_cast<double>(since), get_clock_sec() - around + 1e-6);
  long most = 0;
  double user = -1, system = -1;
  ck_assert_int_eq(get_exec_stats(&most, &user, &system), 0);
  ck_assert(most > 0 && user >= 0 && system >= 0);
}

// Source: dv-sdk wiki, "Runtime custom layer implementation"; formats.md, "PriorBox".
DVNN_TEST(the_published_prior_box_gives_its_example) {
  const TemporaryFile weights(std::vector<uint8_t>(448));
  auto network = Network::load({PRIOR_MODULE, weights.path()}, "soft");
  ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
  ck_assert_str_eq(network.value()->model().name.c_str(), "priors");
  ck_assert_uint_eq(network.value()->model().labels.size(), 2);
  ck_assert(network.value()->input_desc().layout == Layout::kHwc8);
  auto slot = network.value()->create_slot();
  ck_assert(slot.ok() && slot.value()->run().ok());
  const ConstTensorView priors = slot.value()->output(1);
  ck_assert(priors.desc.shape == (Shape{8664, 8}));

  // The built-in layer, from the page's parameters.
  const Json params = {{"img_size", {300, 300}},
                       {"min_size", 10},
                       {"max_size", 30},
                       {"aspect_ratios", {1.0, 1.0, 2.0, 0.5, 3.0, 1.0 / 3}},
                       {"variances", {0.1, 0.1, 0.2, 0.2}},
                       {"clip", true}};
  const TensorDesc grid = {ElementType::kFloat32, Layout::kNchw, {1, 256, 38, 38}};
  const TensorDesc boxes = {ElementType::kFloat32, Layout::kNchw, {1, 8664, 8}};
  auto layer = test::create_layer("PriorBox", params, {&grid, 1}, {&boxes, 1});
  ck_assert_msg(layer.ok(), "%s", layer.ok() ? "" : layer.error().message.c_str());
  std::vector<float> map(static_cast<size_t>(grid.shape.elements())), made(8664 * 8);
  const ConstTensorView in = {grid, reinterpret_cast<const uint8_t*>(map.data())};
  const TensorView out = {boxes, reinterpret_cast<uint8_t*>(made.data())};
  ck_assert(layer.value()->run({&in, 1}, {&out, 1}).ok());
  const auto* page = reinterpret_cast<const float*>(priors.data);
  for (size_t i = 0; i < made.size(); ++i) ck_assert_float_eq_tol(made[i], page[i], 1e-6f);
  // The first cell's square: its centre at 300 / 38 / 2 pixels, 5 pixels to each side, clipped.
  const float want[] = {0,    0,   1.0f / 76 + 5.0f / 300, 1.0f / 76 + 5.0f / 300, 0.1f, 0.1f,
                        0.2f, 0.2f};
  for (size_t i = 0; i < 8; ++i) ck_assert_float_eq_tol(made[i], want[i], 1e-6f);
}

// The first channel of the lane network is the lane's surface: with the vendor's weights, as its
// converter packed them, it must find a drawn road.
DVNN_TEST(real_weights_of_the_vendors_network_run) {
  const std::string weights = std::string(DVNN_TEST_DATA) + "/models/LaneDetection_weights.bin";
  if (access(weights.c_str(), R_OK) != 0) {
    std::printf("skipped: no reference data in '%s'\n", DVNN_TEST_DATA);
    return;
  }
  auto network = Network::load({LANE_MODULE, weights}, "soft");
  ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
  auto slot = network.value()->create_slot();
  ck_assert(slot.ok());
  // A night: black above, a grey road below that narrows towards the horizon.
  const Span<uint8_t> input = slot.value()->input();
  const Shape shape = network.value()->input_desc().shape;
  std::vector<float> picture(static_cast<size_t>(shape.elements()), 0.05f);
  auto on_road = [](int x, int y) { return y > 110 && std::abs(x - 192) < (y - 105) * 0.7f; };
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 256; ++y) {
      for (int x = 0; x < 384; ++x) {
        if (on_road(x, y)) picture[static_cast<size_t>((c * 256 + y) * 384 + x)] = 0.25f;
      }
    }
  }
  write_nchw(picture.data(), {network.value()->input_desc(), input.data()});
  ck_assert(slot.value()->run().ok());
  const ConstTensorView out = slot.value()->output(0);
  ck_assert(out.desc.shape == (Shape{1, 2, 256, 384}));
  std::vector<float> lanes(static_cast<size_t>(out.desc.shape.elements()));
  read_nchw(out, lanes.data());
  double inside = 0, sky = 0;
  int inside_count = 0, sky_count = 0;
  for (int y = 0; y < 250; ++y) {
    for (int x = 0; x < 384; ++x) {
      const float v = lanes[static_cast<size_t>(y * 384 + x)];
      ck_assert(v >= 0 && v < 2);  // the last layer is a ReLU
      if (y > 160 && std::abs(x - 192) < (y - 105) * 0.4f) inside += v, ++inside_count;
      if (y < 90) sky += v, ++sky_count;
    }
  }
  inside /= inside_count;
  sky /= sky_count;
  std::printf("lane surface: %.3f on the road, %.3f in the sky\n", inside, sky);
  ck_assert(inside > 0.5 && sky < 0.05);
  // The decoder that the sources' description names makes a map of it.
  auto decoder = create_decoder(network.value()->model());
  ck_assert_msg(decoder.ok() && decoder.value(), "%s",
                decoder.ok() ? "none" : decoder.error().message.c_str());
  objects::Objects found;
  ck_assert(decoder.value()->decode({&out, 1}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
  ck_assert(found[0].mask.width == 384 && found[0].mask.height == 256);
  for (size_t i = 0; i < found[0].mask.cells.size(); ++i) {
    ck_assert_int_eq(found[0].mask.cells[i], lanes[i] >= 0.5f ? 1 : 0);
  }
}

}  // namespace dvnn::test::generated_tests

// The program's own; the library has another.
void custom_callback_Double(fpga_layer& layer, void* custom_param) {
  dvnn::test::generated_tests::double_values(layer, custom_param);
}
