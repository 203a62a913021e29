# SPDX-License-Identifier: Apache-2.0
SUMMARY = "GStreamer elements for neural networks on the DMP DV"
DESCRIPTION = "Elements that find things in video by convolutional networks, on the DMP DV FPGA or, \
where there is none, on a CPU. What is found travels on the frames as metadata, is drawn, published, \
and can be read by applications."
HOMEPAGE = "https://gst-dvnn.example.org"
SECTION = "multimedia"
LICENSE = "Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE;md5=3b83ef96387f14655fc854ddc3c6bd57"

# GLib is needed by all parts. No library is fetched while building: the class meson forbids it.
DEPENDS = "glib-2.0 highway libeigen nlohmann-json zlib"

# What is committed in the repository around this layer; nothing comes from a network. If the layer
# is elsewhere, name the repository by DVNN_REPOSITORY, and a commit by SRCREV.
SRC_URI = "git://${DVNN_REPOSITORY};protocol=file;usehead=1"
SRCREV ?= "${AUTOREV}"
PV = "0.1.0+git"
# Releases since 5.1 have UNPACKDIR, and unpack git's sources into a folder named as BP says.
S = "${@d.getVar('UNPACKDIR') + '/' + d.getVar('BP') if d.getVar('UNPACKDIR') else d.getVar('WORKDIR') + '/git'}"

inherit meson pkgconfig bash-completion features_check

# Fused multiplication and addition, without which a program says so and does not start. A Cortex-A9,
# A8 or A5 has none. The class features_check of 5.0 does not know these features.
# A tree without a repository would stop bitbake before it builds anything at all.
python () {
    if not d.getVar('EXTERNALSRC') and not os.path.exists(os.path.join(d.getVar('DVNN_REPOSITORY'), '.git')):
        raise bb.parse.SkipRecipe("DVNN_REPOSITORY names no git repository; without one, set EXTERNALSRC:pn-gst-dvnn")
    if d.getVar('TARGET_ARCH') == 'arm' and 'vfpv4' not in d.getVar('TUNE_FEATURES').split():
        raise bb.parse.SkipRecipe("needs a processor with VFPv4 (vfpv4 in TUNE_FEATURES)")
}
# An emulator runs what writes the manual, and what describes the library for other languages.
REQUIRED_DISTRO_FEATURES = "${@bb.utils.contains('PACKAGECONFIG', 'introspection', 'gobject-introspection-data', '', d)}"
REQUIRED_MACHINE_FEATURES = "${@bb.utils.contains_any('PACKAGECONFIG', 'introspection manual', 'qemu-usermode', '', d)}"

# A row for each of Meson's features; all that is not listed here is off:
# - analytics: GStreamer's library for it came with 1.24, and 5.0 has 1.22.
# - convert, tflite, opencv, markers: networks are converted, evaluated and tried on a PC. Their libraries
#   are ten times as large as all the rest.
# - introspection: for programs in Python, never tried in a cross build by this recipe.
# - kafka: a library of 2 MB that few boards need.
# - onnxruntime: no layer named in layer.conf has it.
# - pictures: dvnet run and evaluate, for picture files, which a camera has none of.
# - tests: they need models that are not in the repository.
PACKAGECONFIG ??= "\
    ${@bb.utils.contains('LAYERSERIES_CORENAMES', 'scarthgap', '', 'analytics', d)} \
    ${@bb.utils.contains('MACHINE_FEATURES', 'qemu-usermode', 'manual', '', d)} \
    gst http mqtt overlay snapshots softdv zbar \
"
PACKAGECONFIG[analytics] = "-Danalytics=enabled,-Danalytics=disabled,gstreamer1.0-plugins-bad"
PACKAGECONFIG[convert] = "-Dconvert=enabled,-Dconvert=disabled,hdf5 libseccomp libzip protobuf protobuf-native"
PACKAGECONFIG[gst] = "-Dgst=enabled,-Dgst=disabled,gstreamer1.0 gstreamer1.0-plugins-base"
PACKAGECONFIG[http] = "-Dhttp=enabled,-Dhttp=disabled,curl"
PACKAGECONFIG[introspection] = "-Dintrospection=enabled,-Dintrospection=disabled,gobject-introspection gobject-introspection-native qemu-native"
PACKAGECONFIG[kafka] = "-Dkafka=enabled,-Dkafka=disabled,librdkafka"
# dvnet writes its own manual, so an emulator runs it.
PACKAGECONFIG[manual] = "-Dmanual=enabled,-Dmanual=disabled,qemu-native"
PACKAGECONFIG[markers] = "-Dmarkers=enabled,-Dmarkers=disabled,opencv"
PACKAGECONFIG[mqtt] = "-Dmqtt=enabled,-Dmqtt=disabled,mosquitto"
PACKAGECONFIG[onnxruntime] = "-Donnxruntime=enabled,-Donnxruntime=disabled"
PACKAGECONFIG[opencv] = "-Dopencv=enabled,-Dopencv=disabled,opencv"
PACKAGECONFIG[overlay] = "-Doverlay=enabled,-Doverlay=disabled,cairo pango"
PACKAGECONFIG[pictures] = "-Dpictures=enabled,-Dpictures=disabled,gdk-pixbuf"
PACKAGECONFIG[snapshots] = "-Dsnapshots=enabled,-Dsnapshots=disabled,jpeg"
PACKAGECONFIG[softdv] = "-Dsoftdv=enabled,-Dsoftdv=disabled"
PACKAGECONFIG[tests] = "-Dtests=enabled,-Dtests=disabled,libcheck"
PACKAGECONFIG[tflite] = "-Dtflite=enabled,-Dtflite=disabled,flatbuffers flatbuffers-native"
PACKAGECONFIG[zbar] = "-Dzbar=enabled,-Dzbar=disabled,zbar"

