################################################################################
#
# gst-dvnn
#
################################################################################

GST_DVNN_VERSION = 0.1.0
# The tree that this folder is part of: nothing is downloaded.
GST_DVNN_SITE = $(BR2_EXTERNAL_DVNN_PATH)/../..
GST_DVNN_SITE_METHOD = local
GST_DVNN_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS = \
	--exclude /build* \
	--exclude /out
GST_DVNN_LICENSE = Apache-2.0
GST_DVNN_LICENSE_FILES = LICENSE
GST_DVNN_INSTALL_STAGING = YES
GST_DVNN_DEPENDENCIES = \
	host-pkgconf \
	eigen \
	gst1-plugins-base \
	gstreamer1 \
	highway \
	json-for-modern-cpp \
	libglib2 \
	zlib

# Off for good. The converter needs HDF5, which Buildroot does not have, like
# librdkafka and ONNX Runtime; OpenCV serves comparisons on a PC; dvnet, which
# writes its manual, and the scanner of GObject Introspection do not run here.
GST_DVNN_CONF_OPTS = \
	-Dconvert=disabled \
	-Dgst=enabled \
	-Dintrospection=disabled \
	-Dkafka=disabled \
	-Dmanual=disabled \
	-Dmarkers=disabled \
	-Donnxruntime=disabled \
	-Dopencv=disabled \
	-Dtests=disabled \
	-Dtflite=disabled

ifeq ($(BR2_PACKAGE_GST_DVNN_ANALYTICS),y)
GST_DVNN_CONF_OPTS += -Danalytics=enabled
GST_DVNN_DEPENDENCIES += gst1-plugins-bad
else
GST_DVNN_CONF_OPTS += -Danalytics=disabled
endif

ifeq ($(BR2_PACKAGE_GST_DVNN_HTTP),y)
GST_DVNN_CONF_OPTS += -Dhttp=enabled
GST_DVNN_DEPENDENCIES += libcurl
else
GST_DVNN_CONF_OPTS += -Dhttp=disabled
endif

ifeq ($(BR2_PACKAGE_GST_DVNN_MQTT),y)
GST_DVNN_CONF_OPTS += -Dmqtt=enabled
GST_DVNN_DEPENDENCIES += mosquitto
else
GST_DVNN_CONF_OPTS += -Dmqtt=disabled
endif

ifeq ($(BR2_PACKAGE_GST_DVNN_OVERLAY),y)
GST_DVNN_CONF_OPTS += -Doverlay=enabled
GST_DVNN_DEPENDENCIES += cairo pango
else
GST_DVNN_CONF_OPTS += -Doverlay=disabled
endif

ifeq ($(BR2_PACKAGE_GST_DVNN_PICTURES),y)
GST_DVNN_CONF_OPTS += -Dpictures=enabled
GST_DVNN_DEPENDENCIES += gdk-pixbuf
else
GST_DVNN_CONF_OPTS += -Dpictures=disabled
endif

ifeq ($(BR2_PACKAGE_GST_DVNN_SNAPSHOTS),y)
GST_DVNN_CONF_OPTS += -Dsnapshots=enabled
GST_DVNN_DEPENDENCIES += jpeg
else
GST_DVNN_CONF_OPTS += -Dsnapshots=disabled
endif

ifeq ($(BR2_PACKAGE_GST_DVNN_SOFTDV),y)
GST_DVNN_CONF_OPTS += -Dsoftdv=enabled
else
GST_DVNN_CONF_OPTS += -Dsoftdv=disabled
endif

ifeq ($(BR2_PACKAGE_GST_DVNN_ZBAR),y)
GST_DVNN_CONF_OPTS += -Dzbar=enabled
GST_DVNN_DEPENDENCIES += zbar
else
GST_DVNN_CONF_OPTS += -Dzbar=disabled
endif

define GST_DVNN_INSTALL_UDEV_RULES
	$(INSTALL) -D -m 0644 $(@D)/packaging/udev/60-dmp-dv.rules \
		$(TARGET_DIR)/usr/lib/udev/rules.d/60-dmp-dv.rules
endef
GST_DVNN_POST_INSTALL_TARGET_HOOKS += GST_DVNN_INSTALL_UDEV_RULES

# For kernels that Buildroot builds; cma= on the command line says how much.
define GST_DVNN_LINUX_CONFIG_FIXUPS
	$(call KCONFIG_ENABLE_OPT,CONFIG_CMA)
	$(call KCONFIG_ENABLE_OPT,CONFIG_DMA_CMA)
endef

$(eval $(meson-package))
