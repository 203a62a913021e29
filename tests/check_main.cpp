// SPDX-License-Identifier: Apache-2.0
// main() of the tests of a folder.
#include "check_suite.h"

int main(int argc, char** argv) {
  return dvnn_run(argc, argv);
}
