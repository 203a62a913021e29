// SPDX-License-Identifier: Apache-2.0
// Network files made to break the reader, the planner or the machine: each is refused in one line
// that says why, or handled within seconds.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "base/json.h"
#include "check_suite.h"
#include "grid_network.h"
#include "json_at.h"
#include "network/dvn_file.h"
#include "network/network.h"
#include "network_file.h"
#include "plan/replan.h"
#include "seconds_of.h"

namespace dvnn::test::hostile_networks_tests {

DVNN_SUITE(hostile_networks);

using network::Model;
using network::Network;
using network::NetworkSource;
using json = dvnn::Json;

namespace {

bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

template <typename T>
void expect_refusal(const Result<T>& result, const std::string& word) {
  ck_assert_msg(!result.ok(), "accepted; expected a message with '%s'", word.c_str());
  const std::string& text = result.error().message;
  ck_assert_msg(has(text, word), "'%s' is not in: %s", word.c_str(), text.c_str());
  ck_assert_msg(!has(text, "\n") && text.size() < 4096, "more than a line: %s", text.c_str());
}

Result<Model> planned(const json& description, const std::string& weights = "") {
  const NetworkFile file(description, weights);
  auto model = network::read_dvn(file.path);
  if (!model.ok()) return model;
  return plan::replan(model.value(), 16, 16);
}

Status valid(const json& description) {
  const NetworkFile file(description);
  const auto model = network::read_dvn(file.path);
  if (!model.ok()) return model.error();
  return {};
}

json convolution(int kernel) {
  return {{"kind", "conv"},     {"kernel", {kernel, kernel}}, {"stride", {1, 1}},
          {"dilation", {1, 1}}, {"pad", {0, 0, 0, 0}},        {"weight_format", "float16"},
          {"weight_offset", 0}};
}

json window(const char* kind, int size) {
  return {{"kind", kind}, {"size", {size, size}}, {"stride", {1, 1}}, {"pad", {0, 0, 0, 0}}};
}

const json kRelu = {{"m", 3}, {"activation", {{"kind", "relu"}, {"param", 0}}}};

// A tensor of row-major floats or bytes in the I/O buffer.
json tensor(const char* name, const char* type, const std::vector<int>& shape, uint64_t offset) {
  return {{"name", name},   {"type", type},    {"layout", "nchw"},
          {"shape", shape}, {"storage", "io"}, {"offset", offset}};
}

json cpu_step(const char* type, const json& params, int input, int output) {
  return {{"name", type},
          {"layers", json::array()},
          {"inputs", {input}},
          {"outputs", {output}},
          {"cpu", {{"type", type}, {"params", params}}}};
}

}  // namespace

DVNN_TEST(a_node_does_what_its_operation_says_and_no_more) {
  const json pools = {{"m", 3}, {"pool", window("max", 2)}};
  const struct {
    const char* op;
    json run;
  } lies[] = {
      {"pooling", {{"m", 3}, {"conv", convolution(100)}, {"pool", window("max", 2)}}},
      {"pooling", {{"m", 3}, {"conv", convolution(3)}}},
      {"pooling", kRelu},
      {"pooling", {{"m", 3}}},
      {"activation", {{"m", 3}, {"conv", convolution(100)}}},
      {"activation", pools},
      {"activation", {{"m", 3}}},
      {"conv", pools},
      {"conv", kRelu},
      {"conv", {{"m", 3}, {"conv", convolution(3)}, {"pool", window("max", 2)}}},
      {"fully_connected", {{"m", 3}, {"conv", convolution(1)}}},
  };
  for (const auto& lie : lies) {
    expect_refusal(planned(network_of_nodes(1,
                                            [&](size_t) -> json {
                                              return {{"op", lie.op}, {"run", lie.run}};
                                            })),
                   "field 'run'");
  }
}

DVNN_TEST(kernels_that_the_packer_has_no_room_for_are_refused) {
  for (int kernel : {8, 100, 255}) {
    auto description = network_of_nodes(1, [&](size_t) -> json {
      return {{"op", "conv"}, {"run", {{"m", 3}, {"conv", convolution(kernel)}}}};
    });
    description["graph"]["nodes"][0]["weights"] = {{"offset", 0}};
    expect_refusal(planned(description, std::string(65536, '\x11')), "kernel");
  }
}

DVNN_TEST(nodes_have_as_many_inputs_as_their_operation) {
  auto description = network_of_nodes(1, [](size_t) -> json {
    return {{"op", "activation"}, {"run", kRelu}};
  });
  json& inputs = description["graph"]["nodes"][0]["inputs"];
  for (const json& list : {json::array(), json({0, 0})}) {
    inputs = list;
    expect_refusal(planned(description), "inputs");
  }
}

DVNN_TEST(deep_nesting_is_refused_wherever_it_stands) {
  constexpr size_t kDeep = 200000;
  const std::string deep = std::string(kDeep, '[') + std::string(kDeep, ']');
  const std::string mark = "\"MARK\"";
  auto refused = [&](json description, const char* pointer) {
    *json_at(&description, pointer) = "MARK";
    std::string text = json_text(description);
    text.replace(text.find(mark), mark.size(), deep);
    const NetworkFile file(text);
    expect_refusal(network::read_dvn(file.path), "nested deeper than 64 levels");
  };
  json description = network_of_nodes(1, [](size_t) -> json {
    return {{"op", "activation"}, {"run", kRelu}};
  });
  description["decoder"] = {{"name", "ssd"}, {"params", json::object()}};
  description["tensors"].push_back(tensor("x", "float32", {1, 16}, 0));
  description["steps"] = {cpu_step("Softmax", {{"axis", 1}}, 1, 1)};
  for (const char* pointer : {"/decoder/params", "/steps/0/cpu/params", "/graph", "/io_bytes",
                              "/tensors/0/offset", "/graph/nodes/0/params", "/labels"}) {
    refused(description, pointer);
  }
  // A bracket inside a string opens no list.
  description["labels"] = {deep};
  expect_refusal(valid(description), "label 0");
}

DVNN_TEST(a_network_costs_no_more_than_its_budgets) {
  // I/O
  json description = idle_network();
  description["io_bytes"] = uint64_t{1} << 30;
  expect_refusal(valid(description),
                 "the I/O buffer of a frame: 1024 MiB, the limit is 512 MiB (DVNN_MAX_IO_BYTES");
  setenv("DVNN_MAX_IO_BYTES", "1200000000", 1);
  ck_assert(valid(description).ok());
  unsetenv("DVNN_MAX_IO_BYTES");
  // Limits that are exceeded together are reported together
  description["constant_bytes"] = uint64_t{1} << 30;
  expect_refusal(valid(description), "DVNN_MAX_IO_BYTES");
  expect_refusal(valid(description), "DVNN_MAX_CONSTANT_BYTES");
  // Constants
  description = idle_network();
  description["constant_bytes"] = uint64_t{1} << 29;
  expect_refusal(valid(description), "DVNN_MAX_CONSTANT_BYTES");
  // Scratch: bytes that become floats
  description = idle_network();
  description["io_bytes"] = 1536 + (1 << 28) - 4096;
  description["tensors"].push_back(tensor("x", "uint8", {1, 2, (1 << 27) - 4096}, 1536));
  description["steps"] = {cpu_step("Softmax", {{"axis", 1}}, 1, 1)};
  expect_refusal(valid(description), "DVNN_MAX_SCRATCH_BYTES");
  // The work of the CPU: a window as large as the picture at every pixel
  description = idle_network();
  description["io_bytes"] = 1536 + 2 * 4 * (1 << 20);
  description["tensors"].push_back(tensor("x", "float32", {1, 1, 1024, 1024}, 1536));
  description["tensors"].push_back(
      tensor("y", "float32", {1, 1, 1024, 1024}, 1536 + 4 * (1 << 20)));
  description["steps"] = {cpu_step(
      "Pooling",
      {{"method", "max"}, {"kernel_w", 2047}, {"kernel_h", 2047}, {"pad_w", 1023}, {"pad_h", 1023}},
      1, 2)};
  expect_refusal(valid(description), "DVNN_MAX_CPU_WORK");
  // Numbers that would wrap
  description["steps"][0]["cpu"]["params"]["kernel_w"] = INT64_MAX;
  description["steps"][0]["cpu"]["params"]["kernel_h"] = UINT64_MAX;
  (void)valid(description).ok();
  // Candidates of suppression
  description = idle_network();
  constexpr int kPriors = 1 << 16, kClasses = 8;
  description["tensors"].push_back(tensor("loc", "float32", {1, kPriors * 4}, 1536));
  description["tensors"].push_back(tensor("conf", "float32", {1, kPriors * kClasses}, 1536));
  description["tensors"].push_back(tensor("priors", "float32", {1, 2, kPriors * 4}, 1536));
  description["tensors"].push_back(tensor("found", "float32", {1, 1, 200, 7}, 1 << 23));
  description["io_bytes"] = 1 << 24;
  json step = cpu_step("DetectionOutput", {{"num_classes", kClasses}}, 1, 4);
  step["inputs"] = {1, 2, 3};
  description["steps"] = {step};
  expect_refusal(valid(description), "DVNN_MAX_CANDIDATES");
  description["steps"][0]["cpu"]["params"]["nms_top_k"] = 400;
  const Status bounded = valid(description);
  ck_assert_msg(bounded.ok(), "%s", bounded.ok() ? "" : bounded.error().message.c_str());
}

DVNN_TEST(multiply_adds_of_the_device_are_bounded) {
  Model model = grid_network();
  // One command many times: 65,536 commands are allowed, but not their total cost.
  const network::Step step = model.steps[0];
  const uint64_t work = network::step_work(model, step);
  ck_assert_uint_gt(work, 0);
  setenv("DVNN_MAX_DEVICE_MACS", std::to_string(work * 3).c_str(), 1);
  ck_assert(network::validate(model).ok());
  model.steps.insert(model.steps.begin(), step);
  model.steps.insert(model.steps.begin(), step);
  expect_refusal(network::validate(model), "DVNN_MAX_DEVICE_MACS");
  unsetenv("DVNN_MAX_DEVICE_MACS");
}

DVNN_TEST(a_graph_has_no_more_nodes_than_its_budget) {
  auto relu = [](size_t) -> json { return {{"op", "activation"}, {"run", kRelu}}; };
  setenv("DVNN_MAX_GRAPH_NODES", "3", 1);
  ck_assert(planned(network_of_nodes(3, relu)).ok());
  expect_refusal(planned(network_of_nodes(4, relu)), "DVNN_MAX_GRAPH_NODES");
  unsetenv("DVNN_MAX_GRAPH_NODES");
}

DVNN_TEST(partial_overlaps_are_refused) {
  json description = idle_network();
  description["io_bytes"] = 4096;
  description["tensors"].push_back(tensor("x", "float32", {1, 64}, 1536));
  description["tensors"].push_back(tensor("y", "float32", {1, 64}, 1540));
  description["steps"] = {cpu_step("Softmax", {{"axis", 1}}, 1, 2)};
  expect_refusal(valid(description), "overlaps input 'x'");
  description["tensors"][2]["offset"] = 1536;  // the very same: in place
  ck_assert(valid(description).ok());
  description["tensors"][2]["offset"] = 1536 + 256;
  ck_assert(valid(description).ok());
  Model model = grid_network();  // a command's output in the middle of its input
  model.tensors[1].offset = 16;
  expect_refusal(network::validate(model), "overlaps input");
}

DVNN_TEST(names_are_printable_and_short) {
  for (const std::string& name : {std::string("a\nb"), std::string("\x1b[2J"),
                                  std::string("\xc2\x9b"
                                              "2J"),
                                  std::string("\xe2\x80\xae"), std::string(2000, 'n')}) {
    for (const char* pointer :
         {"/name", "/producer", "/source", "/tensors/0/name", "/outputs/0/name", "/decoder/name",
          "/steps/0/name", "/steps/0/layers/0", "/steps/0/cpu/type"}) {
      json description = idle_network();
      description["decoder"] = {{"name", ""}};
      description["tensors"].push_back(tensor("x", "float32", {1, 16}, 0));
      description["steps"] = {cpu_step("Softmax", {{"axis", 1}}, 1, 1)};
      *json_at(&description, pointer) = name;
      const NetworkFile file(description);
      expect_refusal(network::read_dvn(file.path), name.size() > 1024 ? "limit" : "printable");
    }
  }
}

DVNN_TEST(planning_takes_a_time_that_follows_the_graph) {
  const auto many = static_cast<size_t>(std::max(15000, dvnn_rounds(60000)));
  constexpr double kSeconds = 100;  // under sanitizers and beside other tests; hours before
  const json relu = {{"op", "activation"}, {"run", kRelu}};
  const json softmax = {{"op", "cpu"}, {"type", "Softmax"}, {"params", {{"axis", 1}}}};
  const json reshape = {{"op", "reshape"}, {"params", {{"dims", {0, 0, 0, 0}}}}};
  const std::vector<std::vector<json>> chains = {{relu}, {softmax}, {reshape}, {relu, softmax}};
  for (const auto& chain : chains) {
    const json description =
        network_of_nodes(many, [&](size_t i) { return chain[i % chain.size()]; });
    const double spent = seconds_of([&] {
      const auto model = planned(description);
      ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
    });
    ck_assert_msg(spent < kSeconds, "%.1f s for a chain that begins with %s", spent,
                  json_text(chain[0]["op"]).c_str());
  }
  // Poolings that each become two.
  json pooling = {{"op", "pooling"}, {"run", {{"m", 3}, {"pool", window("max", 5)}}}};
  pooling["run"]["pool"]["pad"] = {2, 2, 2, 2};
  const double spent = seconds_of([&] {
    const auto model = planned(network_of_nodes(many / 3, [&](size_t) { return pooling; }));
    ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
    ck_assert_uint_eq(model.value().steps.size(), many / 3 * 2);
  });
  ck_assert_msg(spent < kSeconds, "%.1f s for split poolings", spent);
}

namespace {

// Loads of one file wait for this, and another's end lets them go.
std::mutex gate_mutex;
std::condition_variable gate_changed;
bool gate_entered = false, gate_open = false;

Result<Model> wait_at_gate(const Model& model, int, int, const Cancellation*) {
  std::unique_lock<std::mutex> lock(gate_mutex);
  gate_entered = true;
  gate_changed.notify_all();
  const bool opened =
      gate_changed.wait_for(lock, std::chrono::seconds(20), [] { return gate_open; });
  if (opened) return model;
  return Error{ErrorCode::kInternal, "nobody else could load meanwhile"};
}

Result<Model> run_out_of_memory(const Model&, int, int, const Cancellation*) {
  throw std::bad_alloc();
}

Result<Model> throw_text(const Model&, int, int, const Cancellation*) {
  throw std::runtime_error("as a library does");
}

}  // namespace

DVNN_TEST(a_network_that_loads_slowly_holds_nobody_up) {
  const NetworkFile slow(idle_network()), quick(idle_network());
  std::string problem = "not loaded";
  std::thread loader([&] {
    NetworkSource source;
    source.path = slow.path;
    source.width = source.height = 16;
    source.replan = wait_at_gate;
    const auto network = Network::load(source, "soft");
    problem = network.ok() ? "" : network.error().message;
  });
  {
    std::unique_lock<std::mutex> lock(gate_mutex);
    gate_changed.wait(lock, [] { return gate_entered; });
  }
  NetworkSource source;
  source.path = quick.path;
  const auto network = Network::load(source, "soft");
  {
    const std::lock_guard<std::mutex> lock(gate_mutex);
    gate_open = true;
    gate_changed.notify_all();
  }
  loader.join();
  ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
  ck_assert_msg(problem.empty(), "%s", problem.c_str());
}

namespace {

// Loads of a file that wait at the gate: the first one, and others for the same network.
Result<std::shared_ptr<Network>> load_at_gate(const std::string& path,
                                              const Cancellation* cancellation) {
  NetworkSource source;
  source.path = path;
  source.width = source.height = 16;
  source.replan = wait_at_gate;
  source.cancellation = cancellation;
  return Network::load(source, "soft");
}

}  // namespace

DVNN_TEST(who_waits_for_a_load_may_lose_patience_and_the_other_may_not) {
  gate_entered = gate_open = false;
  const NetworkFile file(idle_network());
  std::string problem = "not loaded";
  std::thread loader([&] {
    const auto network = load_at_gate(file.path, nullptr);
    problem = network.ok() ? "" : network.error().message;
  });
  {
    std::unique_lock<std::mutex> lock(gate_mutex);
    gate_changed.wait(lock, [] { return gate_entered; });
  }
  Cancellation impatient;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    impatient.cancel();
  });
  // The gate opens only after this load.
  const Result<std::shared_ptr<Network>> second = load_at_gate(file.path, &impatient);
  canceller.join();
  {
    const std::lock_guard<std::mutex> lock(gate_mutex);
    gate_open = true;
    gate_changed.notify_all();
  }
  loader.join();
  ck_assert(!second.ok() && second.error().code == ErrorCode::kCancelled);
  ck_assert_msg(problem.empty(), "%s", problem.c_str());
}

