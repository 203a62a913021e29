// SPDX-License-Identifier: Apache-2.0
// The attributes of each type of CPU layer, as a struct per type. A struct is its type's one row:
// its name in files, how it is read from JSON and written to it, the shape of its result, and the
// layer itself. A new type is a struct here, its name in AnyAttributes, and a file
// with its functions; a missing function does not link. CONTRIBUTING.md has an example. Names and
// parameters are Caffe's if Caffe has the layer. Shapes are row-major; axes count from 0.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"
#include "base/span.h"
#include "decode/priors.h"
#include "decode/ssd.h"
#include "kernels/curves.h"
#include "kernels/elementwise.h"
#include "layers/any_layer.h"
#include "layers/convolution.h"
#include "layers/cpu_layer.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

class CustomLibrary;
using LayerResult = Result<std::unique_ptr<CpuLayer>>;
using DimsResult = Result<std::vector<int64_t>>;

// parse() checks each parameter by itself; dims_after() and create() check that the parameters fit
// the shapes. to_json() writes what parse() reads.
#define DVNN_LAYER_TYPE(Attributes, name)                        \
  static constexpr const char* kName = name;                     \
  static Result<Attributes> parse(const nlohmann::json& params); \
  nlohmann::json to_json() const;                                \
  DimsResult dims_after(Span<const Shape> inputs) const;         \
  LayerResult create(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) const

// A type whose layer is a function of whole tensors in floats (float_layer.h): its cost follows.
#define DVNN_FLOAT_LAYER_TYPE(Attributes, name) \
  static constexpr bool kIsFloatLayer = true;   \
  DVNN_LAYER_TYPE(Attributes, name)

/// The place of the largest or smallest element along {axis}: {operation: max|min, keep: whether
/// the axis stays as a dimension of 1, last: whether the last of equal ones counts, not the first}.
struct ArgReduceAttributes {
  DVNN_FLOAT_LAYER_TYPE(ArgReduceAttributes, "ArgReduce");
  bool smallest = false;
  int axis = 0;
  bool keep = true, last = false;
};

/// Elements by which an array grows: {before: [...], after: [...], mode: constant (value)|edge|
/// reflect|wrap}, one number per axis; negative ones cut off.
enum class BorderMode : uint8_t { kConstant, kEdge, kReflect, kWrap };
struct BorderAttributes {
  DVNN_FLOAT_LAYER_TYPE(BorderAttributes, "Border");
  std::vector<int> before, after;
  BorderMode mode = BorderMode::kConstant;
  float value = 0;
};

enum class BinaryOperation : uint8_t {
  kAdd,
  kAnd,
  kDiv,
  kEqual,
  kFmod,
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
  kMax,
  kMin,
  kMod,
  kMul,
  kOr,
  kPow,
  kSub,
  kTruncDiv,
  kXor
};
Result<BinaryOperation> parse_binary_operation(const std::string& name);

/// {operation: add|sub|mul|div|pow|min|max|mod (the divisor's sign)|fmod (the dividend's)|truncdiv
/// (of integers)|equal|less|lessorequal|greater|greaterorequal|and|or|xor} of two inputs; truth is
/// 1; dimensions of 1 repeat, as in NumPy.
struct BinaryAttributes {
  DVNN_LAYER_TYPE(BinaryAttributes, "Binary");
  BinaryOperation operation = BinaryOperation::kAdd;
};

/// Channels of pictures of one size: channel i of the result is channel {channels}[i] of input
/// {inputs}[i].
struct ChannelGatherAttributes {
  DVNN_LAYER_TYPE(ChannelGatherAttributes, "ChannelGather");
  struct Channel {
    int input, channel;
  };
  std::vector<Channel> channels;
};

/// Joins the inputs along {axis}.
struct ConcatAttributes {
  DVNN_LAYER_TYPE(ConcatAttributes, "Concat");
  int axis = 1;
};

/// {values: [...]}, row-major; no input, so it is made once.
struct ConstantAttributes {
  DVNN_LAYER_TYPE(ConstantAttributes, "Constant");
  std::vector<float> values;
  Shape shape;  // of the values; not among the parameters: a saved graph says it beside them
};

/// For kernels and dilations that the device cannot do: {kernel_w, kernel_h, stride_w, stride_h,
/// dilation_w, dilation_h, pad_left, pad_top, groups, transposed, weights: (m, c / groups, y, x),
/// bias: [one per output]}; convolution.h.
struct ConvolutionAttributes {
  DVNN_LAYER_TYPE(ConvolutionAttributes, "Convolution");
  ConvolutionParams params;
  std::vector<float> weights, bias;
};

