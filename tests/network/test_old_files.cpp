// SPDX-License-Identifier: Apache-2.0
// Files of earlier versions (old_files/README.md) are read as the models that they were written
// from, or refused by their version. Each change of the format has a file, and no file is ever
// rewritten.
#include <filesystem>

#include "check_suite.h"
#include "grid_network.h"
#include "network/dvn_file.h"
#include "network/network.h"

namespace dvnn::test::old_files_tests {

DVNN_SUITE(old_files);

using namespace dvnn::network;

namespace {

constexpr int kCells = 16;

// Returns both outputs for red in one cell after the other.
std::vector<float> results_of(Model model) {
  auto device = device::Device::open("soft");
  ck_assert(device.ok());
  auto network = Network::create(std::move(model), device.value());
  ck_assert_msg(network.ok(), "%s", network.ok() ? "" : network.error().message.c_str());
  auto slot = network.value()->create_slot();
  ck_assert(slot.ok());
  std::vector<float> all;
  for (int cell = 0; cell < kCells; ++cell) {
    std::vector<float> picture(3 * 16 * 16, 0.0f);
    for (int i = 0; i < 16; ++i) {
      picture[static_cast<size_t>((cell / 4 * 4 + i / 4) * 16 + cell % 4 * 4 + i % 4)] = 1;
    }
    write_nchw(picture.data(),
               {slot.value()->network()->input_desc(), slot.value()->input().data()});
    ck_assert(slot.value()->run().ok());
    for (size_t i = 0; i < 2; ++i) {
      const ConstTensorView output = slot.value()->output(i);
      std::vector<float> values(static_cast<size_t>(output.desc.shape.elements()));
      read_nchw(output, values.data());
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

}  // namespace

DVNN_TEST(old_files_are_what_they_were_or_are_refused_by_their_version) {
  const std::vector<float> wanted = results_of(test::grid_network());
  int read = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DVNN_OLD_FILES)) {
    if (entry.path().extension() != ".dvn") continue;
    const auto model = read_dvn(entry.path().string());
    const char* name = entry.path().c_str();
    if (!model.ok()) {
      const std::string& message = model.error().message;
      ck_assert_msg(message.find("format version") != std::string::npos, "%s", message.c_str());
      ++refused;
      continue;
    }
    ++read;
    ck_assert_msg(results_of(model.value()) == wanted, "%s computes something else", name);
    dvnn_assert_text(model.value().decoder.name, "ssd");
    ck_assert_msg(model.value().labels == test::grid_network().labels, "%s", name);
  }
  ck_assert_int_ge(read, 1);
  ck_assert_int_eq(refused, 1);  // one that a later version will have written
}

}  // namespace dvnn::test::old_files_tests
