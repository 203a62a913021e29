// SPDX-License-Identifier: Apache-2.0
// Keras models, as they are handed over by the process that reads the HDF5 file: {"options",
// "version", "config": the architecture, "names": {group: [names]}, "arrays": {path: [dims]}}.
#include <vector>

#include "base/json.h"
#include "convert/convert.h"
#include "converter_options.h"
#include "import/keras/hdf5_reader.h"
#include "import/keras/import.h"
#include "json_mutator.h"
#include "target.h"

namespace dvnn::fuzz::keras_target {

using json = dvnn::Json;

DVNN_FUZZ_JSON("Activation", "AveragePooling1D", "AveragePooling2D", "BatchNormalization", "Conv1D",
               "Conv2D", "Conv2DTranspose", "Convolution2D", "Dense", "DepthwiseConv2D", "ELU",
               "GlobalAveragePooling2D", "GlobalMaxPooling2D", "GlobalMaxPooling1D", "LeakyReLU",
               "MaxPooling2D", "MaxPooling1D", "PReLU", "ReLU", "SeparableConv2D",
               "SeparableConv1D", "Softmax", "Add", "Average", "Concatenate", "Maximum", "Merge",
               "Multiply", "Permute", "Reshape", "Subtract", "UpSampling2D", "UpSampling1D",
               "ZeroPadding2D", "ZeroPadding1D", "Dropout", "Flatten", "InputLayer", "Model",
               "Sequential", "Functional", "class_name", "config", "layers", "name", "filters",
               "nb_filter", "nb_row", "nb_col", "kernel_size", "strides", "subsample", "padding",
               "border_mode", "same", "valid", "causal", "full", "dilation_rate", "use_bias",
               "bias", "activation", "relu", "softmax", "sigmoid", "tanh", "linear", "elu", "relu6",
               "hard_sigmoid", "pool_size", "data_format", "channels_first", "channels_last", "th",
               "tf", "dim_ordering", "batch_input_shape", "batch_shape", "inbound_nodes",
               "input_layers", "output_layers", "axis", "dims", "target_shape", "size",
               "interpolation", "nearest", "bilinear", "alpha", "max_value", "threshold",
               "negative_slope", "shared_axes", "epsilon", "scale", "center", "mode", "sum", "mul",
               "concat", "ave", "max", "units", "output_dim", "depth_multiplier", "groups",
               "concat_axis", "1.2.2", "2.4.0")

namespace {

// False if the arrays would be larger than is worth the time.
bool read_contents(const json& in, import::Hdf5Contents* contents) {
  constexpr int64_t kMostElements = 1 << 14;
  constexpr size_t kMostDims = 8;
  JsonReader reader(in, "it");
  const json* config = reader.member("config");
  const json* names = reader.member("names");
  const json* arrays = reader.member("arrays");
  const json* version = reader.member("version");
  if (config) {
    contents->attributes["/@model_config"] = {config->is_string() ? config->get<std::string>()
                                                                  : config->dump()};
  }
  if (version && version->is_string()) {
    contents->attributes["/@keras_version"] = {version->get<std::string>()};
  }
  static const json kNone = json::object();
  if (!names || !names->is_object()) names = &kNone;
  if (!arrays || !arrays->is_object()) arrays = &kNone;
  for (const auto& [group, list] : names->items()) {
    auto& texts = contents->attributes[group + "@weight_names"];
    for (const json& name : list) {
      if (name.is_string()) texts.push_back(name.get<std::string>());
    }
  }
  int64_t total = 0;
  for (const auto& [path, dims] : arrays->items()) {
    import::Hdf5Array& array = contents->arrays[path];
    int64_t count = 1;
    for (const json& d : dims) {
      const int64_t extent = d.is_number_integer() ? d.get<int64_t>() : 0;
      if (extent < 1 || extent > kMostElements || array.dims.size() == kMostDims) return false;
      if ((count *= extent) > kMostElements) return false;
      array.dims.push_back(extent);
    }
    if ((total += count) > kMostElements) return false;
    for (int64_t i = 0; i < count; ++i) {
      array.values.push_back(static_cast<float>(i * 37 % 101 - 50) / 64);
    }
  }
  return true;
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
}

static void try_input(const uint8_t* data, size_t size) {
  const auto parsed = parse_json(std::string(reinterpret_cast<const char*>(data), size), "it");
  if (!parsed.ok()) return;
  JsonReader in(parsed.value(), "it");
  const int64_t bits = in.integer("options", 0, 127, 0);
  import::Hdf5Contents contents;
  if (!in.ok() || !read_contents(parsed.value(), &contents)) return;
  constexpr int64_t kKeras3 = 64;  // the architecture is config.json's
  if (bits & kKeras3) {
    const auto config = contents.attributes.find("/@model_config");
    if (config == contents.attributes.end() || config->second.empty()) return;
    const std::string text = config->second[0];
    const convert::ConvertOptions options = fuzz::converter_options(static_cast<uint64_t>(bits));
    fuzz::accepted += fuzz::is_good(
        import::import_keras3(text, *import::Hdf5File::of(std::move(contents)), options.import));
    return;
  }
  convert::Report report;
  const auto model =
      convert::convert_keras(*import::Hdf5File::of(std::move(contents)), "it",
                             fuzz::converter_options(static_cast<uint64_t>(bits)), &report);
  fuzz::accepted += fuzz::is_good(model);
}

DVNN_FUZZ_JSON_TARGET(keras)

}  // namespace dvnn::fuzz::keras_target
