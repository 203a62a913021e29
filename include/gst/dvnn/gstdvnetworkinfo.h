/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __GST_DV_NETWORK_INFO_H__
#define __GST_DV_NETWORK_INFO_H__

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_DV_NETWORK_INFO (gst_dv_network_info_get_type())

/**
 * GstDvNetworkInfo:
 *
 * Meaning of a network's outputs, from its file. Reference counted and immutable.
 *
 * Since: 0.1.0
 */
typedef struct _GstDvNetworkInfo GstDvNetworkInfo;

GType gst_dv_network_info_get_type(void);
GstDvNetworkInfo* gst_dv_network_info_new(const gchar* name, const gchar* decoder,
                                          const gchar* decoder_params, const gchar* const* labels);
GstDvNetworkInfo* gst_dv_network_info_ref(GstDvNetworkInfo* info);
void gst_dv_network_info_unref(GstDvNetworkInfo* info);
const gchar* gst_dv_network_info_get_name(const GstDvNetworkInfo* info);
const gchar* gst_dv_network_info_get_decoder(const GstDvNetworkInfo* info);
const gchar* gst_dv_network_info_get_decoder_params(const GstDvNetworkInfo* info);
const gchar* const* gst_dv_network_info_get_labels(const GstDvNetworkInfo* info);

G_END_DECLS

#endif /* __GST_DV_NETWORK_INFO_H__ */
