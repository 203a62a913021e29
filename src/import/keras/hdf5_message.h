// SPDX-License-Identifier: Apache-2.0
// The message in which the process that reads an HDF5 file tells what it found. A damaged file may
// have taken that process over: its message is taken apart without trust.
#pragma once

#include <string>

#include "import/keras/hdf5_reader.h"

namespace dvnn::import {

std::string write_message(const Hdf5Contents& contents);

/// False if the message is not one that write_message() makes. It takes no more memory than a few
/// times the message's.
bool read_message(const std::string& message, Hdf5Contents* contents);

}  // namespace dvnn::import
