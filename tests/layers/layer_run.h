// SPDX-License-Identifier: Apache-2.0
// Runs a CPU layer on small tensors whose results are known.
#pragma once

#include <vector>

#include "base/json.h"
#include "check_suite.h"
#include "named_layer.h"

namespace dvnn::test {

inline TensorDesc plain(Shape shape) {
  return {ElementType::kFloat32, Layout::kNchw, shape};
}

struct Tensor {
  TensorDesc desc;
  std::vector<float> values;
};

// Runs a layer on row-major floats, and again with every tensor in the device's layout, which must
// give the same result up to binary16.
inline std::vector<float> run(const char* type, const Json& params,
                              const std::vector<Tensor>& inputs, Shape output,
                              const layers::CustomLibrary* library = nullptr) {
  std::vector<float> results[2];
  for (int form = 0; form < 2; ++form) {
    auto describe = [&](const TensorDesc& desc) {
      return form == 1 && desc.shape.rank == 4
                 ? TensorDesc{ElementType::kFloat16, Layout::kWhc8, desc.shape}
                 : desc;
    };
    std::vector<TensorDesc> descs;
    std::vector<std::vector<uint8_t>> memory;
    std::vector<ConstTensorView> views;
    for (const Tensor& t : inputs) {
      descs.push_back(describe(t.desc));
      memory.emplace_back(static_cast<size_t>(descs.back().bytes()));
      write_nchw(t.values.data(), {descs.back(), memory.back().data()});
    }
    for (size_t i = 0; i < inputs.size(); ++i) views.push_back({descs[i], memory[i].data()});
    const TensorDesc out = describe(plain(output));
    std::vector<uint8_t> bytes(static_cast<size_t>(out.bytes()));
    auto layer = create_layer(type, params, descs, {&out, 1}, library);
    ck_assert_msg(layer.ok(), "%s", layer.ok() ? "" : layer.error().message.c_str());
    const TensorView view = {out, bytes.data()};
    ck_assert(layer.value()->run(views, {&view, 1}).ok());
    results[form].resize(static_cast<size_t>(output.elements()));
    read_nchw({out, bytes.data()}, results[form].data());
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    // Inputs and output rounded to 11 bits; values here are below 100.
    ck_assert_float_eq_tol(results[0][i], results[1][i], 0.1f);
  }
  return results[0];
}

inline std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

inline void expect(const std::vector<float>& have, std::initializer_list<float> want) {
  ck_assert_uint_eq(have.size(), want.size());
  size_t i = 0;
  for (float w : want) ck_assert_float_eq_tol(have[i++], w, 1e-5f);
}

}  // namespace dvnn::test
