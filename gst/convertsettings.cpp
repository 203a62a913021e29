// SPDX-License-Identifier: Apache-2.0
#include "convertsettings.h"

#include "base/format.h"

namespace {

enum {
  PROP_0,
  PROP_BACKEND,
  PROP_ROI,
  PROP_METHOD,
  PROP_RESIZE,
  PROP_PAD_COLOR,
  PROP_VIDEO_DIRECTION,
  PROP_LAYOUT,
  PROP_CONV_THREADS,
  PROP_COLOR_ORDER,
  PROP_MEAN,
  PROP_SCALE,
  PROP_QUANT_SCALE,
  PROP_ZERO_POINT,
  PROP_FREE,
};

// What the network says, in properties whose other values are one above ours.
constexpr gint kAsAsked = 0;

constexpr gint kDlhdl = static_cast<gint>(dvnn::Layout::kHwc8) + 1;

const GEnumValue kBackends[] = {
    {static_cast<gint>(dvnn::gst::Backend::kAuto),
     "The device where it gives the same result, else the CPU", "auto"},
    {static_cast<gint>(dvnn::gst::Backend::kCpu), "The CPU", "cpu"},
    {static_cast<gint>(dvnn::gst::Backend::kDevice),
     "The device takes 8-bit pixels; an error where it cannot", "device"},
    {0, nullptr, nullptr}};

const GEnumValue kMethods[] = {{kAsAsked, "As the network asks", "auto"},
                               {1 + static_cast<gint>(dvnn::ResizeMethod::kBilinear),
                                "Bilinear, as OpenCV's INTER_LINEAR", "bilinear"},
                               {1 + static_cast<gint>(dvnn::ResizeMethod::kNearest),
                                "Nearest pixel, as OpenCV's INTER_NEAREST", "nearest"},
                               {1 + static_cast<gint>(dvnn::ResizeMethod::kArea),
                                "Average over the area, which does not alias", "area"},
                               {0, nullptr, nullptr}};

const GEnumValue kResizes[] = {
    {kAsAsked, "As the network asks", "auto"},
    {1 + static_cast<gint>(dvnn::ResizeRule::kStretch), "The picture onto the whole tensor",
     "stretch"},
    {1 + static_cast<gint>(dvnn::ResizeRule::kLetterbox), "Aspect kept, centred, borders filled",
     "letterbox"},
    {1 + static_cast<gint>(dvnn::ResizeRule::kLetterboxTopLeft),
     "Aspect kept, at the top left corner, the rest filled", "letterbox-top-left"},
    {1 + static_cast<gint>(dvnn::ResizeRule::kCrop), "Aspect kept, the picture's centre", "crop"},
    {0, nullptr, nullptr}};

const GEnumValue kOrders[] = {
    {static_cast<gint>(dvnn::ChannelOrder::kRgb), "Red, green, blue", "rgb"},
    {static_cast<gint>(dvnn::ChannelOrder::kBgr), "Blue, green, red", "bgr"},
    {static_cast<gint>(dvnn::ChannelOrder::kGray), "One channel: luma", "gray"},
    {0, nullptr, nullptr}};

// As the public enumeration, and one more.
const GEnumValue kLayouts[] = {
    {static_cast<gint>(dvnn::Layout::kNchw), "Planes, row by row", "nchw"},
    {static_cast<gint>(dvnn::Layout::kNhwc), "Channels side by side, row by row (DHWC)", "nhwc"},
    {static_cast<gint>(dvnn::Layout::kNwhc), "Channels side by side, column by column (DWHC)",
     "nwhc"},
    {static_cast<gint>(dvnn::Layout::kWhc8), "As nwhc, in chunks of 8 channels", "whc8"},
    {static_cast<gint>(dvnn::Layout::kHwc8), "As nhwc, in chunks of 8 channels", "hwc8"},
    {kDlhdl, "Input of MathWorks' deep learning processor, see conv-threads", "dlhdl"},
    {0, nullptr, nullptr}};

GType enum_type(const char* name, const GEnumValue* values) {
  GType type = g_type_from_name(name);
  if (type == 0) {
    type = g_enum_register_static(name, values);
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  }
  return type;
}

GParamSpec* number_array(const char* name, const char* nick, const char* blurb, GParamFlags flags) {
  return gst_param_spec_array(
      name, nick, blurb,
      g_param_spec_double("value", "Value", "A number", -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags),
      flags);
}

std::vector<double> numbers(const GValue* value) {
  std::vector<double> list;
  for (guint i = 0; i < gst_value_array_get_size(value); ++i) {
    GValue number = G_VALUE_INIT;
    g_value_init(&number, G_TYPE_DOUBLE);
    g_value_transform(gst_value_array_get_value(value, i), &number);
    list.push_back(g_value_get_double(&number));
    g_value_unset(&number);
  }
  return list;
}

template <typename T>
void put_numbers(GValue* value, const std::vector<T>& list) {
  for (T number : list) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_DOUBLE);
    g_value_set_double(&item, static_cast<double>(number));
    gst_value_array_append_and_take_value(value, &item);
  }
}

