// SPDX-License-Identifier: Apache-2.0
#include "elements/dvconvert/convertsettings.h"

#include "base/format.h"
#include "elements/valuelists.h"
#include "refs.h"

namespace dvnn::gst {
namespace {

constexpr gint kDlhdl = static_cast<gint>(Layout::kHwc8) + 1;

const GEnumValue kBackends[] = {
    {static_cast<gint>(Backend::kAuto),
     "The device if it gives the same result in less time, else the CPU", "auto"},
    {static_cast<gint>(Backend::kCpu), "The CPU", "cpu"},
    {static_cast<gint>(Backend::kDevice),
     "The device, which gets 8-bit pixels; an error if it cannot take them", "device"},
    {0, nullptr, nullptr}};

const GEnumValue kMethods[] = {{0, "As the network asks", "auto"},
                               {1 + static_cast<gint>(ResizeMethod::kBilinear),
                                "Bilinear, as OpenCV's INTER_LINEAR", "bilinear"},
                               {1 + static_cast<gint>(ResizeMethod::kNearest),
                                "Nearest pixel, as OpenCV's INTER_NEAREST", "nearest"},
                               {1 + static_cast<gint>(ResizeMethod::kArea),
                                "Average over the area, which does not alias", "area"},
                               {0, nullptr, nullptr}};

const GEnumValue kResizes[] = {
    {0, "As the network asks", "auto"},
    {1 + static_cast<gint>(ResizeRule::kStretch), "The frame fills the whole tensor", "stretch"},
    {1 + static_cast<gint>(ResizeRule::kLetterbox), "Aspect kept, centred, borders filled",
     "letterbox"},
    {1 + static_cast<gint>(ResizeRule::kLetterboxTopLeft),
     "Aspect kept, at the top left corner, the rest filled", "letterbox-top-left"},
    {1 + static_cast<gint>(ResizeRule::kCrop), "Aspect kept, the frame's centre", "crop"},
    {0, nullptr, nullptr}};

const GEnumValue kOrders[] = {{static_cast<gint>(ChannelOrder::kRgb), "Red, green, blue", "rgb"},
                              {static_cast<gint>(ChannelOrder::kBgr), "Blue, green, red", "bgr"},
                              {static_cast<gint>(ChannelOrder::kGray), "One channel: luma", "gray"},
                              {0, nullptr, nullptr}};

// The values of GstDvTensorLayout, and DLHDL.
const GEnumValue kLayouts[] = {
    {static_cast<gint>(Layout::kNchw), "Planes, row by row", "nchw"},
    {static_cast<gint>(Layout::kNhwc), "Channels side by side, row by row (DHWC)", "nhwc"},
    {static_cast<gint>(Layout::kNwhc), "Channels side by side, column by column (DWHC)", "nwhc"},
    {static_cast<gint>(Layout::kWhc8), "As nwhc, in chunks of 8 channels", "whc8"},
    {static_cast<gint>(Layout::kHwc8), "As nhwc, in chunks of 8 channels", "hwc8"},
    {kDlhdl, "Input of MathWorks' deep learning processor, see conv-threads", "dlhdl"},
    {0, nullptr, nullptr}};

// Reads a GstValueArray of doubles.
std::vector<double> numbers(const GValue* value) {
  std::vector<double> list;
  for (guint i = 0; i < gst_value_array_get_size(value); ++i) {
    Value number(G_TYPE_DOUBLE);
    g_value_transform(gst_value_array_get_value(value, i), number.get());
    list.push_back(g_value_get_double(number.get()));
  }
  return list;
}

template <typename T>
void put_numbers(GValue* value, const std::vector<T>& list) {
  for (T number : list) append_number(static_cast<double>(number), value);
}

GParamSpec* number_array(const char* name, const char* nick, const char* blurb, When when) {
  const GParamFlags flags = PropertyTable::flags(when);
  // An open specification, because GLib would drop an array with a NaN and print a line.
  GParamSpec* number = open_spec(
      g_param_spec_double("value", "Value", "A number", -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags));
  return gst_param_spec_array(name, nick, blurb, number, flags);
}

Property region_row() {
  Property row;
  row.when = When::kControllable;
  row.spec = number_array(
      "roi", "Region of interest",
      "The part of the frame that is looked at: <x, y, width, height> in fractions of its size",
      row.when);
  row.set = [](gpointer settings, const GValue* value) -> Status {
    const std::vector<double> list = numbers(value);
    if (list.size() != 4) {
      return Error{ErrorCode::kInvalidArgument, "it needs four numbers, <x, y, width, height>"};
    }
    const image::RelativeRect region = {list[0], list[1], list[2], list[3]};
    DVNN_TRY(region.check());
    static_cast<ConvertSettings*>(settings)->roi = region;
    return {};
  };
  row.get = [](gconstpointer settings, GValue* value) {
    const image::RelativeRect& r = static_cast<const ConvertSettings*>(settings)->roi;
    put_numbers(value, std::vector<double>{r.x, r.y, r.width, r.height});
  };
  return row;
}

// A row for a property with one number for all channels, or three.
Property channels_row(std::vector<float> ConvertSettings::*member, GParamSpec* spec, When when) {
  Property row;
  row.when = when;
  row.spec = spec;
  row.set = [member](gpointer settings, const GValue* value) -> Status {
    const std::vector<double> list = numbers(value);
    if (list.size() != 1 && list.size() != 3) {
      return Error{ErrorCode::kInvalidArgument,
                   format("it needs one number or three, not %zu", list.size())};
    }
    for (const double number : list) {
      DVNN_TRY(check_range(number, -G_MAXFLOAT, G_MAXFLOAT));
    }
    static_cast<ConvertSettings*>(settings)->*member = {list.begin(), list.end()};
    return {};
  };
  row.get = [member](gconstpointer settings, GValue* value) {
    put_numbers(value, static_cast<const ConvertSettings*>(settings)->*member);
  };
  return row;
}

}  // namespace

// --- what the settings mean --------------------------------------------------------------------

image::View ConvertSettings::view(GstVideoOrientationMethod tagged) const {
  image::View view;
  view.region = roi;
  view.method = method;
  view.resize = resize;
  if (pad_color >= 0) view.pad_color = static_cast<uint32_t>(pad_color);
  const GstVideoOrientationMethod used =
      direction == GST_VIDEO_ORIENTATION_AUTO ? tagged : direction;
  // Our first values have GStreamer's order.
  if (used <= GST_VIDEO_ORIENTATION_UR_LL) {
    view.orientation = static_cast<image::Orientation>(used);
  }
  return view;
}

InputSpec ConvertSettings::stream_input() const {
  InputSpec input;
  input.order = order;
  for (size_t c = 0; c < 3; ++c) {
    input.mean[c] = mean[mean.size() == 3 ? c : 0];
    input.scale[c] = scale[scale.size() == 3 ? c : 0];
  }
  input.quant_scale = quant_scale;
  input.zero_point = zero_point;
  return input;
}

std::vector<int> ConvertSettings::stream_dimensions(int width, int height) const {
  const int channels = order == ChannelOrder::kGray ? 1 : 3;
  const Shape shape = {1, channels, height, width};
  if (layout != kDlhdl) {
    return caps_dimensions({ElementType::kFloat16, static_cast<Layout>(layout), shape});
  }
  auto dlhdl = DlhdlLayout::create(static_cast<int>(conv_threads));
  if (!dlhdl.ok()) return {};
  const int values = dlhdl.value().values_per_transfer();
  const auto blocks =
      static_cast<int>(dlhdl.value().elements(shape) / (int64_t{values} * height * width));
  return {values, height, width, blocks};
}

Result<TensorTarget> ConvertSettings::stream_target(const GstCaps* caps) const {
  DVNN_ASSIGN(const CapsTensor tensor, parse_tensor_caps(caps));
  TensorTarget target;
  target.desc.type = tensor.type;
  const std::vector<int>& d = tensor.dimensions;
  int width = 0, height = 0;
  if (layout == kDlhdl) {
    DVNN_ASSIGN(const DlhdlLayout dlhdl, DlhdlLayout::create(static_cast<int>(conv_threads)));
    target.dlhdl = dlhdl;
    height = d[1], width = d[2];
  } else {
    target.desc.layout = static_cast<Layout>(layout);
    const bool planes = target.desc.layout == Layout::kNchw;
    const bool columns = target.desc.layout == Layout::kNwhc || target.desc.layout == Layout::kWhc8;
    width = planes ? d[0] : columns ? d[2] : d[1];
    height = planes ? d[1] : columns ? d[1] : d[2];
  }
  const int channels = order == ChannelOrder::kGray ? 1 : 3;
  target.desc.shape = {1, channels, height, width};
  if (stream_dimensions(width, height) != d) {
    return malformed(format(
        "dimensions=%s do not go with the properties layout and color-order, which need something "
        "like %s",
        format_dimensions(d).c_str(), format_dimensions(stream_dimensions(width, height)).c_str()));
  }
  return target;
}

// --- properties --------------------------------------------------------------------------------

Properties<ConvertSettings> convert_properties() {
  using S = ConvertSettings;
  Properties<S> rows;
  rows.choice(&S::backend, When::kPlaying, register_enum("GstDvConvertBackend", kBackends),
              {"backend", "Backend",
               "Processor that turns pixels into the network's numbers: the CPU or the device"});
  rows.add(region_row());
  add_region_properties(&rows);
  rows.choice(&S::method, When::kPlaying, register_enum("GstDvConvertMethod", kMethods),
              {"method", "Method", "How pixels are resampled"});
  rows.choice(&S::resize, When::kPlaying, register_enum("GstDvConvertResize", kResizes),
              {"resize", "Resize", "How the frame is fitted into the tensor"});
  rows.number(&S::pad_color, When::kPlaying, -1, 0xffffff,
              {"pad-color", "Padding colour",
               "Colour of the borders that resize=letterbox leaves, 0xRRGGBB; -1 for the "
               "network's"});
  rows.choice(
      &S::direction, When::kControllable, GST_TYPE_VIDEO_ORIENTATION_METHOD,
      {"video-direction", "Video direction",
       "How the frame is turned and flipped before it is converted; auto follows the stream's "
       "tags"});
  rows.choice(
      &S::layout, When::kPlaying, register_enum("GstDvConvertLayout", kLayouts),
      {"layout", "Layout",
       "Layout of a stream of tensors, where no dvinfer downstream asks for its network's"});
  rows.number(&S::conv_threads, When::kPlaying, 1, 1024,
              {"conv-threads", "Convolution threads",
               "With layout=dlhdl, the processor's ConvThreadNumber, a square number"});
  rows.choice(&S::order, When::kPlaying, register_enum("GstDvConvertColorOrder", kOrders),
              {"color-order", "Colour order", "Channels of a stream of tensors"});
  rows.add(channels_row(
      &S::mean,
      number_array(
          "mean", "Mean",
          "In a stream of tensors, this is subtracted from pixels (0..255): one number, or "
          "one per channel",
          When::kPlaying),
      When::kPlaying));
  rows.add(channels_row(
      &S::scale,
      number_array(
          "scale", "Scale",
          "In a stream of tensors, the difference is multiplied by this: one number, or one "
          "per channel",
          When::kPlaying),
      When::kPlaying));
  rows.number(&S::quant_scale, When::kPlaying, G_MINFLOAT, G_MAXFLOAT,
              {"quant-scale", "Quantisation scale",
               "The value of one step in a stream of uint8 or int8 tensors"});
  rows.number(&S::zero_point, When::kPlaying, -128, 255,
              {"zero-point", "Zero point",
               "The integer that stands for 0 in a stream of uint8 or int8 tensors"});
  rows.text(&S::active_backend, When::kNever,
            {"active-backend", "Active backend",
             "Processor that makes the tensors: cpu, device, or none before there are any"});
  return rows;
}

}  // namespace dvnn::gst
