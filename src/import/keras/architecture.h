// SPDX-License-Identifier: Apache-2.0
// A model's architecture as Keras writes it, before anything is made of it. Private to the Keras
// front end.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace dvnn::import {

/// Returns a member that is a text; empty if there is none.
std::string keras_text(const Json& object, const char* key);
/// Returns a layer's name, which is beside its configuration or in it.
std::string keras_name_of(const Json& layer);
/// Returns whether a class is one of models.
bool is_keras_model(const std::string& class_name);

/// Writes what Keras 3 says of layers' inputs as Keras 2 did: a list of nodes, each a list of
/// [layer, node, tensor], or of numbers that an operator reads. A nested model's calls, which most
/// files count from 1, are counted from 0, as layers' are. Nested models, too. Every layer gets a
/// member "weights_path", where Keras 3 keeps its weights below its model's: "layers/CLASS" in
/// snake case, numbered from the second of a class on.
Status to_keras2(Json* config);

/// Names the sequences that stand in a list of layers, which early versions of Keras 2 wrote
/// without names: they are those of `names`, the model's layers in order, that no other layer has.
void name_sequences(const std::vector<std::string>& names, Json* config);

/// Drops the layers of the outermost model that the layers `names` do not need, and makes their
/// results the model's.
Status cut_keras(const std::vector<std::string>& names, Json* config);

}  // namespace dvnn::import
