// SPDX-License-Identifier: Apache-2.0
// Any type of CPU layer with its attributes, by name alone: attributes.h defines the structs.
#pragma once

#include <memory>
#include <variant>

namespace dvnn::layers {

/// Every type in the order of names; the last one stands for all types that are not built in.
using LayerAttributes =
    std::variant<struct ArgReduceAttributes, struct BinaryAttributes, struct BorderAttributes,
                 struct ConcatAttributes, struct ConstantAttributes, struct ConvolutionAttributes,
                 struct CumSumAttributes, struct DetectionOutputAttributes, struct EluAttributes,
                 struct EltwiseAttributes, struct GatherAttributes, struct GridSampleAttributes,
                 struct LrnAttributes, struct MatMulAttributes, struct NormalizeAttributes,
                 struct PreluAttributes, struct PadAttributes, struct PermuteAttributes,
                 struct PoolingAttributes, struct PriorBoxAttributes, struct RecurrentAttributes,
                 struct ReduceAttributes, struct ReluAttributes, struct ReshapeAttributes,
                 struct ResizeAttributes, struct ScaleAttributes, struct ScatterAttributes,
                 struct SigmoidAttributes, struct SliceAttributes, struct SoftmaxAttributes,
                 struct StandardizeAttributes, struct TanhAttributes, struct TileAttributes,
                 struct TopKAttributes, struct UnaryAttributes, struct WhereAttributes,
                 struct WindowPoolAttributes, struct CustomAttributes>;

/// Immutable, as networks that are planned of one another share it.
using LayerPtr = std::shared_ptr<const LayerAttributes>;

}  // namespace dvnn::layers
