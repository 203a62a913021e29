/* SPDX-License-Identifier: Apache-2.0
 *
 * Version 0 of the raw commands of the DV700 driver interface.
 * A binary16 tensor of w x h pixels and c channels is stored in chunks of 8 channels, and a chunk
 * in the order x, y, channel, with channels innermost. The last chunk is not padded.
 */
#ifndef _DMP_DV_CMDRAW_V0_H_
#define _DMP_DV_CMDRAW_V0_H_

#include <stddef.h>

#include "dmp_dv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One run of a convolution command. In fields with two values, the first is the low byte. */
struct dmp_dv_cmdraw_conv_v0_run {
  struct dmp_dv_buf weight_buf; /* packed weights */
  uint32_t conv_pad;            /* left 6:0, right 15:8, top 22:16, bottom 31:24 */
  uint32_t pool_pad;            /* likewise */
  uint16_t m;                   /* output channels */
  uint16_t conv_enable;         /* 1 convolution, 3 depthwise, 5 deconvolution, 7 both; 0 off */
  uint16_t p;                   /* kernel: width, height (0: as wide) */
  uint16_t pz;                  /* kernel depth */
  uint16_t conv_stride;         /* x, y */
  uint16_t conv_dilation;       /* x, y; 0 as 1 */
  uint16_t weight_fmt;          /* 1 binary16, 3 indices into a table of 256 binary16; 0 as 1 */
  uint16_t pool_enable;         /* 1 maximum, 2 average, 4 upsample by 2; 0 off */
  uint16_t pool_avg_param;      /* binary16: factor of an average's sum */
  uint16_t pool_size;           /* w, h */
  uint16_t pool_stride;         /* x, y */
  uint16_t actfunc;       /* 0 off, 1 tanh, 2 leaky ReLU, 3 sigmoid, 4 PReLU, 5 ELU, 6 ReLU6 */
  uint16_t actfunc_param; /* binary16: leaky ReLU's slope */
  uint16_t rectifi_en;    /* 1: absolute value after the activation */
  uint16_t lrn;           /* bit 0 on, bit 1 with power, 11:8 log2 of the prescale */
  uint16_t rsvd;
};

/* Convolution: one or more runs over one input. */
struct dmp_dv_cmdraw_conv_v0 {
  struct dmp_dv_cmdraw header;
  struct dmp_dv_buf input_buf;
  struct dmp_dv_buf output_buf;
  struct dmp_dv_buf eltwise_buf;  /* operand of output_mode 1 */
  uint32_t topo;                  /* bit i: run i writes to memory, else to the unified buffer */
  uint16_t w, h, z, c;            /* input width, height, depth, channels */
  uint16_t input_circular_offset; /* 14:0 batch size (0 as 1), 15: y-major tensors */
  uint16_t output_mode;           /* 0: outputs are consecutive; 1: add eltwise_buf */
  struct dmp_dv_cmdraw_conv_v0_run run[32];
};

/* Fully connected layer. */
struct dmp_dv_cmdraw_fc_v0 {
  struct dmp_dv_cmdraw header;
  struct dmp_dv_buf weight_buf;
  struct dmp_dv_buf input_buf;
  struct dmp_dv_buf output_buf;
  uint16_t input_size, output_size; /* elements */
  uint16_t weight_fmt;              /* 0 binary16, 1 indices into a table */
  uint16_t actfunc;                 /* 1 ReLU, 2 tanh, 3 leaky ReLU, 4 sigmoid, 5 PReLU; 0 off */
  uint16_t actfunc_param;           /* binary16 slope */
  uint16_t rsvd[3];
};

/* Pixel formats of the image processing unit. */
#define DMP_DV_RGBA8888 0
#define DMP_DV_RGB888 1
#define DMP_DV_RGBFP16 2
#define DMP_DV_LUT 7

/* Its conversions to binary16: subtract a value per channel, or divide by 255. */
#define DMP_DV_CNV_FP16_SUB 0
#define DMP_DV_CNV_FP16_DIV_255 1

/* Image processing: scale a texture, swizzle, blend over a picture, convert. */
struct dmp_dv_cmdraw_ipu_v0 {
  struct dmp_dv_cmdraw header;
  struct dmp_dv_buf tex, rd, wr; /* texture, picture behind it, result */
  uint8_t fmt_tex, fmt_rd, fmt_wr, rsvd1;
  uint16_t tex_width, tex_height;
  uint16_t rect_width, rect_height;
  int32_t stride_rd, stride_wr; /* bytes, may be negative */
  uint32_t lut[32];
  uint8_t ncolor_lut;
  uint8_t alpha;
  uint8_t transpose;
  uint8_t use_const_alpha;
  uint8_t use_tex, use_rd;
  uint8_t blf; /* bilinear filter */
  int8_t ridx, gidx, bidx, aidx;
  uint8_t cnv_type;
  uint8_t cnv_param[3];
  uint8_t rsvd2[5];
};

/* Arg-max over classes for each pixel, one byte each. */
struct dmp_dv_cmdraw_maximizer_v0 {
  struct dmp_dv_cmdraw header;
  struct dmp_dv_buf input_buf;
  struct dmp_dv_buf output_buf;
  uint16_t width, height;
  uint8_t nclass;
  uint8_t rsvd[3];
};

#define DMP_DV_CHECK_OFFSET(type, field, offset) \
  DMP_DV_STATIC_ASSERT(offsetof(struct type, field) == (offset), #type "." #field)

DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_cmdraw_conv_v0_run) == 56, "conv_v0_run");
DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_cmdraw_conv_v0) == 1864, "conv_v0");
DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_cmdraw_fc_v0) == 72, "fc_v0");
DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_cmdraw_ipu_v0) == 224, "ipu_v0");
DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_cmdraw_maximizer_v0) == 48, "maximizer_v0");
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, conv_pad, 16);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, pool_pad, 20);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, m, 24);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, conv_enable, 26);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, p, 28);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, pz, 30);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, conv_stride, 32);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, conv_dilation, 34);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, weight_fmt, 36);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, pool_enable, 38);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, pool_avg_param, 40);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, pool_size, 42);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, pool_stride, 44);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, actfunc, 46);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, actfunc_param, 48);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, rectifi_en, 50);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0_run, lrn, 52);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0, input_buf, 8);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0, output_buf, 24);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0, eltwise_buf, 40);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0, topo, 56);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0, w, 60);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0, c, 66);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0, input_circular_offset, 68);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0, output_mode, 70);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v0, run, 72);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_fc_v0, weight_buf, 8);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_fc_v0, output_buf, 40);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_fc_v0, input_size, 56);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_fc_v0, actfunc, 62);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_fc_v0, rsvd, 66);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_ipu_v0, fmt_tex, 56);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_ipu_v0, tex_width, 60);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_ipu_v0, stride_rd, 68);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_ipu_v0, lut, 76);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_ipu_v0, ncolor_lut, 204);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_ipu_v0, ridx, 211);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_ipu_v0, cnv_type, 215);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_ipu_v0, rsvd2, 219);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_maximizer_v0, input_buf, 8);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_maximizer_v0, width, 40);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_maximizer_v0, nclass, 44);

#ifdef __cplusplus
}
#endif

#endif /* _DMP_DV_CMDRAW_V0_H_ */