/// Sums along {axis} up to each element: {exclusive: without it, reverse: from the end}.
struct CumSumAttributes {
  DVNN_FLOAT_LAYER_TYPE(CumSumAttributes, "CumSum");
  int axis = 0;
  bool exclusive = false, reverse = false;
};

/// SSD post-processing: inputs loc, conf, priors {1, 2, 4P}; output {1, 1, N, 7}, rows (image_id,
/// label, confidence, x0, y0, x1, y1), image_id -1 where unused. Parameters: parse_ssd_params.
struct DetectionOutputAttributes {
  DVNN_LAYER_TYPE(DetectionOutputAttributes, "DetectionOutput");
  decode::SsdParams ssd;
};

/// y = x or, below 0, {alpha} (exp(x) - 1).
struct EluAttributes {
  DVNN_LAYER_TYPE(EluAttributes, "ELU");
  float alpha = 1;
};

/// A chain of functions of single elements, in one pass: {constants: [[...]] a value per channel or
/// one for all, steps: [{function: a curve (parameters a, b) or an operation, of: [...] its one or
/// two operands}]}. Operands are numbered: the inputs, the constants, the results of earlier steps.
/// The last step's result is the layer's. It has the first input's shape; the others have that, or
/// one element for each channel, or one.
struct ElementwiseAttributes {
  DVNN_LAYER_TYPE(ElementwiseAttributes, "Elementwise");
  static constexpr size_t kMostInputs = 8, kMostConstants = 16, kMostSteps = 16;
  static constexpr size_t kMostValues = 24;  // inputs, constants and steps
  struct Step {
    bool combines = false;  // `operation` of x and y; else `curve` of x
    kernels::Curve curve = kernels::Curve::kLine;
    float a = 0, b = 0;  // the curve's parameters
    kernels::Operation operation = kernels::Operation::kAdd;
    int x = 0, y = 0;  // operands
  };
  int inputs = 1;
  std::vector<std::vector<float>> constants;
  std::vector<Step> steps;
};

using EltwiseOperation = kernels::Combination;  // sum, prod, max

/// Element by element: {operation: sum|prod|max, coeff: [one per input, sum only]}.
struct EltwiseAttributes {
  DVNN_LAYER_TYPE(EltwiseAttributes, "Eltwise");
  EltwiseOperation operation = EltwiseOperation::kSum;
  std::vector<float> coeff;
};

/// Elements of the first input along {axis} at the places that the second holds; negative ones
/// count from the end, those beyond are the nearest that is.
struct GatherAttributes {
  DVNN_FLOAT_LAYER_TYPE(GatherAttributes, "Gather");
  int axis = 0;
};

/// Samples the first input, (n, c, [z,] y, x), at the places that the second holds, (n, [z,] y, x,
/// 2 or 3 coordinates, x first), -1..1 from one side to the other: {mode: nearest|linear|cubic,
/// padding: zeros|border|reflection, align_corners}. Source: ONNX GridSample.
struct GridSampleAttributes {
  DVNN_FLOAT_LAYER_TYPE(GridSampleAttributes, "GridSample");
  enum class Mode : uint8_t { kNearest, kLinear, kCubic } mode = Mode::kLinear;
  enum class Padding : uint8_t { kZeros, kBorder, kReflection } padding = Padding::kZeros;
  bool align_corners = false;
};

/// Each element over (bias + alpha / size * the sum of squares of {size} channels about it) ^ beta.
/// Source: Krizhevsky et al. (2012), as Caffe and ONNX have it.
struct LrnAttributes {
  DVNN_FLOAT_LAYER_TYPE(LrnAttributes, "LRN");
  int size = 5;
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
};

/// Products of matrices (..., m, k) and (..., k, n); dimensions of 1 before them repeat.
struct MatMulAttributes {
  DVNN_FLOAT_LAYER_TYPE(MatMulAttributes, "MatMul");
};

/// L2 normalisation over channels (or everything, with across_spatial), then a scale per channel:
/// {across_spatial, channel_shared, eps, scale: [...]}. Source: Liu et al., "ParseNet" (2015).
struct NormalizeAttributes {
  DVNN_LAYER_TYPE(NormalizeAttributes, "Normalize");
  bool across_spatial = true, channel_shared = true;
  float eps = 1e-10f;
  std::vector<float> scale;
};

