// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecord/cuefile.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/format.h"
#include "elements/dvrecord/packet.h"

namespace dvnn::gst {

using record::Time;

static std::string cue_time(Time time) {
  constexpr Time kSeconds = 60, kMinutes = 60;
  const Time ms = time / record::kMillisecond, s = ms / 1000;
  return format("%02d:%02d:%02d.%03d", static_cast<int>(s / (kSeconds * kMinutes)),
                static_cast<int>(s / kSeconds % kMinutes), static_cast<int>(s % kSeconds),
                static_cast<int>(ms % 1000));
}

Status begin_cue_file(record::ClipFolder& folder, record::ClipFile* clip) {
  static constexpr std::string_view kHead = "WEBVTT\n\n";
  DVNN_TRY(folder.create_cues(clip));
  return write_all(clip->cues.fd(), kHead.data(), kHead.size());
}

Status append_cue(const record::ClipFile& clip, const record::Unit& unit, Time base) {
  const BufferMap lines(packet_of(unit).buffer.get(), GST_MAP_READ);
  if (!lines.ok()) return {};
  const Time start = std::max<Time>(unit.time - base, 0);
  const Time end = std::max(unit.time - base + unit.duration, start + record::kMillisecond);
  std::string cue = cue_time(start) + " --> " + cue_time(end) + "\n";
  cue.append(reinterpret_cast<const char*>(lines.data()), lines.size()).append("\n\n");
  return write_all(clip.cues.fd(), cue.data(), cue.size());
}

}  // namespace dvnn::gst
