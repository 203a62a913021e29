// SPDX-License-Identifier: Apache-2.0
#include "small_network.h"

CSmall::CSmall() {}

CSmall::~CSmall() {}

bool CSmall::Initialize() {
  if (!ReserveMemory(1392, 1264)) {
    return false;
  }

  set_num_layers(7);
  set_num_output_layers(2);

  Layer_0();
  Layer_1();
  Layer_2();
  Layer_3();
  Layer_4();
  Layer_5();
  Layer_6();

  return true;
}

// 1x1, 2 -> 3 channels
void CSmall::Layer_0() {
  dmp_dv_cmdraw_conv_v0& conf = get_layer(0).conv_conf;
  conf.header.size = sizeof(conf);
  conf.header.device_type = DMP_DV_DEV_CONV;
  conf.header.version = 0;
  conf.topo = 0x1;
  conf.w = 4;
  conf.h = 3;
  conf.z = 1;
  conf.c = 2;
  conf.input_buf.mem = io_mem_;
  conf.input_buf.offs = 0;
  conf.output_buf.mem = io_mem_;
  conf.output_buf.offs = 64;
  conf.eltwise_buf.mem = NULL;
  conf.eltwise_buf.offs = 0;
  conf.output_mode = 0;
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
  layer.name = "three";
  layer.type = LT_CONV;
  layer.input_offs = 0;
  layer.output_offs = 64;
  layer.output_size = 72;
  layer.input_dim[0] = 4;
  layer.input_dim[1] = 3;
  layer.input_dim[2] = 2;
  layer.input_dim_size = 3;
  layer.output_dim[0] = 4;
  layer.output_dim[1] = 3;
  layer.output_dim[2] = 3;
  layer.output_dim_size = 3;
  layer.is_output = false;
  layer.is_f32_output = false;
  layer.is_input_hw_layout = false;
}

// 1x1, 2 -> 5 channels
void CSmall::Layer_1() {
  dmp_dv_cmdraw_conv_v0& conf = get_layer(1).conv_conf;
  conf = get_layer(0).conv_conf;
  conf.output_buf.offs = 144;
  conf.run[0].m = 5;
  conf.run[0].weight_buf.offs = 448;

  fpga_layer& layer = get_layer(1);
  layer.name = "five";
  layer.type = LT_CONV;
  layer.input_offs = 0;
  layer.output_offs = 144;
  layer.output_size = 120;
  layer.input_dim[0] = 4;
  layer.input_dim[1] = 3;
  layer.input_dim[2] = 2;
  layer.input_dim_size = 3;
  layer.output_dim[0] = 4;
  layer.output_dim[1] = 3;
  layer.output_dim[2] = 5;
  layer.output_dim_size = 3;
  layer.is_output = true;
  output_layers_[0] = &layer;
}

void CSmall::Layer_2() {
  fpga_layer& layer = get_layer(2);
  layer.name = "joined";
  layer.type = LT_COPY_CONCAT;
  static fpga_layer* input_layers[] = {&get_layer(0), &get_layer(1)};
  layer.input_layer_num = 2;
  layer.input_layers = input_layers;
  layer.input_offs = 64;
  layer.output_offs = 272;
  layer.output_size = 192;
  layer.output_dim[0] = 4;
  layer.output_dim[1] = 3;
  layer.output_dim[2] = 8;
  layer.output_dim_size = 3;
  layer.is_input_hw_layout = true;
}

void CSmall::Layer_3() {
  fpga_layer& layer = get_layer(3);
  layer.name = "doubled";
  layer.type = LT_CUSTOM;
  static custom_param_Double custom_param = {2.0f, {0, 1}};
  layer.custom_proc_ptr = &custom_callback_Double;
  layer.custom_param = &custom_param;
  layer.input_offs = 272;
  layer.output_offs = 464;
  layer.output_size = 192;
  layer.input_dim[0] = layer.output_dim[0] = 4;
  layer.input_dim[1] = layer.output_dim[1] = 3;
  layer.input_dim[2] = layer.output_dim[2] = 8;
  layer.input_dim_size = layer.output_dim_size = 3;
  layer.is_input_hw_layout = true;
}

void CSmall::Layer_4() {
  fpga_layer& layer = get_layer(4);
  layer.name = "flat";
  layer.type = LT_FLATTEN;
  layer.input_offs = 464;
  layer.output_offs = 656;
  layer.output_size = 192;
  layer.input_dim[0] = 4;
  layer.input_dim[1] = 3;
  layer.input_dim[2] = 8;
  layer.input_dim_size = 3;
  layer.output_dim[0] = 96;
  layer.output_dim_size = 1;
  layer.is_input_hw_layout = true;
}

void CSmall::Layer_5() {
  dmp_dv_cmdraw_fc_v0& conf = get_layer(5).fc_conf;
  conf.header.size = sizeof(conf);
  conf.header.device_type = DMP_DV_DEV_FC;
  conf.header.version = 0;
  conf.weight_buf.mem = weights_mem_;
  conf.weight_buf.offs = 1184;
  conf.input_buf.mem = io_mem_;
  conf.input_buf.offs = 656;
  conf.output_buf.mem = io_mem_;
  conf.output_buf.offs = 848;
  conf.input_size = 96;
  conf.output_size = 1;
  conf.weight_fmt = 0;
  conf.actfunc = 0;

  fpga_layer& layer = get_layer(5);
  layer.name = "summed";
  layer.type = LT_FC;
  layer.input_offs = 656;
  layer.output_offs = 848;
  layer.output_size = 2;
  layer.input_dim[0] = 96;
  layer.input_dim_size = 1;
  layer.output_dim[0] = 1;
  layer.output_dim_size = 1;
}

// Over the 8 channels of each pixel.
void CSmall::Layer_6() {
  fpga_layer& layer = get_layer(6);
  layer.name = "probabilities";
  layer.type = LT_SOFTMAX;
  layer.softmax_axis = 2;
  layer.input_offs = 464;
  layer.output_offs = 864;
  layer.output_size = 384;
  layer.input_dim[0] = layer.output_dim[0] = 4;
  layer.input_dim[1] = layer.output_dim[1] = 3;
  layer.input_dim[2] = layer.output_dim[2] = 8;
  layer.input_dim_size = layer.output_dim_size = 3;
  layer.is_f32_output = true;
  layer.is_input_hw_layout = true;
  layer.is_output = true;
  output_layers_[1] = &layer;
}
