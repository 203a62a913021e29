# SPDX-License-Identifier: Apache-2.0
# Source this with the build folder as argument to use the build without installing it.
dvnn_build=$(cd "${1:-build}" && pwd)
export GST_PLUGIN_PATH="$dvnn_build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
export GST_REGISTRY="$dvnn_build/registry.bin"
export DVNN_SOFT_DEVICE="$dvnn_build/src/softdv/libdmpdv-soft.so"
export DVNN_DEFAULT_NETWORK="$dvnn_build/pipelines/default.dvn"
export PATH="$dvnn_build/src/tools:$PATH"
export GI_TYPELIB_PATH="$dvnn_build/gst/meta${GI_TYPELIB_PATH:+:$GI_TYPELIB_PATH}"
export PKG_CONFIG_PATH="$dvnn_build/meson-uninstalled${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export PYTHONPATH="$dvnn_build/gst/meta/python${PYTHONPATH:+:$PYTHONPATH}"
export LD_LIBRARY_PATH="$dvnn_build/gst/meta:$dvnn_build/src/generated${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
