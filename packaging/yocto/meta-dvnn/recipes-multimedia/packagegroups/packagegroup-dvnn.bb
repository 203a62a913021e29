# SPDX-License-Identifier: Apache-2.0
SUMMARY = "What a camera with gst-dvnn runs"
DESCRIPTION = "The elements, their tool and network, the software device, and GStreamer's elements for \
cameras, files and RTSP."
SECTION = "multimedia"
LICENSE = "Apache-2.0"

inherit packagegroup

RDEPENDS:${PN} = "\
    gst-dvnn \
    gst-dvnn-networks \
    gst-dvnn-publish \
    gst-dvnn-tools \
    gst-dvnn-udev \
    gstreamer1.0 \
    gstreamer1.0-plugins-base \
    gstreamer1.0-plugins-good \
    libdmpdv-soft \
    liberation-fonts \
"
