// SPDX-License-Identifier: Apache-2.0
#include "gst/dvnn/gstdvnetworkinfo.h"

#include <utility>

struct _GstDvNetworkInfo {
  gint references;
  gchar* name;
  gchar* decoder;
  gchar* decoder_params;
  gchar** labels;
};

G_DEFINE_BOXED_TYPE(GstDvNetworkInfo, gst_dv_network_info, gst_dv_network_info_ref,
                    gst_dv_network_info_unref)

/**
 * gst_dv_network_info_new:
 * @name: the network's name
 * @decoder: name of the decoder of its outputs, "" for none
 * @decoder_params: its parameters as JSON
 * @labels: (array zero-terminated=1) (nullable): labels by class id
 *
 * Describes a network. Strings are copied; invalid UTF-8 is replaced.
 *
 * Returns: (transfer full): a description with one reference
 *
 * Since: 0.1.0
 */
GstDvNetworkInfo* gst_dv_network_info_new(const gchar* name, const gchar* decoder,
                                          const gchar* decoder_params, const gchar* const* labels) {
  static const gchar* const none[] = {nullptr};
  GstDvNetworkInfo* info = g_new0(GstDvNetworkInfo, 1);
  info->references = 1;
  // The strings travel in messages, so they must be valid UTF-8.
  info->name = g_utf8_make_valid(name ? name : "", -1);
  info->decoder = g_utf8_make_valid(decoder ? decoder : "", -1);
  info->decoder_params = g_utf8_make_valid(decoder_params ? decoder_params : "", -1);
  info->labels = g_strdupv(const_cast<gchar**>(labels ? labels : none));
  for (gchar** label = info->labels; *label; ++label) {
    gchar* valid = g_utf8_make_valid(*label, -1);
    g_free(std::exchange(*label, valid));
  }
  return info;
}

/**
 * gst_dv_network_info_ref:
 * @info: a description
 *
 * Returns: (transfer full): @info, with one reference more
 *
 * Since: 0.1.0
 */
GstDvNetworkInfo* gst_dv_network_info_ref(GstDvNetworkInfo* info) {
  g_atomic_int_inc(&info->references);
  return info;
}

/**
 * gst_dv_network_info_unref:
 * @info: (transfer full): a description
 *
 * Gives up a reference; the last one frees the description.
 *
 * Since: 0.1.0
 */
void gst_dv_network_info_unref(GstDvNetworkInfo* info) {
  if (!g_atomic_int_dec_and_test(&info->references)) return;
  g_free(info->name);
  g_free(info->decoder);
  g_free(info->decoder_params);
  g_strfreev(info->labels);
  g_free(info);
}

/**
 * gst_dv_network_info_get_name:
 * @info: a description
 *
 * Returns: the network's name
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_network_info_get_name(const GstDvNetworkInfo* info) {
  return info->name;
}

/**
 * gst_dv_network_info_get_decoder:
 * @info: a description
 *
 * Returns: the name of the decoder of the network's outputs, "" for none
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_network_info_get_decoder(const GstDvNetworkInfo* info) {
  return info->decoder;
}

/**
 * gst_dv_network_info_get_decoder_params:
 * @info: a description
 *
 * Returns: the decoder's parameters as JSON
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_network_info_get_decoder_params(const GstDvNetworkInfo* info) {
  return info->decoder_params;
}

/**
 * gst_dv_network_info_get_labels:
 * @info: a description
 *
 * Returns: (transfer none) (array zero-terminated=1): labels by class id
 *
 * Since: 0.1.0
 */
const gchar* const* gst_dv_network_info_get_labels(const GstDvNetworkInfo* info) {
  return info->labels;
}
