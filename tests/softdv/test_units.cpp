// SPDX-License-Identifier: Apache-2.0
// The image processing unit and the maximizer against plain loops, and what they refuse.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "check_suite.h"
#include "dmp_dv_cmdraw_v1.h"
#include "soft_library.h"
#include "tensor/packing.h"

namespace dvnn::test::units_tests {

DVNN_SUITE(softdv_units);

using dvnn::test::Bench;
using dvnn::test::fn;

namespace {

constexpr uint64_t kTable = 100000, kWeights = 200000, kRd = 300000, kWr = 500000;
std::mt19937 random_source(7);

int up_to(int n) {
  return static_cast<int>(random_source() % static_cast<unsigned>(n));
}

dmp_dv_cmdraw_ipu_v0 ipu_command(const Bench& bench, int tex_w, int tex_h, int rect_w, int rect_h) {
  dmp_dv_cmdraw_ipu_v0 cmd;
  std::memset(&cmd, 0, sizeof cmd);
  cmd.header.size = sizeof cmd;
  cmd.header.device_type = DMP_DV_DEV_IPU;
  cmd.tex = bench.at(0);
  cmd.rd = bench.at(kRd);
  cmd.wr = bench.at(kWr);
  cmd.fmt_tex = DMP_DV_RGB888;
  cmd.fmt_wr = DMP_DV_RGB888;
  cmd.tex_width = static_cast<uint16_t>(tex_w);
  cmd.tex_height = static_cast<uint16_t>(tex_h);
  cmd.rect_width = static_cast<uint16_t>(rect_w);
  cmd.rect_height = static_cast<uint16_t>(rect_h);
  cmd.stride_rd = rect_w * 3;
  cmd.stride_wr = rect_w * 3;
  cmd.use_tex = 1;
  cmd.gidx = 1;
  cmd.bidx = 2;
  cmd.aidx = 3;
  return cmd;
}

dmp_dv_cmdraw_maximizer_v0 maximizer_command(const Bench& bench, int w, int h, int classes) {
  dmp_dv_cmdraw_maximizer_v0 cmd;
  std::memset(&cmd, 0, sizeof cmd);
  cmd.header.size = sizeof cmd;
  cmd.header.device_type = DMP_DV_DEV_MAXIMIZER;
  cmd.input_buf = bench.at(0);
  cmd.output_buf = bench.at(kWr);
  cmd.width = static_cast<uint16_t>(w);
  cmd.height = static_cast<uint16_t>(h);
  cmd.nclass = static_cast<uint8_t>(classes);
  return cmd;
}

void fill(Bench* bench) {
  for (size_t i = 0; i < 600000; ++i) bench->data[i] = static_cast<uint8_t>(random_source());
}

// Bilinear in double precision, pixel centres at halves, edges repeated.
double bilinear(const uint8_t* tex, int w, int h, double u, double v, int channel) {
  auto texel = [&](int x, int y) {
    return static_cast<double>(
        tex[(std::clamp(y, 0, h - 1) * w + std::clamp(x, 0, w - 1)) * 3 + channel]);
  };
  const double x = std::floor(u - 0.5), y = std::floor(v - 0.5);
  const double fx = u - 0.5 - x, fy = v - 0.5 - y;
  const int i = static_cast<int>(x), j = static_cast<int>(y);
  return (texel(i, j) * (1 - fx) + texel(i + 1, j) * fx) * (1 - fy) +
         (texel(i, j + 1) * (1 - fx) + texel(i + 1, j + 1) * fx) * fy;
}

// A 1x1 convolution that passes on what the table has for three channels of bytes.
dmp_dv_cmdraw_conv_v1 looked_up_command(Bench* bench) {
  auto* table = reinterpret_cast<half_t*>(bench->data + kTable);
  for (int i = 0; i < 3 * 256; ++i) table[i] = float_to_half(static_cast<float>(i) / 4 - 50);
  half_t weights[9] = {}, bias[3] = {};
  for (int i = 0; i < 3; ++i) weights[4 * i] = float_to_half(1);
  pack_weights({3, 3, 1, 1, false, false, false}, {nullptr, weights, bias, nullptr},
               bench->data + kWeights);
  dmp_dv_cmdraw_conv_v1 cmd;
  std::memset(&cmd, 0, sizeof cmd);
  cmd.header.size = sizeof cmd;
  cmd.header.device_type = DMP_DV_DEV_CONV;
  cmd.header.version = 1;
  cmd.u8tofp16_table = bench->at(kTable);
  cmd.conv_cmd.header.size = sizeof cmd.conv_cmd;
  cmd.conv_cmd.input_buf = bench->at(0);
  cmd.conv_cmd.output_buf = bench->at(kWr);
  cmd.conv_cmd.topo = 1;
  cmd.conv_cmd.w = 5;
  cmd.conv_cmd.h = 7;
  cmd.conv_cmd.z = 1;
  cmd.conv_cmd.c = 3;
  cmd.conv_cmd.run[0].weight_buf = bench->at(kWeights);
  cmd.conv_cmd.run[0].m = 3;
  cmd.conv_cmd.run[0].conv_enable = 1;
  cmd.conv_cmd.run[0].p = 1;
  cmd.conv_cmd.run[0].pz = 1;
  cmd.conv_cmd.run[0].conv_stride = 0x0101;
  return cmd;
}

using Buffers = std::vector<dmp_dv_buf*>;

// Runs a command on the bench, and again with each of its buffers, of which the output is the last,
// in a memory that only the list keeps.
template <typename Command, typename BuffersOf>
void check_kept(Bench* bench, Command cmd, BuffersOf buffers_of) {
  constexpr size_t kBytes = 4096;
  std::memset(bench->data + buffers_of(&cmd).back()->offs, 0, kBytes);
  ck_assert_int_eq(bench->run(cmd), 0);
  std::vector<dmp_dv_mem> memories;
  const uint8_t* wanted = nullptr;
  uint8_t* made = nullptr;
  for (dmp_dv_buf* buffer : buffers_of(&cmd)) {
    wanted = bench->data + buffer->offs;
    memories.push_back(fn().mem_alloc(bench->ctx, kBytes));
    made = fn().mem_map(memories.back());
    std::memcpy(made, wanted, kBytes);
    buffer->mem = memories.back();
    buffer->offs = 0;
  }
  std::memset(made, 0, kBytes);
  dmp_dv_cmdlist list = fn().cmdlist_create(bench->ctx);
  ck_assert_int_eq(fn().cmdlist_add_raw(list, &cmd.header), 0);
  for (size_t i = 0; i < memories.size(); ++i) {
    ck_assert_msg(fn().mem_release(memories[i]) == 1, "buffer %zu is not kept", i);
  }
  ck_assert_int_eq(fn().cmdlist_commit(list), 0);
  ck_assert_int_eq(fn().cmdlist_wait(list, fn().cmdlist_exec(list)), 0);
  ck_assert_mem_eq(made, wanted, kBytes);
  fn().cmdlist_release(list);
}

}  // namespace

DVNN_TEST(the_maximizer_names_the_largest_class) {
  Bench bench;
  for (int round = 0; round < dvnn_rounds(60); ++round) {
    const int w = 1 + up_to(20), h = 1 + up_to(20), classes = 2 + up_to(30);
    auto* input = reinterpret_cast<half_t*>(bench.data);
    // Few different values, so that classes tie.
    for (int i = 0; i < w * h * classes; ++i) {
      input[i] = float_to_half(static_cast<float>(up_to(9) - 4));
    }
    auto cmd = maximizer_command(bench, w, h, classes);
    ck_assert_int_eq(bench.run(cmd), 0);
    for (int x = 0; x < w; ++x) {
      for (int y = 0; y < h; ++y) {
        int best = 0;
        float most = 0;
        for (int c = 0; c < classes; ++c) {
          const int chunk = c / 8 * 8, in_chunk = std::min(8, classes - chunk);
          const float v = half_to_float(input[w * h * chunk + (x * h + y) * in_chunk + c % 8]);
          if (c == 0 || v > most) best = c, most = v;
        }
        ck_assert_int_eq(bench.data[kWr + static_cast<uint64_t>(x * h + y)], best);
      }
    }
  }
}

DVNN_TEST(the_maximizer_refuses_what_the_driver_refuses) {
  Bench bench;
  const auto good = maximizer_command(bench, 4, 4, 2);
  auto refused = [&](int code, auto change) {
    dmp_dv_cmdraw_maximizer_v0 cmd = good;
    change(&cmd);
    ck_assert_int_eq(bench.run(cmd), code);
  };
  refused(0, [](auto*) {});
  refused(-1, [](auto* c) { c->nclass = 1; });
  refused(-1, [](auto* c) { c->width = 0; });
  refused(-1, [](auto* c) { c->width = c->height = 4096; });
  refused(-1, [](auto* c) { c->header.size -= 4; });
  refused(ENOTSUP, [](auto* c) { c->header.version = 1; });
  refused(EINVAL, [](auto* c) { c->output_buf.mem = nullptr; });
  refused(EINVAL, [](auto* c) { c->width = 4095, c->height = 4000; });
}

DVNN_TEST(the_ipu_scales_bilinearly_and_transposes) {
  Bench bench;
  for (int round = 0; round < dvnn_rounds(60); ++round) {
    fill(&bench);
    const int tw = 1 + up_to(40), th = 1 + up_to(40), rw = 1 + up_to(60), rh = 1 + up_to(60);
    auto cmd = ipu_command(bench, tw, th, rw, rh);
    cmd.blf = 1;
    cmd.transpose = static_cast<uint8_t>(round & 1);
    cmd.ridx = 2;
    cmd.bidx = 0;
    ck_assert_int_eq(bench.run(cmd), 0);
    for (int y = 0; y < rh; ++y) {
      for (int x = 0; x < rw; ++x) {
        const double u = cmd.transpose ? (y + 0.5) * tw / rh : (x + 0.5) * tw / rw;
        const double v = cmd.transpose ? (x + 0.5) * th / rw : (y + 0.5) * th / rh;
        for (int k = 0; k < 3; ++k) {
          const double wanted = bilinear(bench.data, tw, th, u, v, 2 - k);
          const int got = bench.data[kWr + static_cast<uint64_t>((y * rw + x) * 3 + k)];
          // Half a level of rounding, and float's 24 bits on the way.
          ck_assert_double_le(std::fabs(got - wanted), 0.501);
        }
      }
    }
  }
}

DVNN_TEST(the_ipu_blends_and_runs_rows_backwards) {
  Bench bench;
  fill(&bench);
  const int w = 16, h = 9;
  auto cmd = ipu_command(bench, w, h, w, h);
  cmd.use_rd = 1;
  cmd.fmt_rd = DMP_DV_RGB888;
  cmd.use_const_alpha = 1;
  cmd.alpha = 77;
  cmd.stride_wr = -w * 3;
  cmd.wr.offs = kWr + static_cast<uint64_t>(w * 3 * (h - 1));
  ck_assert_int_eq(bench.run(cmd), 0);
  for (int y = 0; y < h; ++y) {
    for (int i = 0; i < w * 3; ++i) {
      const double over = bench.data[y * w * 3 + i];
      const double under = bench.data[kRd + static_cast<uint64_t>(y * w * 3 + i)];
      const double wanted = over * 77 / 255 + under * (255 - 77) / 255;
      const int got =
          bench.data[cmd.wr.offs - static_cast<uint64_t>(y * w * 3) + static_cast<uint64_t>(i)];
      ck_assert_double_le(std::fabs(got - wanted), 0.501);
    }
  }
}

DVNN_TEST(the_ipu_converts_to_binary16_by_both_rules) {
  Bench bench;
  fill(&bench);
  for (uint8_t rule : {DMP_DV_CNV_FP16_SUB, DMP_DV_CNV_FP16_DIV_255}) {
    auto cmd = ipu_command(bench, 16, 16, 16, 16);
    cmd.fmt_wr = DMP_DV_RGBFP16;
    cmd.stride_wr = 16 * 6;
    cmd.cnv_type = rule;
    const uint8_t mean[] = {104, 117, 123};
    std::memcpy(cmd.cnv_param, mean, sizeof mean);
    ck_assert_int_eq(bench.run(cmd), 0);
    for (int i = 0; i < 16 * 16 * 3; ++i) {
      const float value = bench.data[i];
      const float wanted = rule == DMP_DV_CNV_FP16_SUB ? value - mean[i % 3] : value / 255;
      half_t got;
      std::memcpy(&got, bench.data + kWr + 2 * i, sizeof got);
      ck_assert_uint_eq(got, float_to_half(wanted));
    }
  }
}

DVNN_TEST(the_ipu_looks_colours_up_and_remembers_them) {
  Bench bench;
  auto cmd = ipu_command(bench, 8, 1, 8, 1);
  cmd.fmt_tex = DMP_DV_LUT;
  cmd.fmt_wr = DMP_DV_RGBA8888;
  cmd.stride_wr = 0;
  for (unsigned i = 0; i < 8; ++i) {
    bench.data[i] = static_cast<uint8_t>(7 - i);
    cmd.lut[i] = 0x04030201u * (i + 1);
  }
  cmd.ncolor_lut = 8;
  for (int round = 0; round < 2; ++round) {
    std::memset(bench.data + kWr, 0, 32);
    ck_assert_int_eq(bench.run(cmd), 0);
    for (unsigned i = 0; i < 32; ++i) {
      ck_assert_uint_eq(bench.data[kWr + i], (i % 4 + 1) * (8 - i / 4));
    }
    cmd.ncolor_lut = 0;
    std::memset(cmd.lut, 0, sizeof cmd.lut);
  }
}

DVNN_TEST(the_ipu_refuses_what_the_driver_refuses) {
  Bench bench;
  const auto good = ipu_command(bench, 8, 8, 8, 8);
  auto refused = [&](int code, auto change) {
    auto cmd = good;
    change(&cmd);
    ck_assert_int_eq(bench.run(cmd), code);
  };
  refused(0, [](auto*) {});
  refused(-1, [](auto* c) { c->fmt_wr = 3; });
  refused(-1, [](auto* c) { c->rect_width = 4095; });
  refused(-1, [](auto* c) { c->rect_height = 0; });
  refused(-1, [](auto* c) { c->stride_wr = 32768; });
  refused(-1, [](auto* c) { c->use_tex = 0; });
  refused(-1, [](auto* c) { c->tex_width = 4096; });
  refused(-1, [](auto* c) { c->fmt_tex = 2; });
  refused(-1, [](auto* c) { c->gidx = c->ridx; });
  refused(-1, [](auto* c) { c->bidx = 3; });
  refused(-1, [](auto* c) { c->cnv_type = 2; });
  refused(-1, [](auto* c) { c->use_rd = 1, c->stride_rd = 0; });
  refused(EINVAL, [](auto* c) { c->wr.offs = 1; });
  refused(EINVAL, [](auto* c) { c->wr.offs = 0, c->stride_wr = -24; });
  refused(EINVAL, [](auto* c) { c->stride_wr = 32767, c->rect_height = 4000; });
  refused(EINVAL, [](auto* c) { c->tex_width = c->tex_height = 4095; });
}

// A small picture, and one that threads share.
DVNN_TEST(bytes_are_looked_up_and_swapped) {
  Bench bench;
  fill(&bench);
  auto cmd = looked_up_command(&bench);
  const auto* table = reinterpret_cast<const half_t*>(bench.data + kTable);
  constexpr uint16_t kSizes[][2] = {{5, 7}, {130, 70}};
  for (const auto& size : kSizes) {
    cmd.conv_cmd.w = size[0];
    cmd.conv_cmd.h = size[1];
    for (uint16_t swap : {0, 1}) {
      cmd.to_bgr = swap;
      std::memset(bench.data + kWr, 0, 6 * size[0] * size[1]);
      ck_assert_int_eq(bench.run(cmd), 0);
      for (int i = 0; i < size[0] * size[1]; ++i) {
        for (int k = 0; k < 3; ++k) {
          half_t got;
          std::memcpy(&got, bench.data + kWr + 2 * (3 * i + k), sizeof got);
          ck_assert_uint_eq(got, table[k * 256 + bench.data[3 * i + (swap ? 2 - k : k)]]);
        }
      }
    }
  }
  cmd.conv_cmd.c = 4;
  ck_assert_int_eq(bench.run(cmd), -1);
}

// The caller may release the memories that an added command names: the list keeps them.
DVNN_TEST(lists_keep_the_memories_of_their_commands) {
  Bench bench;
  fill(&bench);
  auto blend = ipu_command(bench, 8, 8, 8, 8);
  blend.use_rd = 1;
  blend.use_const_alpha = 1;
  blend.alpha = 77;
  check_kept(&bench, blend, [](auto* c) { return Buffers{&c->tex, &c->rd, &c->wr}; });
  auto sum = looked_up_command(&bench);
  sum.conv_cmd.output_mode = 1;
  sum.conv_cmd.eltwise_buf = bench.at(kRd);
  std::memset(bench.data + kRd, 0x3c, 4096);
  check_kept(&bench, sum, [](auto* c) {
    auto& conv = c->conv_cmd;
    return Buffers{&conv.input_buf, &c->u8tofp16_table, &conv.run[0].weight_buf, &conv.eltwise_buf,
                   &conv.output_buf};
  });
  check_kept(&bench, maximizer_command(bench, 4, 4, 2), [](auto* c) {
    return Buffers{&c->input_buf, &c->output_buf};
  });
}

DVNN_TEST(lists_take_one_kind_of_command_and_one_ipu_command) {
  Bench bench;
  auto ipu = ipu_command(bench, 8, 8, 8, 8);
  auto maximizer = maximizer_command(bench, 4, 4, 2);
  for (bool mixed : {false, true}) {
    dmp_dv_cmdlist list = fn().cmdlist_create(bench.ctx);
    ck_assert_int_eq(fn().cmdlist_add_raw(list, &ipu.header), 0);
    ck_assert_int_eq(fn().cmdlist_add_raw(list, mixed ? &maximizer.header : &ipu.header), 0);
    ck_assert_int_eq(fn().cmdlist_commit(list), -1);
    fn().cmdlist_release(list);
  }
}

}  // namespace dvnn::test::units_tests
