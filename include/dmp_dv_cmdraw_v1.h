/* SPDX-License-Identifier: Apache-2.0
 *
 * Version 1 of the convolution command: 8-bit input through a table.
 */
#ifndef _DMP_DV_CMDRAW_V1_H_
#define _DMP_DV_CMDRAW_V1_H_

#include "dmp_dv_cmdraw_v0.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dmp_dv_cmdraw_conv_v1 {
  struct dmp_dv_cmdraw header;
  struct dmp_dv_buf u8tofp16_table; /* 3 x 256 binary16; mem NULL: binary16 input */
  uint16_t to_bgr;                  /* 1: swap the first and the third channel */
  uint16_t rsvd[3];
  struct dmp_dv_cmdraw_conv_v0 conv_cmd; /* its header's size must be set, too */
};

DMP_DV_STATIC_ASSERT(sizeof(struct dmp_dv_cmdraw_conv_v1) == 1896, "conv_v1");
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v1, u8tofp16_table, 8);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v1, to_bgr, 24);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v1, rsvd, 26);
DMP_DV_CHECK_OFFSET(dmp_dv_cmdraw_conv_v1, conv_cmd, 32);

#ifdef __cplusplus
}
#endif

#endif /* _DMP_DV_CMDRAW_V1_H_ */
