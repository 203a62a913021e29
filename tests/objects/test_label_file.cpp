// SPDX-License-Identifier: Apache-2.0
#include "objects/label_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "check_suite.h"

namespace dvnn::test::label_file_tests {

DVNN_SUITE(label_file);

namespace {

class LabelFile {
 public:
  explicit LabelFile(const std::string& text) {
    ck_assert_ptr_nonnull(mkdtemp(folder_.data()));
    std::ofstream(path(), std::ios::binary) << text;
  }
  ~LabelFile() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/labels.txt"; }

 private:
  std::string folder_ = "/tmp/dvnn-labels-XXXXXX";
};

std::vector<std::string> labels_of(const std::string& text) {
  const LabelFile file(text);
  const auto labels = objects::read_labels(file.path());
  ck_assert_msg(labels.ok(), "%s", labels.ok() ? "" : labels.error().message.c_str());
  return labels.value();
}

void expect_refused(const std::string& text, const std::string& why) {
  const LabelFile file(text);
  const auto labels = objects::read_labels(file.path());
  ck_assert(!labels.ok());
  const std::string wanted = "'" + file.path() + "'" + why;
  ck_assert_str_eq(labels.error().message.c_str(), wanted.c_str());
}

}  // namespace

DVNN_TEST(a_line_is_a_label) {
  using Labels = std::vector<std::string>;
  ck_assert(labels_of("one\ntwo") == (Labels{"one", "two"}));
  ck_assert(labels_of("\xef\xbb\xbfone\r\n\r\nK\xc3\xa4se, large\r\n") ==
            (Labels{"one", "", "K\xc3\xa4se, large"}));
  ck_assert(labels_of(std::string(1024, 'x')) == Labels{std::string(1024, 'x')});
  ck_assert_uint_eq(labels_of(std::string(65536, '\n')).size(), 65536);
}

// A network's weights, given as its labels, were names of question marks.
DVNN_TEST(what_is_no_text_is_refused_with_its_line) {
  expect_refused("", " has no labels");
  const std::string tail = "; a label is a line of text";
  expect_refused("one\ntwo\n\xff\xfe\n", ", line 3: it is no UTF-8 text" + tail);
  expect_refused("one\nK\xe4se\n", ", line 2: it is no UTF-8 text" + tail);
  const std::string marks =
      ": it has a control character, a tab, or a mark of the direction of writing" + tail;
  expect_refused(std::string("a\0b\n", 4), ", line 1" + marks);
  expect_refused("0\tperson\n", ", line 1" + marks);
  expect_refused("one\n\x1b[31mred\n", ", line 2" + marks);
  expect_refused(
      "one\ntwo\n\xe2\x80\xae"
      "eerht\n",
      ", line 3" + marks);
  expect_refused("\n" + std::string(1025, 'x'), ", line 2: it has more than 1024 bytes" + tail);
  expect_refused(std::string(65537, '\n'), " has more than 65536 labels");
}

}  // namespace dvnn::test::label_file_tests
