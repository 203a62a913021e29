// SPDX-License-Identifier: Apache-2.0
// Runs the tests of all files of an executable, each of which names its own by DVNN_TESTS().
#include "check_main.h"

int main() {
  return dvnn_run_suite("all", dvnn_tests());
}