/// {slope: [one per channel, or one]}: negative values are multiplied by it.
struct PreluAttributes {
  DVNN_LAYER_TYPE(PreluAttributes, "PReLU");
  std::vector<float> slope;
};

/// Zeros around a picture: {left, right, top, bottom}.
struct PadAttributes {
  DVNN_LAYER_TYPE(PadAttributes, "Pad");
  int left = 0, right = 0, top = 0, bottom = 0;
};

/// Reorders axes: output axis i is input axis {order}[i].
struct PermuteAttributes {
  DVNN_LAYER_TYPE(PermuteAttributes, "Permute");
  std::vector<int> order;
};

/// {method: max|average, kernel_w, kernel_h, stride_w, stride_h, pad_w, pad_h, global}: Caffe's
/// rules: windows are clipped to the padded input, averages divide by the clipped window or, with
/// counts_pads false, by what of it lies in the input.
struct PoolingAttributes {
  DVNN_LAYER_TYPE(PoolingAttributes, "Pooling");
  struct Axis {
    int kernel = 1, stride = 1, pad = 0;
  };
  bool average = false;
  Axis x, y;
  bool global = false;
  bool counts_pads = true;
};

/// Default boxes: output {1, 2, 4P}, row 0 boxes, row 1 variances. See decode/priors.h.
struct PriorBoxAttributes {
  DVNN_LAYER_TYPE(PriorBoxAttributes, "PriorBox");
  decode::PriorBoxParams prior;
  bool grid_of_input = false;  // the grid's size is not given: it is the first input's
};

/// A recurrent layer in one direction over (steps, batch, inputs): {kind: lstm|gru|rnn,
/// activations:
/// [...] (of gates, of the candidate, of an LSTM's cell), clip (0: none), reverse, reset_after
/// (GRU: after its product), coupled (LSTM: forgets what it does not take), cell: the result is an
/// LSTM's cell}. The result is (steps, batch, hidden). The other inputs are the weights (gates *
/// hidden, inputs), those of the state (gates * hidden, hidden), both biases one after the other,
/// the first state and cell (batch, hidden), and peepholes (3 * hidden). Source: ONNX LSTM, GRU and
/// RNN, whose order of gates it has.
struct RecurrentAttributes {
  DVNN_FLOAT_LAYER_TYPE(RecurrentAttributes, "Recurrent");
  enum class Kind : uint8_t { kRnn, kGru, kLstm } kind = Kind::kLstm;
  enum class Function : uint8_t { kSigmoid, kTanh, kRelu, kHardSigmoid, kIdentity };
  std::vector<Function> activations = {Function::kSigmoid, Function::kTanh, Function::kTanh};
  float clip = 0;
  bool reverse = false, reset_after = false, coupled = false, cell = false;
  int gates() const { return kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1; }
};

enum class Reduction : uint8_t {
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,
  kMax,
  kMean,
  kMin,
  kProduct,
  kSum,
  kSumSquare
};
Result<Reduction> parse_reduction(const std::string& name);

/// One number of each group of elements along {axes} (none: all): {operation: l1|l2|logsum|
/// logsumexp|max|mean|min|prod|sum|sumsquare, keep: whether the axes stay as dimensions of 1}.
struct ReduceAttributes {
  DVNN_FLOAT_LAYER_TYPE(ReduceAttributes, "Reduce");
  Reduction operation = Reduction::kMean;
  std::vector<int> axes;
  bool keep = true;
};

/// y = x or, below 0, {slope} x.
struct ReluAttributes {
  DVNN_LAYER_TYPE(ReluAttributes, "ReLU");
  float slope = 0;
};

/// The same elements in another shape, type or layout (also called Flatten). {dims} says how the
/// shape follows an input of another size: 0 keeps the input's dimension, -1 takes the rest.
/// Running the layer needs only the shapes.
struct ReshapeAttributes {
  DVNN_LAYER_TYPE(ReshapeAttributes, "Reshape");
  std::vector<int> dims;
};

