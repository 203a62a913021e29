# SPDX-License-Identifier: Apache-2.0
# Only machines that ask for it: MACHINE_FEATURES:append = " dmp-dv"
require ${@bb.utils.contains('MACHINE_FEATURES', 'dmp-dv', 'dvnn-kernel.inc', '', d)}