std::vector<float> floats(const GValue* value) {
  const std::vector<double> list = numbers(value);
  return {list.begin(), list.end()};
}

template <typename T>
std::optional<T> if_asked(const GValue* value) {
  const gint chosen = g_value_get_enum(value);
  if (chosen == kAsAsked) return std::nullopt;
  return static_cast<T>(chosen - 1);
}

template <typename T>
void put_if_asked(GValue* value, const std::optional<T>& setting) {
  g_value_set_enum(value, setting ? 1 + static_cast<gint>(*setting) : kAsAsked);
}

}  // namespace

namespace dvnn::gst {

const guint kFirstFreeProperty = PROP_FREE;

// --- what the settings mean --------------------------------------------------------------------

PictureSpec ConvertSettings::apply(const PictureSpec& wanted) const {
  PictureSpec picture = wanted;
  picture.roi = roi;
  picture.method = method.value_or(wanted.method);
  picture.resize = resize.value_or(wanted.resize);
  const GstVideoOrientationMethod used =
      direction == GST_VIDEO_ORIENTATION_AUTO ? tagged_direction : direction;
  // Ours are in GStreamer's order.
  if (used <= GST_VIDEO_ORIENTATION_UR_LL) picture.orientation = static_cast<Orientation>(used);
  if (!pad_colour) return picture;
  const std::array<uint8_t, 3> rgb = {{static_cast<uint8_t>(*pad_colour >> 16),
                                       static_cast<uint8_t>(*pad_colour >> 8),
                                       static_cast<uint8_t>(*pad_colour)}};
  picture.pad_value = rgb;
  if (wanted.order == ChannelOrder::kBgr) picture.pad_value = {{rgb[2], rgb[1], rgb[0]}};
  if (wanted.order == ChannelOrder::kGray) {
    // ITU-R BT.601
    picture.pad_value[0] =
        static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
  }
  return picture;
}

Result<PictureSpec> ConvertSettings::stream_picture() const {
  PictureSpec picture;
  picture.order = order;
  for (const auto* list : {&mean, &scale}) {
    if (list->size() == 1 || list->size() == 3) continue;
    return Error{ErrorCode::kInvalidArgument,
                 format("property '%s' needs one number or three, not %zu",
                        list == &mean ? "mean" : "scale", list->size())};
  }
  for (size_t c = 0; c < 3; ++c) {
    picture.mean[c] = mean[mean.size() == 3 ? c : 0];
    picture.scale[c] = scale[scale.size() == 3 ? c : 0];
  }
  picture.quant_scale = quant_scale;
  picture.zero_point = zero_point;
  return apply(picture);
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
    return Error{ErrorCode::kMalformed,
                 format("dimensions=%s do not go with the properties layout and color-order, which "
                        "need something like %s",
                        format_dimensions(d).c_str(),
                        format_dimensions(stream_dimensions(width, height)).c_str())};
  }
  return target;
}

// --- properties --------------------------------------------------------------------------------

void install_convert_properties(GObjectClass* klass) {
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_PLAYING);
  g_object_class_install_property(
      klass, PROP_BACKEND,
      g_param_spec_enum("backend", "Backend", "Who turns pixels into the network's numbers",
                        enum_type("GstDvConvertBackend", kBackends),
                        static_cast<gint>(Backend::kAuto), flags));
  g_object_class_install_property(
      klass, PROP_ROI,
      number_array("roi", "Region of interest",
                   "The part of the frame that is looked at: <x, y, width, height> in fractions of "
                   "its size (default: all of it, <0, 0, 1, 1>)",
                   flags));
  g_object_class_install_property(
      klass, PROP_METHOD,
      g_param_spec_enum("method", "Method", "How pixels are resampled",
                        enum_type("GstDvConvertMethod", kMethods), kAsAsked, flags));
  g_object_class_install_property(
      klass, PROP_RESIZE,
      g_param_spec_enum("resize", "Resize", "How the picture is fitted into the tensor",
                        enum_type("GstDvConvertResize", kResizes), kAsAsked, flags));
  g_object_class_install_property(
      klass, PROP_PAD_COLOR,
      g_param_spec_int("pad-color", "Padding colour",
                       "Colour of the borders that resize=letterbox leaves, 0xRRGGBB (-1: as the "
                       "network asks)",
                       -1, 0xffffff, -1, flags));
  g_object_class_override_property(klass, PROP_VIDEO_DIRECTION, "video-direction");
  g_object_class_install_property(
      klass, PROP_LAYOUT,
      g_param_spec_enum("layout", "Layout",
                        "Of a stream of tensors: how elements lie. Without effect where a dvinfer "
                        "asks for its network's, as are the properties below",
                        enum_type("GstDvConvertLayout", kLayouts), static_cast<gint>(Layout::kNhwc),
                        flags));
  g_object_class_install_property(
      klass, PROP_CONV_THREADS,
      g_param_spec_uint("conv-threads", "Convolution threads",
                        "With layout=dlhdl: the processor's ConvThreadNumber, a square", 1, 1024,
                        16, flags));
  g_object_class_install_property(
      klass, PROP_COLOR_ORDER,
      g_param_spec_enum("color-order", "Colour order", "Of a stream of tensors: its channels",
                        enum_type("GstDvConvertColorOrder", kOrders),
                        static_cast<gint>(ChannelOrder::kRgb), flags));
  g_object_class_install_property(
      klass, PROP_MEAN,
      number_array("mean", "Mean",
                   "Of a stream of tensors: what is subtracted from pixels of 0..255, one number "
                   "or one per channel (default: 0)",
                   flags));
  g_object_class_install_property(
      klass, PROP_SCALE,
      number_array("scale", "Scale",
                   "Of a stream of tensors: what the difference is multiplied by, one number or "
                   "one per channel (default: 1)",
                   flags));
  g_object_class_install_property(
      klass, PROP_QUANT_SCALE,
      g_param_spec_float("quant-scale", "Quantisation scale",
                         "Of a stream of uint8 or int8 tensors: the value of one step", G_MINFLOAT,
                         G_MAXFLOAT, 1, flags));
  g_object_class_install_property(
      klass, PROP_ZERO_POINT,
      g_param_spec_int("zero-point", "Zero point",
                       "Of a stream of uint8 or int8 tensors: the integer that stands for 0", -128,
                       255, 0, flags));
}

