// SPDX-License-Identifier: Apache-2.0
// States: outputs that the next frame takes as inputs. Private to the ONNX front end.
#pragma once

#include <string>
#include <vector>

#include "import/options.h"
#include "onnx.pb.h"
#include "plan/graph/graph.h"

namespace dvnn::import {

struct OnnxState {
  std::string input, output;  // names of the model's
  std::vector<int64_t> dims;  // of the input
  bool is_open = false;       // the model leaves a dimension open: it is the output's
  bool is_found = false;      // by its name, as no option names it
};

/// Returns the states that `options` name, and those whose names are usual ones, such as r1i and
/// r1o, state and stateN, h and hn. States are not looked for in a model that has one input without
/// given values. Errors: an input or output that does not exist, or is named twice.
Result<std::vector<OnnxState>> find_onnx_states(const onnx::GraphProto& proto,
                                                const ImportOptions& options);

/// Compares each state with its next value in the imported graph. Returns false if a state that is
/// open was found to have other dimensions, which are set: the model must be imported again. Error:
/// the dimensions differ and are not open.
Result<bool> settle_onnx_states(const plan::Graph& graph, std::vector<OnnxState>* states);

/// Returns a sentence for the user about the states.
std::string tell_of_states(const std::vector<OnnxState>& states);

}  // namespace dvnn::import