/// An array at other places along its axes, each axis by itself: {mode: nearest|linear|cubic,
/// coordinates: half_pixel|half_pixel_symmetric|asymmetric|align_corners|pytorch_half_pixel|
/// crop_and_resize, rounding: prefer_floor|prefer_ceil|floor|ceil (nearest), cubic_a,
/// exclude_outside, antialias, extrapolation: the value outside (crop_and_resize), scales: [...] or
/// sizes: [...], one per axis, roi: [first per axis, then last per axis]}. Source: ONNX Resize.
struct ResizeAttributes {
  DVNN_FLOAT_LAYER_TYPE(ResizeAttributes, "Resize");
  enum class Mode : uint8_t { kNearest, kLinear, kCubic } mode = Mode::kNearest;
  enum class Coordinates : uint8_t {
    kHalfPixel,
    kHalfPixelSymmetric,
    kAsymmetric,
    kAlignCorners,
    kPytorchHalfPixel,
    kCropAndResize
  } coordinates = Coordinates::kHalfPixel;
  enum class Rounding : uint8_t {
    kPreferFloor,
    kPreferCeil,
    kFloor,
    kCeil
  } rounding = Rounding::kPreferFloor;
  float cubic_a = -0.75f, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<float> scales, roi;
  std::vector<int> sizes;
};

/// y = x * scale + bias along {axis} (default 1): {scale: [...], bias: [...]}, either may be
/// absent.
struct ScaleAttributes {
  DVNN_LAYER_TYPE(ScaleAttributes, "Scale");
  std::optional<int> axis;
  std::vector<float> scale, bias;
};

/// The first input with rows along its first axis, at the places that the second input holds,
/// replaced by the third's or combined with them: {operation: set|add|mul|max|min}. Negative places
/// count from the end; rows beyond are left out.
struct ScatterAttributes {
  DVNN_FLOAT_LAYER_TYPE(ScatterAttributes, "Scatter");
  enum class Operation : uint8_t { kSet, kAdd, kMul, kMax, kMin } operation = Operation::kSet;
};

struct SigmoidAttributes {
  DVNN_LAYER_TYPE(SigmoidAttributes, "Sigmoid");
};

/// Elements begin[i], begin[i] + step[i], ... along each axis: {begin: [...], step: [...]}, as many
/// as {count: [...]} says (-1: to the end), which the output's shape says, too.
struct SliceAttributes {
  DVNN_LAYER_TYPE(SliceAttributes, "Slice");
  std::vector<int> begin, step, count;
};

/// Softmax along {axis} (default 1).
struct SoftmaxAttributes {
  DVNN_LAYER_TYPE(SoftmaxAttributes, "Softmax");
  std::optional<int> axis;
};

/// (x - mean) / sqrt(variance + {epsilon}) of each group of elements along {axes} (none: all);
/// without {centre}, x / sqrt(mean square + epsilon).
struct StandardizeAttributes {
  DVNN_FLOAT_LAYER_TYPE(StandardizeAttributes, "Standardize");
  std::vector<int> axes;
  float epsilon = 1e-5f;
  bool centre = true;
};

struct TanhAttributes {
  DVNN_LAYER_TYPE(TanhAttributes, "TanH");
};

/// The array {repeats}[i] times along axis i.
struct TileAttributes {
  DVNN_FLOAT_LAYER_TYPE(TileAttributes, "Tile");
  std::vector<int> repeats;
};

/// The {k} largest elements along {axis}, largest first, or the smallest: {smallest, places: their
/// places, not their values}. Of equal ones the first comes first.
struct TopKAttributes {
  DVNN_FLOAT_LAYER_TYPE(TopKAttributes, "TopK");
  int axis = 0, k = 1;
  bool smallest = false, places = false;
};

enum class UnaryFunction : uint8_t {
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,
  kClip,
  kCos,
  kCosh,
  kElu,
  kErf,
  kExp,
  kFloor,
  kGelu,
  kGeluTanh,
  kHardSigmoid,
  kHardSwish,
  kIsNan,
  kLog,
  kMish,
  kNeg,
  kNot,
  kReciprocal,
  kRound,
  kSelu,
  kShrink,
  kSigmoid,
  kSign,
  kSin,
  kSinh,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kSwish,
  kTan,
  kTanh,
  kThresholdedRelu,
  kTrunc
};
Result<UnaryFunction> parse_unary_function(const std::string& name);

/// y = f(x) for {function: the rows of unary.cpp, with up to two parameters}, as ONNX defines them.
struct UnaryAttributes {
  DVNN_LAYER_TYPE(UnaryAttributes, "Unary");
  UnaryFunction function = UnaryFunction::kAbs;
  std::optional<float> a, b;  // the function's parameters, in the order above; absent: its defaults
};