bool set_convert_property(ConvertSettings* settings, guint id, const GValue* value) {
  ConvertSettings& s = *settings;
  switch (id) {
    case PROP_BACKEND:
      s.backend = static_cast<Backend>(g_value_get_enum(value));
      return true;
    case PROP_ROI: {
      const std::vector<double> list = numbers(value);
      if (list.size() == 4) {
        s.roi = {list[0], list[1], list[2], list[3]};
      } else {
        g_warning("property 'roi' needs four numbers: <x, y, width, height>");
      }
      return true;
    }
    case PROP_METHOD:
      s.method = if_asked<ResizeMethod>(value);
      return true;
    case PROP_RESIZE:
      s.resize = if_asked<ResizeRule>(value);
      return true;
    case PROP_PAD_COLOR:
      s.pad_colour.reset();
      if (g_value_get_int(value) >= 0) s.pad_colour = static_cast<guint>(g_value_get_int(value));
      return true;
    case PROP_VIDEO_DIRECTION:
      s.direction = static_cast<GstVideoOrientationMethod>(g_value_get_enum(value));
      return true;
    case PROP_LAYOUT:
      s.layout = g_value_get_enum(value);
      return true;
    case PROP_CONV_THREADS:
      s.conv_threads = g_value_get_uint(value);
      return true;
    case PROP_COLOR_ORDER:
      s.order = static_cast<ChannelOrder>(g_value_get_enum(value));
      return true;
    case PROP_MEAN:
      s.mean = floats(value);
      return true;
    case PROP_SCALE:
      s.scale = floats(value);
      return true;
    case PROP_QUANT_SCALE:
      s.quant_scale = g_value_get_float(value);
      return true;
    case PROP_ZERO_POINT:
      s.zero_point = g_value_get_int(value);
      return true;
    default:
      return false;
  }
}

bool get_convert_property(const ConvertSettings& s, guint id, GValue* value) {
  switch (id) {
    case PROP_BACKEND:
      g_value_set_enum(value, static_cast<gint>(s.backend));
      return true;
    case PROP_ROI:
      put_numbers(value, std::vector<double>{s.roi.x, s.roi.y, s.roi.width, s.roi.height});
      return true;
    case PROP_METHOD:
      put_if_asked(value, s.method);
      return true;
    case PROP_RESIZE:
      put_if_asked(value, s.resize);
      return true;
    case PROP_PAD_COLOR:
      g_value_set_int(value, s.pad_colour ? static_cast<gint>(*s.pad_colour) : -1);
      return true;
    case PROP_VIDEO_DIRECTION:
      g_value_set_enum(value, s.direction);
      return true;
    case PROP_LAYOUT:
      g_value_set_enum(value, s.layout);
      return true;
    case PROP_CONV_THREADS:
      g_value_set_uint(value, s.conv_threads);
      return true;
    case PROP_COLOR_ORDER:
      g_value_set_enum(value, static_cast<gint>(s.order));
      return true;
    case PROP_MEAN:
      put_numbers(value, s.mean);
      return true;
    case PROP_SCALE:
      put_numbers(value, s.scale);
      return true;
    case PROP_QUANT_SCALE:
      g_value_set_float(value, s.quant_scale);
      return true;
    case PROP_ZERO_POINT:
      g_value_set_int(value, s.zero_point);
      return true;
    default:
      return false;
  }
}

}  // namespace dvnn::gst
