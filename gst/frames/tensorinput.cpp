// SPDX-License-Identifier: Apache-2.0
#include "frames/tensorinput.h"

#include <algorithm>
#include <array>

#include "base/format.h"
#include "base/result.h"
#include "frames/caps.h"
#include "tensor/tensor.h"

namespace dvnn::gst {
namespace {

// Returns whether the network's input can be made from an image of 8-bit pixels.
bool takes_pixels(const TensorDesc& input, const InputSpec& picture) {
  const int channels = picture.order == ChannelOrder::kGray ? 1 : 3;
  return is_float(input.type) && input.shape.n() == 1 && input.shape.c() == channels;
}

}  // namespace

std::vector<TensorForm> tensor_forms(const TensorDesc& input, const InputSpec& picture) {
  std::vector<TensorForm> forms;
  std::vector<ElementType> types = {input.type};
  for (ElementType type : {ElementType::kFloat32, ElementType::kFloat16}) {
    if (is_float(input.type) && type != input.type) types.push_back(type);
  }
  const Layout own = plain_layout(input);
  const bool picture_like = input.shape.rank == 4;
  for (Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    if (!picture_like) continue;
    for (ElementType type : types) {
      // The input's own layout keeps the input's description, which is_own() compares.
      const bool is_own = type == input.type && layout == own;
      forms.push_back(
          {is_own ? input : TensorDesc{type, layout, input.shape}, false, to_string(layout)});
    }
    if (layout == Layout::kNhwc && takes_pixels(input, picture)) {
      forms.push_back({{ElementType::kUint8, layout, input.shape}, true, to_string(layout)});
    }
  }
  // These caps must name the layout: without it, the same dimensions more likely mean rows.
  if (!picture_like) forms.push_back({input, false, nullptr});
  if (picture_like && own != Layout::kNhwc && own != Layout::kNchw) {
    forms.push_back({input, false, to_string(own)});
  }
  return forms;
}

GstCaps* tensor_input_caps(const TensorDesc& input, const InputSpec& picture,
                           const GstCaps* filter) {
  CapsPtr caps(gst_caps_new_empty());
  for (const TensorForm& form : tensor_forms(input, picture)) {
    append_tensors_caps(caps.get(), {form.tensor()}, filter, form.layout);
  }
  // tensor_mux: one of several tensors may be the input. The fixed caps will show which.
  gst_caps_append(caps.get(),
                  gst_caps_from_string(DVNN_STATIC_TENSORS_CAPS ", num_tensors=(int)[ 2, 256 ]"));
  gst_caps_append(caps.get(), gst_caps_from_string(DVNN_FLEXIBLE_TENSORS_CAPS));
  return caps.release();
}

// Returns the forms of an input that is no picture: floats, in any order of a picture's axes.
static std::vector<TensorForm> live_forms(const TensorDesc& input) {
  std::vector<TensorForm> forms;
  for (TensorForm& form : tensor_forms(input, {})) {
    if (!form.pixels) forms.push_back(std::move(form));
  }
  for (ElementType type : {ElementType::kFloat32, ElementType::kFloat16}) {
    if (input.shape.rank != 4) forms.push_back({{type, Layout::kNchw, input.shape}});
  }
  return forms;
}

Result<std::unique_ptr<TensorInput>> TensorInput::create(const GstCaps* caps,
                                                         const TensorDesc& input,
                                                         const InputSpec& picture) {
  return create(caps, input, picture, {});
}

Result<std::unique_ptr<TensorInput>> TensorInput::create(const GstCaps* caps,
                                                         const network::Model& model) {
  std::vector<Live> live;
  for (size_t i = 0; i < model.extra_inputs.size(); ++i) {
    const network::ExtraInput& extra = model.extra_inputs[i];
    if (extra.is_state()) continue;
    live.push_back({i, extra.name, live_forms(model.tensor(extra.tensor).desc)});
  }
  return create(caps, model.tensor(model.input.tensor).desc, model.input.picture, std::move(live));
}

Result<std::unique_ptr<TensorInput>> TensorInput::create(const GstCaps* caps,
                                                         const TensorDesc& input,
                                                         const InputSpec& picture,
                                                         std::vector<Live> live) {
  auto self = std::make_unique<TensorInput>();
  DVNN_ASSIGN(self->stream_, parse_stream_caps(gst_caps_get_structure(caps, 0)));
  self->input_ = input;
  self->picture_ = picture;
  self->forms_ = tensor_forms(input, picture);
  self->live_ = std::move(live);
  if (!self->stream_.flexible) {
    DVNN_ASSIGN(self->index_, self->find(self->stream_.tensors, &self->form_));
  }
  return self;
}

Result<std::unique_ptr<TensorInput>> TensorInput::of_windows(const TensorDesc& input) {
  DVNN_TRY(samples_of_input(input));
  auto self = std::make_unique<TensorInput>();
  self->input_ = input;
  // A line of numbers is the same in every order of axes.
  self->forms_.push_back({{ElementType::kFloat32, Layout::kNchw, input.shape}});
  self->stream_.tensors.push_back(self->forms_[0].tensor());
  return self;
}

// Returns whether the stream's tensors are all inputs of a network that has several.
bool TensorInput::brings_live(const std::vector<StreamTensor>& tensors) const {
  return !live_.empty() && tensors.size() == 1 + live_.size();
}

bool TensorInput::fits(const TensorForm& form, const StreamTensor& tensor) const {
  const bool said = stream_.layout.empty() || !form.layout || stream_.layout == form.layout;
  return said && form.tensor() == tensor;
}

// Finds the one tensor that has a form of the input.
Result<size_t> TensorInput::find(const std::vector<StreamTensor>& tensors, size_t* form) const {
  std::string seen;
  size_t fitting = 0, index = 0;
  const size_t candidates = brings_live(tensors) ? 1 : tensors.size();
  for (size_t i = 0; i < candidates; ++i) {
    constexpr size_t kMostTold = 4;
    if (i < kMostTold) seen += (i == 0 ? "" : ", ") + describe(tensors[i]);
    if (i == kMostTold) seen += ", ...";
    for (size_t f = forms_.size();
         f-- > 0;) {  // from the least likely form to the likeliest, which wins
      if (!fits(forms_[f], tensors[i])) continue;
      fitting += index == i && fitting > 0 ? 0 : 1;
      index = i;
      *form = f;
    }
  }
  if (fitting == 1) return index;
  if (!stream_.layout.empty()) seen += ", layout " + stream_.layout;
  std::string wanted;
  for (const TensorForm& one : forms_) {
    wanted += (wanted.empty() ? "" : ", or ") + describe(one.tensor());
    const bool plain = !one.layout || plain_layout(one.desc) == Layout::kNhwc ||
                       plain_layout(one.desc) == Layout::kNchw;
    if (!plain) wanted += format(", layout %s", one.layout);
  }
  return malformed(format(fitting == 0 ? "a stream of %s is not the network's input, which is %s"
                                       : "several tensors of a stream of %s could be the network's "
                                         "input, %s: take one out of it",
                          seen.c_str(), wanted.c_str()));
}

// Reads what a flexible buffer says of itself. Each tensor follows its header, in one memory or
// several.
Result<TensorInput::Tensors> TensorInput::read_headers(GstBuffer* buffer) const {
  const size_t size = gst_buffer_get_size(buffer);
  Tensors read;
  auto& [tensors, offsets] = read;
  size_t at = 0;
  while (at < size) {
    std::array<uint8_t, kStreamHeaderBytes> header;
    const size_t got = gst_buffer_extract(buffer, at, header.data(), header.size());
    const std::string which = format("tensor %zu of the buffer", tensors.size());
    auto tensor = read_stream_header({header.data(), got});
    if (!tensor.ok()) return tensor.error().within(which);
    at += header.size();
    const size_t bytes = tensor.value().bytes();
    if (bytes > size - at) {
      return malformed(format("%s: its header says %s, %zu bytes, and %zu follow", which.c_str(),
                              describe(tensor.value()).c_str(), bytes, size - at));
    }
    if (tensors.size() == kMaxStreamMemories) {
      return malformed(
          format("a buffer of a flexible stream has more than %zu tensors", kMaxStreamMemories));
    }
    tensors.push_back(std::move(tensor.value()));
    offsets.push_back(at);
    at += bytes;
  }
  if (tensors.empty()) return malformed("a buffer without tensors came");
  return read;
}

Result<TensorInput::Place> TensorInput::find_flexible(GstBuffer* buffer) const {
  DVNN_ASSIGN(const Tensors read, read_headers(buffer));
  Place place;
  DVNN_ASSIGN(const size_t index, find(read.tensors, &place.form));
  place.offset = read.offsets[index];
  return place;
}

Status TensorInput::read_live(GstBuffer* buffer, network::LiveInputs* inputs) {
  Tensors read = {stream_.tensors, {}};
  if (stream_.flexible) {
    DVNN_ASSIGN(read, read_headers(buffer));
  }
  if (!brings_live(read.tensors)) return {};
  for (size_t i = 0; i < live_.size(); ++i) {
    const StreamTensor& tensor = read.tensors[1 + i];
    const auto& forms = live_[i].forms;
    const auto form = std::find_if(forms.begin(), forms.end(),
                                   [&](const TensorForm& one) { return fits(one, tensor); });
    if (form == forms.end()) {
      return malformed(format(
          "tensor %zu of the stream, %s, is not the live input '%s', which is %s", 1 + i,
          describe(tensor).c_str(), live_[i].name.c_str(), describe(forms[0].tensor()).c_str()));
    }
    if (!stream_.flexible) {
      DVNN_ASSIGN(const size_t offset, stream_offset(buffer, read.tensors, 1 + i));
      read.offsets.resize(2 + i, offset);
    }
    bytes_.resize(form->desc.bytes());
    if (gst_buffer_extract(buffer, read.offsets[1 + i], bytes_.data(), bytes_.size()) !=
        bytes_.size()) {
      return malformed("the tensor's memory cannot be read");
    }
    inputs->set(live_[i].index, ConstTensorView{form->desc, bytes_.data()});
  }
  return {};
}

Status TensorInput::read(GstBuffer* buffer, uint8_t* to) {
  Place place;
  if (stream_.flexible) {
    DVNN_ASSIGN(place, find_flexible(buffer));
  } else {
    place.form = form_;
    DVNN_ASSIGN(place.offset, stream_offset(buffer, stream_.tensors, index_));
  }
  const TensorForm& form = forms_[place.form];
  const size_t size = form.desc.bytes();
  const bool as_it_is = form.desc == input_;
  // Conversion needs elements at multiples of their size, so it works on a copy.
  if (!as_it_is) bytes_.resize(size);
  if (gst_buffer_extract(buffer, place.offset, as_it_is ? to : bytes_.data(), size) != size) {
    return malformed("the tensor's memory cannot be read");
  }
  return as_it_is ? Status() : convert(form, to);
}

Status TensorInput::convert(const TensorForm& form, uint8_t* to) {
  if (form.pixels) return convert_pixels(form, to);
  convert_tensor({form.desc, bytes_.data()}, {input_, to}, &numbers_);
  return {};
}

Status TensorInput::convert_pixels(const TensorForm& form, uint8_t* to) {
  const Shape& shape = form.desc.shape;
  const bool gray = shape.c() == 1;
  if (!converter_) {
    image::FrameFormat frame;
    frame.format = gray ? image::PixelFormat::kGray8 : image::PixelFormat::kRgb;
    frame.width = shape.w();
    frame.height = shape.h();
    frame.full_range = true;
    DVNN_TRY(guarded("the tensor's pixels", [&]() -> Status {
      DVNN_ASSIGN(converter_, image::Converter::create(frame, input_, picture_));
      return {};
    }));
  }
  image::FrameView pixels;
  pixels.planes[0] = bytes_.data();
  pixels.strides[0] = shape.w() * shape.c();
  converter_->convert(pixels, to);
  return {};
}

}  // namespace dvnn::gst
