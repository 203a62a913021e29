// SPDX-License-Identifier: Apache-2.0
// Shares of something that all want more of than there is. No clock: uses are as long as the test
// says.
#include "infer/fairline.h"

#include <vector>

#include "check_suite.h"

namespace dvnn::test::fair_line_tests {

DVNN_SUITE(fair_line);

using dvnn::gst::FairLine;

namespace {

struct Member {
  unsigned priority;
  double length;  // of its runs
  int runs = 0;
  double used() const { return runs * length; }
};

// Members that always have a run waiting, until so much time is used.
class Rush {
 public:
  explicit Rush(std::vector<Member*> members) : members_(std::move(members)) {
    for (Member* member : members_) {
      line_.join(member, member->priority);
      line_.wait(member);
    }
  }
  FairLine& line() { return line_; }

  void play(double time) {
    for (double used = 0; used < time; used += play_one()) {
    }
  }

 private:
  double play_one() {
    for (Member* member : members_) {
      if (!line_.is_next(member)) continue;
      line_.stop_waiting(member, true);
      line_.used(member, member->length);
      line_.wait(member);
      ++member->runs;
      return member->length;
    }
    ck_abort_msg("nobody is next");
  }

  std::vector<Member*> members_;
  FairLine line_;
};

// Shares differ by one run of each at most.
void expect_shares(const Member& one, const Member& other) {
  const double ahead = one.used() / one.priority - other.used() / other.priority;
  const double run = one.length / one.priority + other.length / other.priority;
  ck_assert_double_le(std::abs(ahead), run);
}

}  // namespace

DVNN_TEST(priorities_are_shares_of_time_and_nobody_starves) {
  Member high{30, 1}, low{10, 1}, least{1, 1}, slow{10, 7.5};
  Rush({&high, &low, &least, &slow}).play(5100);
  ck_assert_int_ge(least.runs, 98);
  expect_shares(high, low);
  expect_shares(high, least);
  expect_shares(high, slow);
}

DVNN_TEST(priorities_change) {
  Member one{10, 1}, other{10, 1};
  Rush rush({&one, &other});
  rush.play(1000);
  expect_shares(one, other);
  one.runs = other.runs = 0;
  one.priority = 40;
  rush.line().join(&one, 40);
  rush.play(1000);
  expect_shares(one, other);
}

DVNN_TEST(who_pauses_saves_nothing_up) {
  FairLine line;
  const int busy = 0, paused = 0;
  line.join(&busy, 20);
  line.join(&paused, 10);
  line.wait(&paused);
  line.stop_waiting(&paused, true);
  line.used(&paused, 1);
  for (int i = 0; i < 1000; ++i) {
    line.wait(&busy);
    line.stop_waiting(&busy, true);
    line.used(&busy, 1);
  }
  // The one that comes back is first once, and not for as long as it was away.
  int first = 0;
  line.wait(&busy);
  for (line.wait(&paused); !line.is_next(&busy); line.wait(&paused), ++first) {
    line.stop_waiting(&paused, true);
    line.used(&paused, 1);
  }
  ck_assert_int_le(first, 1);
}

DVNN_TEST(who_gives_up_has_used_nothing) {
  FairLine line;
  const int one = 0, other = 0;
  line.join(&one, 1);
  line.join(&other, 2);
  line.wait(&one);
  line.used(&other, 10);
  line.wait(&other);
  ck_assert(line.is_next(&one));
  ck_assert(!line.is_next(&other));
  line.stop_waiting(&one, false);
  ck_assert(line.is_next(&other));
  line.wait(&one);
  ck_assert(line.is_next(&one));
}

DVNN_TEST(who_has_left_is_not_asked) {
  FairLine line;
  const int one = 0, other = 0;
  line.join(&one, 1);
  line.join(&other, 2);
  ck_assert_uint_eq(line.size(), 2);
  line.leave(&other);
  line.used(&other, 5);
  ck_assert_uint_eq(line.size(), 1);
  line.leave(&one);
  ck_assert_uint_eq(line.size(), 0);
}

}  // namespace dvnn::test::fair_line_tests