/// The curve that computes a function (kernels/curves.h), with its parameters; null: there is none.
struct CurveOf {
  kernels::Curve curve;
  float a, b;
};
std::optional<CurveOf> curve_of(const UnaryAttributes& unary);

/// The second input's elements where the first's are not 0, else the third's; dimensions of 1
/// repeat.
struct WhereAttributes {
  DVNN_FLOAT_LAYER_TYPE(WhereAttributes, "Where");
};

/// Windows over all axes after the second: {operation: average|lp (p)|max|place (of the maximum, in
/// the whole input, its axes in order or `column_major`), kernel, stride, dilation, before, after:
/// [...] one per axis, ceil, counts_pads}. Source: ONNX AveragePool, LpPool, MaxPool.
struct WindowPoolAttributes {
  DVNN_FLOAT_LAYER_TYPE(WindowPoolAttributes, "WindowPool");
  enum class Operation : uint8_t { kAverage, kLp, kMax, kPlace } operation = Operation::kMax;
  std::vector<int> kernel, stride, dilation, before, after;
  bool ceil = false, counts_pads = false, column_major = false;
  int p = 2;
};

/// A layer of a user's library (custom_library.h); only the library knows its parameters.
struct CustomAttributes {
  std::string type;
  JsonValue params;
  nlohmann::json to_json() const;
  DimsResult dims_after(Span<const Shape> inputs) const;
  LayerResult create(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                     const CustomLibrary* library) const;
};

#undef DVNN_FLOAT_LAYER_TYPE
#undef DVNN_LAYER_TYPE

/// Every type in the order of names; the last one stands for all types that are not built in.
using AnyAttributes =
    std::variant<ArgReduceAttributes, BinaryAttributes, BorderAttributes, ChannelGatherAttributes,
                 ConcatAttributes, ConstantAttributes, ConvolutionAttributes, CumSumAttributes,
                 DetectionOutputAttributes, EluAttributes, ElementwiseAttributes, EltwiseAttributes,
                 GatherAttributes, GridSampleAttributes, LrnAttributes, MatMulAttributes,
                 NormalizeAttributes, PreluAttributes, PadAttributes, PermuteAttributes,
                 PoolingAttributes, PriorBoxAttributes, RecurrentAttributes, ReduceAttributes,
                 ReluAttributes, ReshapeAttributes, ResizeAttributes, ScaleAttributes,
                 ScatterAttributes, SigmoidAttributes, SliceAttributes, SoftmaxAttributes,
                 StandardizeAttributes, TanhAttributes, TileAttributes, TopKAttributes,
                 UnaryAttributes, WhereAttributes, WindowPoolAttributes, CustomAttributes>;

/// Any of them. What copies and frees so many types takes long to compile, so it is compiled once.
struct LayerAttributes : AnyAttributes {
  using AnyAttributes::AnyAttributes;
  LayerAttributes(const LayerAttributes& other);
  LayerAttributes(LayerAttributes&& other) noexcept;
  LayerAttributes& operator=(const LayerAttributes& other);
  LayerAttributes& operator=(LayerAttributes&& other) noexcept;
  ~LayerAttributes();
};

/// Reads the parameters of the type called `type`, null if it has none. Errors name the type and
/// the parameter.
Result<LayerAttributes> parse_layer(const std::string& type, const nlohmann::json& params);
/// The same, to be shared; `params` may be null, too.
Result<LayerPtr> read_layer(const std::string& type, const nlohmann::json* params);
/// The type's name in files, and its parameters there.
std::string type_of(const LayerAttributes& attributes);
nlohmann::json params_of(const LayerAttributes& attributes);
/// The result's dimensions, not yet checked against a tensor's limits. kUnsupported if the inputs
/// do not fit.
DimsResult dims_after(const LayerAttributes& attributes, Span<const Shape> inputs);

/// Creates the layer; errors name its type. Checks its cost against the budgets. `library` has the
/// types that are not built in; it may be null.
LayerResult create_cpu_layer(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
                             Span<const TensorDesc> outputs,
                             const CustomLibrary* library = nullptr);

/// Helpers for dims_after(): check that there are at least `least` inputs; return the first one's
/// dimensions.
Status expect_inputs(Span<const Shape> inputs, size_t least);
DimsResult same_dims(Span<const Shape> inputs);

}  // namespace dvnn::layers
