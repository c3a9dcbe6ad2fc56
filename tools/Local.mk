# SPDX-License-Identifier: BSD-3-Clause
# One folder a tool; README.md says where a new line goes.
include tools/check/Local.mk
include tools/cluster/Local.mk
include tools/completion/Local.mk
include tools/info/Local.mk
include tools/replay/Local.mk
include tools/shell/Local.mk
include tools/stat/Local.mk
include tools/subnet/Local.mk
include tools/trace/Local.mk
EXTRA_DIST += tools/README.md
dist_pkgdata_DATA = tools/wireshark/dimmnet.lua
