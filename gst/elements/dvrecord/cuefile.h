// SPDX-License-Identifier: Apache-2.0
// The documents of an MP4 clip. MP4's text samples have at most 64 KiB, and documents may be
// longer. So they are a file of WebVTT beside the clip, which is whole after each cue.
#pragma once

#include "base/result.h"
#include "record/clip_folder.h"
#include "record/ring.h"

namespace dvnn::gst {

/// Creates the file beside a clip that is being written.
Status begin_cue_file(record::ClipFolder& folder, record::ClipFile* clip);
/// Appends a unit of documents; `base` is the time at which the clip begins.
Status append_cue(const record::ClipFile& clip, const record::Unit& unit, record::Time base);

}  // namespace dvnn::gst