do_install:append() {
    install -D -m 0644 ${S}/packaging/udev/60-dmp-dv.rules \
        ${D}${nonarch_base_libdir}/udev/rules.d/60-dmp-dv.rules
}

# The first package that lists a file gets it. Names are those of Debian's packages where a part is
# of use alone: programs of one's own are linked with libdmp-network or libgstdvnn.
PACKAGE_BEFORE_PN += "${PN}-publish ${PN}-tools ${PN}-networks ${PN}-udev ${PN}-python libdmpdv-soft libdmp-network libgstdvnn"

SUMMARY:${PN}-publish = "GStreamer element that publishes what gst-dvnn found"
SUMMARY:${PN}-tools = "Tool for the neural networks of gst-dvnn"
SUMMARY:${PN}-networks = "Network that gst-dvnn uses where none is named"
SUMMARY:${PN}-udev = "Device nodes of the DMP DV for the group video"
SUMMARY:${PN}-python = "Metadata of gst-dvnn on video frames, for Python"
SUMMARY:libdmpdv-soft = "DMP DV device in software"
SUMMARY:libdmp-network = "Run time of DMP DV networks that are C++ sources"
SUMMARY:libgstdvnn = "Metadata of gst-dvnn on video frames"

FILES:${PN} = "${libdir}/gstreamer-1.0/libgstdvnn.so ${libdir}/gstreamer-1.0/libgstdvnnzones.so"
FILES:${PN}-publish = "${libdir}/gstreamer-1.0/libgstdvnnpublish.so"
FILES:${PN}-tools = "${bindir}/dvnet ${libdir}/gst-dvnn/dvnn-pictures.so"
FILES:${PN}-networks = "${datadir}/gst-dvnn"
FILES:${PN}-udev = "${nonarch_base_libdir}/udev/rules.d"
FILES:${PN}-python = "${libdir}/girepository-1.0 ${libdir}/python3*/site-packages/gi/overrides"
FILES:libdmpdv-soft = "${libdir}/gst-dvnn/libdmpdv-soft.so ${libdir}/gst-dvnn/vendor"
FILES:libdmp-network = "${libdir}/libdmp_network.so.*"
FILES:libgstdvnn = "${libdir}/libgstdvnn-1.0.so.*"
FILES:${PN}-dev = "${includedir} ${libdir}/libdmp_network.so ${libdir}/libgstdvnn-1.0.so ${libdir}/pkgconfig ${datadir}/gir-1.0"
FILES:${PN}-doc = "${mandir}"

# Libraries that a program links with are found by themselves. These are opened by name.
RRECOMMENDS:${PN} = "${PN}-networks ${@bb.utils.contains('PACKAGECONFIG', 'softdv', 'libdmpdv-soft', '', d)}"
RDEPENDS:${PN}-publish = "${PN}"
RRECOMMENDS:${PN}-tools = "${@bb.utils.contains('PACKAGECONFIG', 'softdv', 'libdmpdv-soft', '', d)}"
RDEPENDS:${PN}-dev = "libdmp-network libgstdvnn"

# A link with the vendor's name, which LD_LIBRARY_PATH chooses for the vendor's programs: no link for compilers.
INSANE_SKIP:libdmpdv-soft = "dev-so"
