// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include "base/names.h"
#include "check_suite.h"
#include "failing_new.h"

namespace dvnn::test::result_tests {

DVNN_SUITE(result);

namespace {

const std::string kLong = "an error whose text takes memory of its own, for it is long";

Status failing() {
  DVNN_TRY(Status(Error{ErrorCode::kIo, kLong}));
  return {};
}

}  // namespace

DVNN_TEST(an_error_passes_through_and_can_be_copied) {
  const Status status = failing();
  ck_assert(!status.ok());
  const Status copy = status;
  ck_assert(copy.error().code == ErrorCode::kIo && copy.error().message == kLong);
  const Result<int> number = status.error().within("reading");
  ck_assert(!number.ok() && number.error().message == "reading: " + kLong);
}

DVNN_TEST(an_error_without_memory_is_told_without_any) {
  Error error{ErrorCode::kIo, kLong};
  fail_allocation(0);
  const Status status = std::move(error);
  fail_allocation(-1);
  ck_assert(has_failed_allocation() && !status.ok());
  ck_assert(status.error().code == ErrorCode::kNoMemory);
  const Status good(Error{ErrorCode::kIo, kLong});
  fail_allocation(0);
  const Status copy = good, again = status;
  fail_allocation(-1);
  ck_assert(copy.error().code == ErrorCode::kNoMemory &&
            again.error().code == ErrorCode::kNoMemory);
}

DVNN_TEST(names_are_found_in_tables_of_rows) {
  enum class Way { kUp, kDown };
  struct Row {
    int number;
    const char* name;
  };
  static constexpr Row kRows[] = {{7, "up"}, {8, "down"}};
  ck_assert(parse_name<Way>("down", kRows, "way").value() == Way::kDown);
  const auto unknown = parse_name<Way>("left", kRows, "way");
  ck_assert_str_eq(unknown.error().message.c_str(), "unknown way 'left' (known: up, down)");
}

}  // namespace dvnn::test::result_tests
