# SPDX-License-Identifier: Apache-2.0
SUMMARY = "Small image with gst-dvnn for trying it on a board"
DESCRIPTION = "core-image-minimal, the elements of gst-dvnn and those of GStreamer that a camera needs, \
and a login by ssh."
LICENSE = "Apache-2.0"

IMAGE_INSTALL = "packagegroup-core-boot ${CORE_IMAGE_EXTRA_INSTALL}"
IMAGE_FEATURES += "ssh-server-dropbear"

inherit core-image

require recipes-multimedia/images/dvnn-demo.inc
