// SPDX-License-Identifier: Apache-2.0
#include <glib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "convert/convert.h"
#include "convert/ini_file.h"
#include "layers/custom_library.h"
#include "tools/commands.h"
#include "tools/convert/accuracy.h"
#include "tools/convert/convert_options.h"
#include "tools/convert/convert_outputs.h"
#include "tools/convert/input_kind.h"
#include "tools/inspect/estimates.h"
#include "tools/options.h"
#include "tools/progress.h"

namespace dvnn::tools {
namespace {

#ifdef DVNN_PICTURE_READER
constexpr bool kReadsPictures = true;
#else
constexpr bool kReadsPictures = false;
#endif

// A parsed command line.
struct Conversion {
  const InputKind* kind = nullptr;  // null: --from has an unknown value
  std::vector<std::string> files;
  ConvertOutputs outputs;
  convert::ConvertOptions options;
  bool verbose = false;
};

// Applies an .ini file of the dv-sdk converter; options on the command line take precedence.
Status take_ini(const std::string& path, Conversion* to) {
  DVNN_ASSIGN(const convert::IniFile ini, convert::read_ini(path));
  to->verbose |= ini.verbose;
  for (const std::string& note : ini.notes) {
    if (to->verbose) std::printf("note: %s\n", printable(note).c_str());
  }
  convert::ConvertOptions& options = to->options;
  if (!ini.custom_layer.empty() && options.import.custom_layers.empty()) {
    return unsupported("'" + path +
                       "': INPUT.custom_layer is Python, which is not run here: declare its layer "
                       "types by --layer-types");
  }
  if (options.name.empty()) options.name = ini.name;
  if (options.import.width == 0) {
    options.import.width = ini.width;
    options.import.height = ini.height;
  }
  options.quantise |= ini.quantise;
  options.hwc |= ini.hwc;
  options.as_vendor = true;
  const std::string folder = ini.output_folder + "/" + ini.name;
  if (g_mkdir_with_parents(folder.c_str(), 0777) != 0) {
    return Error{ErrorCode::kIo, "'" + folder + "' cannot be made"};
  }
  const std::string prefix = folder + "/" + ini.name;
  ConvertOutputs& outputs = to->outputs;
  if (outputs.network.empty()) outputs.network = prefix + ".dvn";
  if (outputs.cpp_folder.empty() && ini.generates_source) outputs.cpp_folder = folder;
  if (outputs.dot.empty() && ini.generates_dot) outputs.dot = prefix + ".dot";
  to->kind = find_input_kind(ini.keras ? "keras" : "caffe");
  to->files = {ini.data};
  if (!ini.keras) to->files = {ini.definition, ini.data};
  return {};
}

// --- parse --------------------------------------------------------------------------------------

Result<Conversion> parse(const Arguments& arguments) {
  Conversion asked;
  asked.files = arguments.files();
  order_caffe_files(&asked.files);
  asked.kind = arguments.given("from") ? find_input_kind(arguments.text("from"))
                                       : guess_input_kind(asked.files);
  asked.outputs = {arguments.text("output"), arguments.text("emit-cpp"), arguments.text("dot"),
                   arguments.text("svg"),    arguments.text("json"),     arguments.text("report")};
  asked.verbose = arguments.given("verbose");
  DVNN_TRY(fill_options(arguments, &asked.options));
  if (asked.files.size() == 1 && ends_with(asked.files[0], ".ini")) {
    DVNN_TRY(take_ini(asked.files[0], &asked));
  }
  if constexpr (kReadsPictures) {
    if (arguments.given("check")) {
      asked.options.read_samples = [folder = arguments.text("check")](const Shape& input,
                                                                      const InputSpec& picture) {
        return read_samples(folder, input, picture);
      };
    }
  }
  return asked;
}

// --- check --------------------------------------------------------------------------------------

// Returns an error that tells which files are missing.
std::string wanted_files(const Conversion& asked) {
  const std::vector<std::string>& files = asked.files;
  if (asked.kind->files == 2 && files.size() == 1) {
    const bool weights = ends_with(files[0], ".caffemodel");
    return "'" + files[0] + "' is half of a Caffe model: name its " +
           (weights ? "prototxt before it" : "caffemodel after it");
  }
  if (!files.empty() && asked.outputs.network.empty()) {
    return "says no file to write: add -o NETWORK.dvn";
  }
  return "needs a prototxt and a caffemodel, or an HDF5, ONNX, .tflite, .ini or .dvn file, and -o "
         "FILE";
}

// Returns an error if an option is given that does not apply to network files, or an empty string.
std::string mistake_of_network(const Arguments& arguments) {
  const struct {
    std::vector<const char*> options;
    const char* mistake;
  } kMistakes[] = {
      {{"outputs", "set", "state", "live"},
       "--outputs, --set, --state and --live need the model that the network is of"},
      {{"check", "report"}, "--check and --report need the model that the network is of"},
      {{"mean", "scale", "order", "resize", "pad-value", "layout", "transposed", "quantize",
        "no-rescale", "no-rounding"},
       "a network file keeps its picture, layout and weights as they are"},
      {{"layer-types"}, "--layer-types are those of a model, which a network file is not"}};
  for (const auto& [options, mistake] : kMistakes) {
    for (const char* option : options) {
      if (arguments.given(option)) return mistake;
    }
  }
  return "";
}

// Returns the error of a command line, or an empty string.
std::string check(const Arguments& arguments, const Conversion& asked) {
  if (!asked.kind) {
    return "--from '" + arguments.text("from") + "' is not supported (" + input_kind_names() +
           " are)";
  }
  if (asked.kind->network) {
    const std::string mistake = mistake_of_network(arguments);
    if (!mistake.empty()) return mistake;
  }
  for (const char* option : {"no-rounding", "state", "live"}) {
    if (arguments.given(option) && asked.kind != find_input_kind("onnx")) {
      return std::string("--") + option + " is for ONNX models";
    }
  }
  if (!kReadsPictures && arguments.given("check")) {
    return "--check reads pictures, which this dvnet was built without";
  }
  if (arguments.given("custom-layers") && !arguments.given("check")) {
    return "--custom-layers runs layers for --check, which is not given";
  }
  if (!arguments.given("from")) {
    const std::string advice = advice_on(asked.files);
    if (!advice.empty()) return advice;
  }
  if (!arguments.given("decoder-library")) {
    const std::string advice = advice_on_decoder(arguments.text("decoder"));
    if (!advice.empty()) return advice;
  }
  const bool complete = asked.files.size() == asked.kind->files && !asked.outputs.network.empty();
  return complete ? "" : wanted_files(asked);
}

// --- run ----------------------------------------------------------------------------------------

// Converts, and writes all files but the report.
Result<network::Model> run(const Conversion& asked, convert::Report* report) {
  auto progress = std::make_unique<Progress>("converting " + asked.files[0], 0);
  convert::ConvertOptions options = asked.options;
  options.weighing = [&progress](size_t done, size_t total) {
    if (done > 0) return progress->advance();
    progress.reset();
    progress = std::make_unique<Progress>("trying which layers need 16 bits, run", total);
  };
  DVNN_ASSIGN(network::Model model, asked.kind->convert(asked.files, options, report));
  progress.reset();
  model.producer = std::string("dvnet ") + DVNN_VERSION;
  DVNN_TRY(write_outputs(asked.outputs, model));
  DVNN_TRY(check_written(asked.outputs.network, model));
  return model;
}

// --- report -------------------------------------------------------------------------------------

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

// Prints warnings always; skipped fields, and where each step runs, only with --verbose.
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

// Returns nothing for networks that were only planned again, which have no report.
std::string without_reuse(const convert::Report& report) {
  if (report.io_sum_bytes == 0) return "";
  return format(" (%llu without re-use)", static_cast<unsigned long long>(report.io_sum_bytes));
}

void print_network(const Conversion& asked, const network::Model& model,
                   const convert::Report& report) {
  if (asked.options.quantise && !asked.kind->network) {
    print_bits(report.bits, model.weights.size());
  }
  if (report.rescaled > 0) {
    std::printf(
        "values reach up to %g, near the 65504 of 16 bits or beyond: %d are kept as a power of "
        "two\n",
        static_cast<double>(report.largest), report.rescaled);
  }
  if (report.unread.dropped > 0) {
    std::printf("%d of %d channels are left out: no output needs them\n", report.unread.dropped,
                report.unread.channels);
  }
  print_notes(report, asked.verbose);
  if (asked.verbose) {
    std::printf("share: %s\n", to_text(share_of(model, device::Hardware())).c_str());
  }
  std::printf("%s: %zu steps, %zu bytes of weights, I/O buffer %llu bytes%s\n",
              printable(asked.outputs.network).c_str(), model.steps.size(), model.weights.size(),
              static_cast<unsigned long long>(model.io_bytes), without_reuse(report).c_str());
  if (model.decoder.name.empty()) {
    std::printf(
        "note: no decoder: dvnet run prints numbers, and dvdecode refuses the network. Name one by "
        "--preset (dvnet presets lists them) or --decoder\n");
  }
}

// Measures accuracy if --check is given.
Result<Accuracy> measure(const Arguments& arguments, const Conversion& asked,
                         const network::Model& model, const convert::Report& report) {
  std::shared_ptr<const layers::CustomLibrary> library;
  if (arguments.given("custom-layers")) {
    DVNN_ASSIGN(library, layers::CustomLibrary::open(arguments.text("custom-layers")));
  }
  return measure_accuracy(model, *report.imported, asked.options.picture, arguments.text("check"),
                          library, asked.options.decoder_library.get());
}

Status tell(const Arguments& arguments, const Conversion& asked, const network::Model& model,
            const convert::Report& report) {
  print_network(asked, model, report);
  Accuracy accuracy;
  if constexpr (kReadsPictures) {
    if (arguments.given("check")) {
      DVNN_ASSIGN(accuracy, measure(arguments, asked, model, report));
      print(accuracy);
    }
  }
  if (asked.outputs.report.empty()) return {};
  const Json json = report_to_json(model, report, accuracy);
  return replace_file(asked.outputs.report, {json_text(json, 1) + "\n"});
}

// Weights that are freed leave the process at once. By itself the C library keeps more and more
// of such memory after the first piece is freed, which took half as much memory again.
void return_large_memory() {
#ifdef __GLIBC__
  constexpr int kLargeBytes = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
#endif
}

int convert_model(const Arguments& arguments) {
  return_large_memory();
  const auto asked = parse(arguments);
  if (!asked.ok()) return fail(asked.error());
  const std::string mistake = check(arguments, asked.value());
  if (!mistake.empty()) return wrong_usage(arguments.command(), mistake);
  convert::Report report;
  report.keep_imported = arguments.given("check");
  const auto model = run(asked.value(), &report);
  if (!model.ok()) return fail(model.error());
  const Status told = tell(arguments, asked.value(), model.value(), report);
  return told.ok() ? 0 : fail(told.error());
}

}  // namespace

const Command kConvertCommand = {
    "convert",
    "make a .dvn file of a Caffe, Keras, ONNX or TFLite model, or of a .dvn for another size",
    "DEPLOY.prototxt WEIGHTS.caffemodel | MODEL.h5 | MODEL.onnx | MODEL.tflite | MODEL.ini | "
    "NETWORK.dvn --size WxH -o NETWORK.dvn",
    "Converts a model to a network file for dvinfer and dvnet.",
    convert_option_table(),
    convert_model};

}  // namespace dvnn::tools
