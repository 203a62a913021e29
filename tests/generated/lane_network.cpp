// SPDX-License-Identifier: Apache-2.0
// The vendor's lane detection network of 384 x 256 pixels, after the published description of its
// layers, to be run with its real weights.
#include "dmp_network.h"

namespace {

enum Kind { kConv = 0, kConvPool, kPool, kUpsample };

struct Row {
  Kind kind;
  int w, h, c, m;  // input width, height and channels, output channels
  size_t input, output, weights;
};

constexpr Row kRows[] = {
    {kConv, 384, 256, 3, 16, 0, 2752512, 0},
    {kPool, 384, 256, 16, 16, 2752512, 1966080, 2336},
    {kConv, 192, 128, 16, 32, 1966080, 393216, 2336},
    {kPool, 192, 128, 32, 32, 393216, 0, 11616},
    {kConv, 96, 64, 32, 32, 0, 442368, 11616},
    {kConvPool, 96, 64, 32, 64, 442368, 245760, 30112},
    {kConv, 48, 32, 64, 64, 245760, 49152, 67104},
    {kConvPool, 48, 32, 64, 64, 49152, 0, 140960},
    {kConvPool, 24, 16, 64, 128, 0, 98304, 214816},
    {kUpsample, 12, 8, 128, 128, 98304, 0, 362528},
    {kConv, 24, 16, 128, 128, 0, 393216, 362528},
    {kUpsample, 24, 16, 128, 128, 393216, 0, 657696},
    {kConv, 48, 32, 128, 64, 0, 786432, 657696},
    {kUpsample, 48, 32, 64, 64, 786432, 0, 805280},
    {kConv, 96, 64, 64, 32, 0, 1572864, 805280},
    {kUpsample, 96, 64, 32, 32, 1572864, 0, 842208},
    {kConv, 192, 128, 32, 16, 0, 3538944, 842208},
    {kUpsample, 192, 128, 16, 16, 3538944, 393216, 851456},
    {kConv, 384, 256, 16, 2, 393216, 0, 851456},
};
constexpr int kCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace

class CLane : public CDMP_Network {
 public:
  bool Initialize() override {
    if (!ReserveMemory(852048, 5898240)) return false;
    set_num_layers(kCount);
    set_num_output_layers(1);
    for (int i = 0; i < kCount; ++i) describe(i, kRows[i]);
    get_layer(kCount - 1).is_output = true;
    output_layers_[0] = &get_layer(kCount - 1);
    return true;
  }

 private:
  void describe(int i, const Row& row) {
    const bool conv = row.kind == kConv || row.kind == kConvPool;
    const bool pool = row.kind == kPool || row.kind == kConvPool;
    dmp_dv_cmdraw_conv_v0& conf = get_layer(i).conv_conf;
    conf.header.size = sizeof(conf);
    conf.header.device_type = DMP_DV_DEV_CONV;
    conf.topo = 1;
    conf.w = static_cast<uint16_t>(row.w);
    conf.h = static_cast<uint16_t>(row.h);
    conf.z = 1;
    conf.c = static_cast<uint16_t>(row.c);
    conf.input_buf.mem = conf.output_buf.mem = io_mem_;
    conf.input_buf.offs = row.input;
    conf.output_buf.offs = row.output;
    dmp_dv_cmdraw_conv_v0_run& run = conf.run[0];
    run.m = static_cast<uint16_t>(row.m);
    run.conv_enable = conv ? 1 : 0;
    run.p = conv ? 3 : 1;
    run.pz = 1;
    run.weight_buf.mem = weights_mem_;
    run.weight_buf.offs = row.weights;
    run.weight_fmt = conv ? 1 : 0;
    run.conv_pad = conv ? 0x1010101 : 0;
    run.conv_stride = run.pool_stride = 0x101;
    if (pool || row.kind == kUpsample) run.pool_size = 0x202;
    if (pool) run.pool_stride = 0x202;
    run.pool_enable = static_cast<uint16_t>(pool ? 1 : row.kind == kUpsample ? 4 : 0);
    run.actfunc = conv ? 2 : 0;

    fpga_layer& layer = get_layer(i);
    layer.type = LT_CONV;
    layer.input_offs = row.input;
    layer.output_offs = row.output;
    const int w = pool ? row.w / 2 : row.kind == kUpsample ? row.w * 2 : row.w;
    const int h = pool ? row.h / 2 : row.kind == kUpsample ? row.h * 2 : row.h;
    layer.output_size = static_cast<size_t>(2 * w * h * row.m);
    const int in[] = {row.w, row.h, row.c}, out[] = {w, h, row.m};
    std::copy(in, in + 3, layer.input_dim);
    std::copy(out, out + 3, layer.output_dim);
    layer.input_dim_size = layer.output_dim_size = 3;
    layer.is_input_hw_layout = i > 0;
  }
};

DVNN_NETWORK(CLane, R"({"name": "lane", "input": {"color": "rgb", "mean": [0, 0, 0],
    "scale": [0.00392156863, 0.00392156863, 0.00392156863], "resize": "stretch",
    "pad_value": [0, 0, 0]}, "decoder": {"name": "segmentation", "params": {"channel": 0}},
    "labels": ["other", "lane"]})")
