// SPDX-License-Identifier: Apache-2.0
// Caps and headers of streams of tensors may contain anything: none of it is trusted. GLib's
// warnings end the test.
#include "hostile_chain.h"
#include "nnstreamer_rules.h"

namespace dvnn::test::hostile_streams_tests {

DVNN_SUITE_RUN_BY(run_with_fatal_criticals, hostile_streams);

DVNN_TEST(caps_of_tensors_are_held_against_their_buffers) {
  const std::string rest = ",format=(string)static,framerate=(fraction)25/1";
  const std::string megabyte(1 << 20, '1');
  for (const std::string& fields :
       {std::string("num_tensors=1,dimensions=(string)3:16:16:1,types=(string)float16"),
        std::string("num_tensors=1,dimensions=(string)8:16:16:1,types=(string)float16"),
        std::string("num_tensors=1,dimensions=(string)4294967295:4294967295,types=(string)uint8"),
        std::string("num_tensors=1,dimensions=(string)65536:65536:1:1,types=(string)float32"),
        std::string("num_tensors=1,dimensions=(string)0:1:1:1,types=(string)float16"),
        std::string("num_tensors=1,dimensions=(string)-3:1:1:1,types=(string)float16"),
        std::string("num_tensors=1,dimensions=(string)\"\",types=(string)float16"),
        std::string("num_tensors=1,dimensions=(string)\":::\",types=(string)float16"),
        std::string("num_tensors=2147483647,dimensions=(string)1,types=(string)float16"),
        std::string("num_tensors=1,dimensions=(int)3,types=(int)4"),
        "num_tensors=1,dimensions=(string)" + megabyte + ",types=(string)float16",
        "num_tensors=1,dimensions=(string)1:1:1:1,types=(string)" + megabyte,
        std::string("num_tensors=1,dimensions=(string)1:1:1:1,types=(string)\"a\\033[2Jb\"")}) {
    for (gsize bytes : {gsize{1}, gsize{16 * 16 * 8 * 2 - 1}, gsize{1 << 20}}) {
      HostileChain chain(infer_grid(), "other/tensors," + fields + rest);
      GstBuffer* buffer = gst_buffer_new_wrapped(g_malloc0(bytes), bytes);
      ck_assert_msg(!chain.push(buffer).empty(), "%zu bytes pass", bytes);
    }
  }
}

namespace {

const char* const kFlexible = "other/tensors,format=(string)flexible,framerate=(fraction)25/1";

// Returns the error for a buffer of these memories; empty if a buffer comes out.
std::string told_of(const std::vector<Bytes>& memories) {
  HostileChain chain(infer_grid(), kFlexible);
  return chain.push(buffer_of(memories));
}

constexpr size_t kDataBytes = 16 * 16 * 3 * 4;  // of the input in float32

}  // namespace

DVNN_TEST(headers_of_flexible_streams_are_held_against_their_buffers) {
  const Bytes data(kDataBytes, 0);
  const std::vector<uint32_t> good = flexible_header(kTypeFloat32, {3, 16, 16, 1});
  const struct {
    const char* words;
    size_t field;
    uint32_t value;
  } lies[] = {
      {"begins with", 0, 0},
      {"begins with", 0, 0xedccedfe},  // of a machine of the other byte order
      {"more than 16", 0, 0xf00dc0de},
      {"version", 1, 0},
      {"version", 1, 0xde000000},
      {"version", 1, 0xde002000},
      {"version", 1, 0xdf001000},
      {"element type is 11", 2, 11},
      {"element type is 4294967295", 2, G_MAXUINT32},
      {"is not the network's input", 2, kTypeInt32},
      {"dimensions", 3, 0},
      {"dimensions", 3, G_MAXUINT32},
      {"dimensions", 3, 0x80000000},
      {"dimensions", 3, 0x10000000},
      {"dimensions", 4, 0},
      {"dimensions", 4, 0x01000000},
      {"follow", 5, 17},
      {"begins with", 5, 15},  // what is left is no header
      {"dimensions", 8, 2},    // behind a rank that has ended
      {"dimensions", 18, G_MAXUINT32},
      {"sparse", 19, 2},
      {"sparse", 19, G_MAXUINT32},
      {"media type is 5", 20, 5},
      {"media type is 4096", 20, 4096},
  };
  for (const auto& lie : lies) {
    std::vector<uint32_t> header = good;
    header[lie.field] = lie.value;
    Bytes bytes = bytes_of_header(header);
    append(&bytes, data);
    const std::string text = told_of({bytes});
    ck_assert_msg(text.find(lie.words) != std::string::npos, "field %zu, %u: '%s'", lie.field,
                  lie.value, text.c_str());
  }
  dvnn_assert_text(told_of({flexible(kTypeFloat32, {3, 16, 16, 1}, data)}), "");
}

DVNN_TEST(flexible_tensors_of_any_length_do_no_harm) {
  const Bytes whole = flexible(kTypeFloat32, {3, 16, 16, 1}, Bytes(kDataBytes, 0));
  for (size_t size : {size_t{1}, size_t{4}, size_t{84}, size_t{127}, size_t{128}, size_t{129},
                      whole.size() - 1, whole.size() + 1, whole.size() + 128}) {
    Bytes bytes = whole;
    bytes.resize(size, 0);
    ck_assert_msg(!told_of({bytes}).empty(), "%zu bytes pass", size);
  }
  // A second input, and many small tensors.
  ck_assert(told_of({whole, whole}).find("several tensors") != std::string::npos);
  std::vector<Bytes> many(15, flexible(kTypeUint8, {1}, {7}));
  many.push_back(whole);
  dvnn_assert_text(told_of(many), "");
  Bytes too_many;
  for (int i = 0; i < 1000; ++i) append(&too_many, many.front());
  ck_assert(told_of({too_many}).find("more than 16") != std::string::npos);
}

DVNN_TEST(headers_of_more_than_16_tensors_are_held_against_their_buffers) {
  std::string types = "float32", dimensions = "3:16:16:1";
  for (int i = 1; i < 18; ++i) types += ",uint8", dimensions += ",1";
  const std::string caps =
      "other/tensors,format=(string)static,framerate=(fraction)25/"
      "1,num_tensors=18,types=(string)\"" +
      types + "\",dimensions=(string)\"" + dimensions + "\"";
  std::vector<Bytes> memories(15, Bytes(1, 0));
  memories.front() = Bytes(kDataBytes, 0);
  Bytes last = extra_header(1, {kTypeUint8, kTypeUint8}, {{1}, {1}});
  append(&last, Bytes(3, 0));
  memories.push_back(last);
  auto told = [&](size_t at, uint8_t value, size_t size) {
    HostileChain chain(infer_grid(), caps);
    memories.back() = last;
    memories.back()[at] = value;
    memories.back().resize(size, 0);
    return chain.push(buffer_of(memories));
  };
  if (sizeof(void*) == 8) dvnn_assert_text(told(0, last[0], last.size()), "");
  ck_assert(told(0, 0, last.size()).find("before the 16th") != std::string::npos);
  for (size_t size : {last.size() - 1, last.size() + 1, size_t{3}, size_t{24}}) {
    ck_assert_msg(!told(0, last[0], size).empty(), "%zu bytes pass", size);
  }
}

}  // namespace dvnn::test::hostile_streams_tests
