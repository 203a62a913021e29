// SPDX-License-Identifier: Apache-2.0
// libdvnn-bug.so: which of the bugs of tests/mutate is awake (DVNN_BUG), and a file with a byte for
// each, in which those are marked that this process and its children reach (DVNN_BUGS_REACHED).
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "bug.h"

int dvnn_bug_awake = 0;
unsigned char* dvnn_bugs_reached = nullptr;

// Ahead of all other constructors: static tables have bugs, too.
__attribute__((constructor(101))) static void wake() {
  if (const char* number = std::getenv("DVNN_BUG")) dvnn_bug_awake = std::atoi(number);
  const char* path = std::getenv("DVNN_BUGS_REACHED");
  const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  struct stat known = {};
  void* bytes = MAP_FAILED;
  if (fstat(file, &known) == 0) {
    bytes = mmap(nullptr, static_cast<size_t>(known.st_size), PROT_READ | PROT_WRITE, MAP_SHARED,
                 file, 0);
  }
  if (bytes != MAP_FAILED) dvnn_bugs_reached = static_cast<unsigned char*>(bytes);
  close(file);
}
