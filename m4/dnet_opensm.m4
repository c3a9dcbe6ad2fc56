# SPDX-License-Identifier: BSD-3-Clause
#
# DNET_OPENSM
# -----------
# The routing plug-in for OpenSM needs its headers and those of libibumad, which they include (Debian:
# libopensm-dev, libibumad-dev).  Conditional HAVE_OPENSM; substitutes OPENSM_INCLUDE.
AC_DEFUN([DNET_OPENSM], [
AC_ARG_VAR([OPENSM_INCLUDE], [directory that holds opensm/osm_event_plugin.h])
AS_IF([test -z "$OPENSM_INCLUDE"], [OPENSM_INCLUDE=/usr/include/infiniband])
AC_MSG_CHECKING([for OpenSM's headers])
AS_IF([test -f "$OPENSM_INCLUDE/opensm/osm_event_plugin.h" && test -f "$OPENSM_INCLUDE/umad.h"],
    [have_opensm=yes], [have_opensm=no])
AC_MSG_RESULT([$have_opensm])
AM_CONDITIONAL([HAVE_OPENSM], [test "$have_opensm" = yes])
])