DVNN_TEST(a_load_that_was_cancelled_leaves_the_network_to_others) {
  gate_entered = gate_open = true;
  const NetworkFile file(idle_network());
  Cancellation cancelled;
  cancelled.cancel();
  const auto first = load_at_gate(file.path, &cancelled);
  ck_assert(!first.ok() && first.error().code == ErrorCode::kCancelled);
  ck_assert(load_at_gate(file.path, nullptr).ok());
}

DVNN_TEST(planning_ends_soon_wherever_it_is_cancelled) {
  const auto many = static_cast<size_t>(std::max(15000, dvnn_rounds(60000)));
  const json relu = {{"op", "activation"}, {"run", kRelu}};
  const json softmax = {{"op", "cpu"}, {"type", "Softmax"}, {"params", {{"axis", 1}}}};
  const NetworkFile file(network_of_nodes(many, [&](size_t i) { return i % 2 ? softmax : relu; }));
  NetworkSource source;
  source.path = file.path;
  source.width = source.height = 16;
  source.replan = plan::replan;
  // Measures processor time, because other tests run beside this one.
  double whole = 0;
  const double work = processor_seconds_of(
      [&] { whole = seconds_of([&] { ck_assert(Network::load(source, "soft").ok()); }); });
  constexpr int kPlaces = 6;
  for (int place = 0; place < kPlaces; ++place) {
    Cancellation cancellation;
    source.cancellation = &cancellation;
    std::thread loader([&] { (void)Network::load(source, "soft"); });
    std::this_thread::sleep_for(std::chrono::duration<double>(whole * place / kPlaces));
    const double spent = processor_seconds_of([&] {
      cancellation.cancel();
      loader.join();
    });
    // The allocated memory has to be freed.
    ck_assert_msg(spent < 0.5 + work / 2, "%.2f s of %.2f s, at %d of %d", spent, work, place,
                  kPlaces);
  }
}

DVNN_TEST(one_source_is_loaded_once_as_long_as_it_is_used) {
  const NetworkFile file(idle_network());
  NetworkSource source;
  source.path = file.path;
  auto first = Network::load(source, "soft"), second = Network::load(source, "soft");
  ck_assert(first.ok() && second.ok());
  ck_assert_ptr_eq(first.value().get(), second.value().get());
}

DVNN_TEST(exceptions_become_errors) {
  const NetworkFile file(idle_network());
  NetworkSource source;
  source.path = file.path;
  source.width = source.height = 16;
  source.replan = run_out_of_memory;
  const auto short_of_memory = Network::load(source, "soft");
  expect_refusal(short_of_memory, "not enough memory");
  ck_assert(short_of_memory.error().code == ErrorCode::kNoMemory);
  source.replan = throw_text;
  expect_refusal(Network::load(source, "soft"), "as a library does");
}

}  // namespace dvnn::test::hostile_networks_tests
