// SPDX-License-Identifier: Apache-2.0
// Negotiates the form of the data on either pad: video frames, or a stream of tensors.
#pragma once

#include <gst/video/video.h>

#include <memory>

#include "elements/dvinfer/infercontext.h"
#include "frames/tensorinput.h"
#include "frames/tensoroutput.h"
#include "infer/networkloader.h"
#include "refs.h"

namespace dvnn::gst {

class Negotiation {
 public:
  explicit Negotiation(InferContext* context) : context_(*context) {}

  // --- queries, in any thread ---
  /// Answers a CAPS query of the sink pad (`sink`) or the source pad; `loaded` may be null.
  gboolean answer_caps(GstQuery* query, bool sink, const LoadedNetwork* loaded) const;
  /// Answers an ACCEPT_CAPS query of the sink pad.
  gboolean answer_accept_caps(GstQuery* query, const LoadedNetwork* loaded) const;

  // --- the sink pad's streaming thread ---
  /// Forgets all caps. No data comes before new ones.
  void reset();
  /// Takes the sink pad's new caps, and decides what leaves: returns the caps of the source pad, or
  /// kMalformed if they do not fit.
  Result<CapsPtr> take(GstCaps* caps, const LoadedNetwork& loaded);
  /// Switches to another network, given the sink pad's caps, or says why that is impossible.
  /// Returns new caps of the source pad, or null if the caps stay.
  Result<CapsPtr> take_network(const LoadedNetwork& to);

  /// Returns the format of incoming frames, or null if the input is a stream of tensors.
  const GstVideoInfo* video() const { return have_video_ ? &video_ : nullptr; }
  /// Returns the reader of incoming tensors or windows of sound, or null if the input is frames, or
  /// results on them.
  TensorInput* tensor_input() const { return tensor_input_.get(); }
  /// Returns whether caps have been taken.
  bool has_caps() const { return have_video_ || have_sound_ || tensor_input_; }
  /// Returns the outgoing stream of tensors, or null if the output is frames.
  const std::shared_ptr<const TensorOutput>& output() const { return output_; }

 private:
  CapsPtr possible_caps(bool sink, const GstCaps* filter, const LoadedNetwork* loaded) const;
  CapsPtr peer_caps(bool sink, const LoadedNetwork* loaded) const;
  CapsPtr announce(const LoadedNetwork& loaded, const GstCaps* beyond, CapsPtr caps) const;
  std::vector<CapsPtr> attachable(const LoadedNetwork& loaded) const;
  bool takes_results() const { return !context_.settings().input_from.empty(); }

  InferContext& context_;
  GstVideoInfo video_;
  bool have_video_ = false;
  bool have_sound_ = false;  // windows of it, which pass as frames do
  bool announced_ = false;   // groups of tensors, in the caps of the frames that leave
  std::unique_ptr<TensorInput> tensor_input_;
  std::shared_ptr<const TensorOutput> output_;
};

}  // namespace dvnn::gst
