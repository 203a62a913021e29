// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "base/format.h"
#include "base/json.h"
#include "convert/convert.h"
#include "convert/ini_file.h"
#include "decode/decoder.h"
#include "layers/custom_library.h"
#include "network/dvn_file.h"
#include "network/model_decoder.h"
#include "plan/replan.h"
#include "tools/commands.h"
#include "tools/convert/accuracy.h"
#include "tools/convert/convert_outputs.h"
#include "tools/convert/convert_texts.h"
#include "tools/convert/mistakes.h"
#include "tools/convert/report.h"
#include "tools/inspect/work_share.h"
#include "tools/options.h"
#include "tools/progress.h"

namespace dvnn::tools {
namespace {

// Guesses what the files are if --from does not say.
std::string kind_of(const std::vector<std::string>& files) {
  if (files.size() != 1) return "caffe";
  for (const char* end : {".prototxt", ".caffemodel"}) {
    if (ends_with(files[0], end)) return "caffe";
  }
  for (const char* end : {".h5", ".hdf5", ".keras"}) {
    if (ends_with(files[0], end)) return "keras";
  }
  if (ends_with(files[0], ".dvn")) return "dvn";
  return "onnx";
}

// Takes over what an .ini file of the dv-sdk converter says; options on the command line come
// after.
Result<std::string> take_ini(const std::string& path, gboolean* verbose,
                             std::vector<std::string>* files, ConvertOutputs* outputs,
                             convert::ConvertOptions* options) {
  DVNN_ASSIGN(const convert::IniFile ini, convert::read_ini(path));
  *verbose |= ini.verbose;
  for (const std::string& note : ini.notes) {
    if (*verbose) std::printf("note: %s\n", printable(note).c_str());
  }
  if (!ini.custom_layer.empty() && options->import.custom_layers.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "'" + path +
                     "': INPUT.custom_layer is Python, which is not run here: declare its "
                     "layer types by --layer-types"};
  }
  if (options->name.empty()) options->name = ini.name;
  if (options->import.width == 0) {
    options->import.width = ini.width;
    options->import.height = ini.height;
  }
  options->quantise |= ini.quantise;
  options->hwc |= ini.hwc;
  options->as_vendor = true;
  const std::string folder = ini.output_folder + "/" + ini.name;
  if (g_mkdir_with_parents(folder.c_str(), 0777) != 0) {
    return Error{ErrorCode::kIo, "'" + folder + "' cannot be made"};
  }
  const std::string prefix = folder + "/" + ini.name;
  if (outputs->network.empty()) outputs->network = prefix + ".dvn";
  if (outputs->cpp_folder.empty() && ini.generates_source) outputs->cpp_folder = folder;
  if (outputs->dot.empty() && ini.generates_dot) outputs->dot = prefix + ".dot";
  *files = {ini.data};
  if (!ini.keras) *files = {ini.definition, ini.data};
  return std::string(ini.keras ? "keras" : "caffe");
}

// A network file for another size of input.
Result<network::Model> replan_file(const std::string& path,
                                   const convert::ConvertOptions& options) {
  DVNN_ASSIGN(network::Model model, network::read_dvn(path));
  if (options.import.width > 0) {
    auto replanned = plan::replan(model, options.import.width, options.import.height);
    if (!replanned.ok()) return replanned.error().within("'" + path + "'");
    model = std::move(replanned.value());
  }
  if (!options.name.empty()) model.name = options.name;
  if (!options.labels.empty()) model.labels = options.labels;
  if (!options.decoder.empty()) {
    model.decoder = {options.decoder, options.decoder_params};
    const Shape& input = model.tensor(model.input.tensor).desc.shape;
    if (input.rank == 4) {
      decode::set_input_size(options.decoder, {double(input.w()), double(input.h())},
                             &model.decoder.params);
    }
    const auto decoder = network::create_decoder(model, options.decoder_library.get());
    if (!decoder.ok()) return decoder.error().within("'" + path + "'");
  }
  return model;
}

Result<network::Model> convert_files(const std::string& kind, const std::vector<std::string>& files,
                                     const convert::ConvertOptions& options,
                                     convert::Report* report) {
  if (kind == "dvn") return replan_file(files[0], options);
  if (kind == "keras") return convert::convert_keras(files[0], options, report);
  if (kind == "onnx") return convert::convert_onnx(files[0], options, report);
  return convert::convert_caffe(files[0], files[1], options, report);
}

// Says which files are missing.
std::string wanted_files(const std::string& kind, const std::vector<std::string>& files,
                         bool has_output) {
  if (kind == "caffe" && files.size() == 1) {
    const bool weights = ends_with(files[0], ".caffemodel");
    return "'" + files[0] + "' is half of a Caffe model: name its " +
           (weights ? "prototxt before it" : "caffemodel after it");
  }
  if (!files.empty() && !has_output) return "says no file to write: add -o NETWORK.dvn";
  return "needs a prototxt and a caffemodel, or an HDF5, ONNX, .ini or .dvn file, and -o FILE";
}

void print_bits(const plan::WeightBits& bits, size_t bytes) {
  if (bits.samples == 0) {
    std::printf(
        "all weights have 8 bits: the network is too large to measure what that costs; "
        "--check tells\n");
    return;
  }
  std::printf(
      "%zu of %zu layers keep 16 bits, %zu bytes of weights; least cosine of an output %.5f "
      "on %zu picture%s\n",
      bits.kept, bits.layers, bytes, bits.cosine, bits.samples, bits.samples == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

// What may surprise is said to all; what was passed over, and where steps run, to who asks.
void print_notes(const convert::Report& report, bool verbose) {
  const auto print = [](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) std::printf("note: %s\n", printable(line).c_str());
  };
  print(report.warnings);
  if (!verbose) return;
  print(report.skipped);
  for (const plan::StepNote& step : report.steps) {
    const std::string why = step.why.empty() ? "" : " (" + step.why + ")";
    std::printf("%s%s: %s\n", step.where.c_str(), why.c_str(), joined(step.layers, " + ").c_str());
  }
}

// Only networks that were planned here have a report; one that is planned again does not.
std::string without_reuse(const convert::Report& report) {
  if (report.io_sum_bytes == 0) return "";
  return format(" (%llu without re-use)", static_cast<unsigned long long>(report.io_sum_bytes));
}

}  // namespace

int convert_command(int argc, char** argv) {
  ConvertTexts t;
  gboolean verbose = FALSE, transposed = FALSE, quantise = FALSE, as_it_is = FALSE;
  const std::string decoder_help =
      "Decoder of the outputs: " + joined(decode::decoder_names(), ", ");
  const GOptionEntry entries[] = {
      {"from", 0, 0, G_OPTION_ARG_STRING, t.from.out(),
       "Kind of model: caffe, keras, onnx or dvn (default: by the files' names)", "KIND"},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, t.output.out(), "The file to write", "FILE.dvn"},
      {"name", 0, 0, G_OPTION_ARG_STRING, t.name.out(), "Name of the network", "NAME"},
      {"mean", 0, 0, G_OPTION_ARG_STRING, t.mean.out(),
       "Taken off each channel, in pixel values 0..255 (default 0)", "M[,M,M]"},
      {"scale", 0, 0, G_OPTION_ARG_STRING, t.scale.out(),
       "Multiplies each channel after the mean is off (default 1)", "S[,S,S]"},
      {"order", 0, 0, G_OPTION_ARG_STRING, t.order.out(),
       "Channels of the input: bgr (default), rgb or gray", "ORDER"},
      {"resize", 0, 0, G_OPTION_ARG_STRING, t.resize.out(),
       "How a picture becomes the input: stretch (default), letterbox, letterbox-top-left, crop",
       "RULE"},
      {"transposed", 0, 0, G_OPTION_ARG_NONE, &transposed,
       "The network wants pictures whose rows are columns, as those of MATLAB are", nullptr},
      {"pad-value", 0, 0, G_OPTION_ARG_STRING, t.pad.out(),
       "Pixel value beside a letterboxed picture (default 0)", "P[,P,P]"},
      {"labels", 0, 0, G_OPTION_ARG_FILENAME, t.labels.out(),
       "Text file with a label per line, class 0 first", "FILE"},
      {"preset", 0, 0, G_OPTION_ARG_STRING, t.preset.out(),
       "Picture, decoder and labels of a family of models, see dvnet presets; other options stand "
       "above it",
       "NAME"},
      {"decoder", 0, 0, G_OPTION_ARG_STRING, t.decoder.out(), decoder_help.c_str(), "NAME"},
      {"decoder-params", 0, 0, G_OPTION_ARG_STRING, t.params.out(),
       "Its parameters: a JSON file, or the JSON itself", "JSON"},
      {"decoder-library", 0, 0, G_OPTION_ARG_FILENAME, t.decoder_library.out(),
       "The library that has it, where it is none of ours", "LIBRARY"},
      {"layout", 0, 0, G_OPTION_ARG_STRING, t.layout.out(),
       "Order of the device's buffers: whc (default), or hwc with transposed weights", "ORDER"},
      {"size", 0, 0, G_OPTION_ARG_STRING, t.size.out(),
       "Size of the input in pixels instead of the model's own", "WxH"},
      {"outputs", 0, 0, G_OPTION_ARG_STRING, t.outputs.out(),
       "Stop at these results, by name: what others need is left out", "NAME[,NAME]"},
      {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, t.set.out(),
       "The values of an input that is no picture: a number for all of it, or an array; once for "
       "each input",
       "NAME=VALUE|FILE.npy"},
      {"quantize", 0, 0, G_OPTION_ARG_NONE, &quantise,
       "Weights of 8 bits, by k-means per layer: half the bytes. Layers that would cost the "
       "outputs "
       "too much (cosine below 0.999) keep 16",
       nullptr},
      {"no-rescale", 0, 0, G_OPTION_ARG_NONE, &as_it_is,
       "Leave values beyond 16 bits as they are, instead of keeping a power of two of them",
       nullptr},
      {"layer-types", 0, 0, G_OPTION_ARG_FILENAME, t.layer_types.out(),
       "Layer types of your own: a JSON file with their parameters and output shapes", "FILE"},
#ifdef DVNN_HAVE_OPENCV
      {"custom-layers", 0, 0, G_OPTION_ARG_FILENAME, t.custom_layers.out(),
       "For --check: the library that has them", "LIBRARY"},
#endif
      {"emit-cpp", 0, 0, G_OPTION_ARG_FILENAME, t.emit_cpp.out(),
       "Write C++ sources and NAME_weights.bin, too, as the dv-sdk converter does", "FOLDER"},
      {"dot", 0, 0, G_OPTION_ARG_FILENAME, t.dot.out(), "Write the steps as a Graphviz graph, too",
       "FILE"},
      {"svg", 0, 0, G_OPTION_ARG_FILENAME, t.svg.out(),
       "Write them as a picture, too (with Graphviz)", "FILE"},
      {"json", 0, 0, G_OPTION_ARG_FILENAME, t.json.out(),
       "Write the network's description as JSON, too", "FILE"},
      {"report", 0, 0, G_OPTION_ARG_FILENAME, t.report.out(),
       "Write what was decided as JSON: steps, reasons, MACs, bytes, what --check finds", "FILE"},
#ifdef DVNN_HAVE_OPENCV
      {"check", 0, 0, G_OPTION_ARG_FILENAME, t.check.out(),
       "Tell what the device's 16 bits (or 8) lose against FP32 on a folder of pictures, and "
       "measure "
       "values with them",
       "FOLDER"},
#endif
      {"verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose, "Print which layers run where, and why",
       nullptr},
      {nullptr, 0, 0, G_OPTION_ARG_NONE, nullptr, nullptr, nullptr}};
  auto args = parse_options(
      "DEPLOY.prototxt WEIGHTS.caffemodel | MODEL.h5 | MODEL.onnx | MODEL.ini | "
      "NETWORK.dvn --size WxH -o NETWORK.dvn",
      "Converts a model to a network file for dvinfer and dvnet.", entries, argc, argv);
  if (!args.ok()) return wrong_usage("convert", args.error().message);
  std::vector<std::string> files = args.value();
  order_caffe_files(&files);
  std::string kind = t.from.text(kind_of(files).c_str());
  ConvertOutputs outputs = {t.output.text(), t.emit_cpp.text(), t.dot.text(),
                            t.svg.text(),    t.json.text(),     t.report.text()};
  convert::ConvertOptions options;
  if (Status s = fill_options(t, &options); !s.ok()) return fail(s.error());
  options.quantise = quantise;
  options.rescale = !as_it_is;
  if (files.size() == 1 && ends_with(files[0], ".ini")) {
    auto ini_kind = take_ini(files[0], &verbose, &files, &outputs, &options);
    if (!ini_kind.ok()) return fail(ini_kind.error());
    kind = ini_kind.value();
  }
  if (kind != "caffe" && kind != "keras" && kind != "onnx" && kind != "dvn") {
    return wrong_usage("convert",
                       "--from '" + kind + "' is not supported (caffe, keras, onnx and dvn are)");
  }
  if (kind == "dvn" && (t.outputs.given() || !options.import.inputs.empty())) {
    return wrong_usage("convert", "--outputs and --set need the model that the network is of");
  }
  if (kind == "dvn" && (t.check.given() || t.report.given())) {
    return wrong_usage("convert", "--check and --report need the model that the network is of");
  }
  if (kind == "dvn" && (t.mean.given() || t.scale.given() || t.order.given() || t.resize.given() ||
                        t.pad.given() || t.layout.given() || transposed || quantise || as_it_is)) {
    return wrong_usage("convert",
                       "a network file keeps its picture, layout and weights as they are");
  }
  if (kind == "dvn" && t.layer_types.given()) {
    return wrong_usage("convert",
                       "--layer-types are those of a model, which a network file is not");
  }
  if (t.custom_layers.given() && !t.check.given()) {
    return wrong_usage("convert", "--custom-layers runs layers for --check, which is not given");
  }
  const std::string advice = t.from.given() ? "" : advice_on(files);
  if (!advice.empty()) return wrong_usage("convert", advice);
  const std::string decoder_advice =
      t.decoder_library.given() ? "" : advice_on_decoder(t.decoder.text());
  if (!decoder_advice.empty()) return wrong_usage("convert", decoder_advice);
  if (files.size() != (kind == "caffe" ? 2u : 1u) || outputs.network.empty()) {
    return wrong_usage("convert", wanted_files(kind, files, !outputs.network.empty()));
  }
#ifdef DVNN_HAVE_OPENCV
  if (t.check.given()) {
    options.read_samples = [&t](const Shape& input, const InputSpec& picture) {
      return read_samples(t.check.text(), input, picture);
    };
  }
#endif
  options.picture.transposed |= transposed == TRUE;
  convert::Report report;
  auto progress = std::make_unique<Progress>("converting " + files[0], 0);
  options.weighing = [&progress](size_t done, size_t total) {
    if (done > 0) return progress->advance();
    progress.reset();
    progress = std::make_unique<Progress>("trying which layers need 16 bits, run", total);
  };
  auto model = convert_files(kind, files, options, &report);
  progress.reset();
  if (!model.ok()) return fail(model.error());
  model.value().producer = std::string("dvnet ") + DVNN_VERSION;
  if (Status s = write_outputs(outputs, model.value()); !s.ok()) return fail(s.error());
  if (Status s = check_written(outputs.network, model.value()); !s.ok()) return fail(s.error());
  if (options.quantise && kind != "dvn") print_bits(report.bits, model.value().weights.size());
  if (report.rescaled > 0) {
    std::printf(
        "values reach up to %g, near the 65504 of 16 bits or beyond: %d are kept as a power of "
        "two\n",
        static_cast<double>(report.largest), report.rescaled);
  }
  print_notes(report, verbose);
  if (verbose) {
    std::printf("share: %s\n", to_text(share_of(model.value(), device::Hardware())).c_str());
  }
  std::printf("%s: %zu steps, %zu bytes of weights, I/O buffer %llu bytes%s\n",
              printable(outputs.network).c_str(), model.value().steps.size(),
              model.value().weights.size(), static_cast<unsigned long long>(model.value().io_bytes),
              without_reuse(report).c_str());
  if (model.value().decoder.name.empty()) {
    std::printf(
        "note: no decoder: dvnet run prints numbers, and dvdecode refuses the network. Name one by "
        "--preset (dvnet presets lists them) or --decoder\n");
  }
  Accuracy accuracy;
#ifdef DVNN_HAVE_OPENCV
  std::shared_ptr<const layers::CustomLibrary> library;
  if (t.custom_layers.given()) {
    auto opened = layers::CustomLibrary::open(t.custom_layers.text());
    if (!opened.ok()) return fail(opened.error());
    library = std::move(opened.value());
  }
  if (t.check.given()) {
    auto measured = measure_accuracy(model.value(), *report.imported, options.picture,
                                     t.check.text(), library, options.decoder_library.get());
    if (!measured.ok()) return fail(measured.error());
    accuracy = std::move(measured.value());
    print(accuracy);
  }
#endif
  if (!outputs.report.empty()) {
    const auto json = report_to_json(model.value(), report, accuracy);
    const std::string text = json.dump(1);
    if (Status s = write_text(outputs.report, text + "\n"); !s.ok()) return fail(s.error());
  }
  return 0;
}

}  // namespace dvnn::tools
