// SPDX-License-Identifier: Apache-2.0
// A network as the vendor's converter of 2019 wrote them (version 1 commands, transposed weights,
// callbacks of three arguments): a 1x1 convolution of a 38 x 38 picture, and the custom layer that
// the dv-sdk wiki's page on custom layers specifies, PriorBox, with the page's example.
#include "dmp_network.h"

struct custom_param_PriorBox {
  int img_size[2];
  int min_size;
  int max_size;
  float aspect_ratios[6];
  float variances[4];
  bool clip;
};

static void custom_callback_PriorBox(fpga_layer& layer, void* custom_param, uint8_t* io_ptr) {
  const custom_param_PriorBox& p = *static_cast<const custom_param_PriorBox*>(custom_param);
  std::vector<float> half_w, half_h, boxes;
  for (float r : p.aspect_ratios) {
    const float least = static_cast<float>(p.min_size), most = static_cast<float>(p.max_size);
    const bool further = r == 1.0f && !half_w.empty();
    const float size = further ? std::sqrt(least * most) : least;
    half_w.push_back(size * std::sqrt(r) / 2);
    half_h.push_back(size / std::sqrt(r) / 2);
  }
  const float image_w = static_cast<float>(p.img_size[0]);
  const float image_h = static_cast<float>(p.img_size[1]);
  const float step_x = image_w / static_cast<float>(layer.input_dim[0]);
  const float step_y = image_h / static_cast<float>(layer.input_dim[1]);
  for (int y = 0; y < layer.input_dim[1]; ++y) {
    for (int x = 0; x < layer.input_dim[0]; ++x) {
      const float cx = step_x * (static_cast<float>(x) + 0.5f);
      const float cy = step_y * (static_cast<float>(y) + 0.5f);
      for (size_t i = 0; i < half_w.size(); ++i) {
        const float corners[] = {(cx - half_w[i]) / image_w, (cy - half_h[i]) / image_h,
                                 (cx + half_w[i]) / image_w, (cy + half_h[i]) / image_h};
        for (float v : corners) boxes.push_back(p.clip ? std::min(std::max(v, 0.0f), 1.0f) : v);
        boxes.insert(boxes.end(), p.variances, p.variances + 4);
      }
    }
  }
  put_layer_output(layer, boxes, io_ptr);
}

class CPrior : public CDMP_Network {
 private:
  void Layer_0();
  void Layer_1();

 public:
  virtual bool Initialize();
};

bool CPrior::Initialize() {
  is_weight_transposed = true;
  if (!ReserveMemory(448, 295936)) {
    return false;
  }
  set_num_layers(2);
  set_num_output_layers(2);
  Layer_0();
  Layer_1();
  return true;
}

void CPrior::Layer_0() {
  dmp_dv_cmdraw_conv_v1& conf_v1 = get_layer(0).conv_conf_v1;
  conf_v1.header.size = sizeof(conf_v1);
  conf_v1.header.device_type = DMP_DV_DEV_CONV;
  conf_v1.header.version = 1;
  dmp_dv_cmdraw_conv_v0& conf = conf_v1.conv_cmd;
  conf.header.size = sizeof(conf);
  conf.header.device_type = DMP_DV_DEV_CONV;
  conf.header.version = 0;
  conf.topo = 0x1;
  conf.w = 38;
  conf.h = 38;
  conf.z = 1;
  conf.c = 3;
  conf.input_circular_offset = 0x8000;
  conf.input_buf.mem = io_mem_;
  conf.input_buf.offs = 0;
  conf.output_buf.mem = io_mem_;
  conf.output_buf.offs = 8672;
  conf.run[0].m = 3;
  conf.run[0].conv_enable = 1;
  conf.run[0].p = 0x1;
  conf.run[0].pz = 1;
  conf.run[0].weight_buf.mem = weights_mem_;
  conf.run[0].weight_buf.offs = 0;
  conf.run[0].weight_fmt = 1;
  conf.run[0].conv_stride = 0x101;
  conf.run[0].pool_stride = 0x101;

  fpga_layer& layer = get_layer(0);
  layer.name = "conv";
  layer.type = LT_CONV;
  layer.input_offs = 0;
  layer.output_offs = 8672;
  layer.output_size = 8664;
  layer.input_dim[0] = layer.output_dim[0] = 38;
  layer.input_dim[1] = layer.output_dim[1] = 38;
  layer.input_dim[2] = layer.output_dim[2] = 3;
  layer.input_dim_size = layer.output_dim_size = 3;
  layer.is_output = true;
  output_layers_[0] = &layer;
}

void CPrior::Layer_1() {
  static custom_param_PriorBox custom_param = {
      {300, 300}, 10, 30, {1.0f, 1.0f, 2.0f, 0.5f, 3.0f, 1.0f / 3}, {0.1f, 0.1f, 0.2f, 0.2f}, true};
  fpga_layer& layer = get_layer(1);
  layer.name = "priors";
  layer.type = LT_CUSTOM;
  layer.custom_proc_ptr = &custom_callback_PriorBox;
  layer.custom_param = &custom_param;
  layer.input_offs = 8672;
  layer.output_offs = 17344;
  layer.output_size = 277248;
  layer.input_dim[0] = layer.input_dim[1] = 38;
  layer.input_dim[2] = 3;
  layer.input_dim_size = 3;
  layer.output_dim[0] = 8664;
  layer.output_dim[1] = 8;
  layer.output_dim_size = 2;
  layer.is_f32_output = true;
  layer.is_input_hw_layout = true;
  layer.is_output = true;
  output_layers_[1] = &layer;
}

DVNN_NETWORK(CPrior, R"({"name": "priors", "labels": ["a", "b"],
    "input": {"color": "rgb", "mean": [0, 0, 0], "scale": [1, 1, 1], "resize": "stretch",
              "pad_value": [0, 0, 0]}})")
