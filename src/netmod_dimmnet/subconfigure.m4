[#] start of __file__
dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl The library and where its headers are come from the environment:
dnl   DIMMNET_LIB       libtool library
dnl   DIMMNET_CPPFLAGS  -I options
dnl MPICH_SUBCFG_AFTER=src/mpid/ch4

AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[
    AM_COND_IF([BUILD_CH4],[
        for net in $ch4_netmods ; do
            if test "$net" = "dimmnet" ; then
                build_ch4_netmod_dimmnet=yes
                AC_DEFINE(HAVE_CH4_NETMOD_DIMMNET, 1, [dimmnet netmod is built])
                if test "$build_ch4_locality_info" != "yes" ; then
                    AC_DEFINE(MPIDI_BUILD_CH4_LOCALITY_INFO, 1, [CH4 should build locality info])
                    build_ch4_locality_info="yes"
                fi
            fi
        done
    ])
    AM_CONDITIONAL([BUILD_CH4_NETMOD_DIMMNET],[test "X$build_ch4_netmod_dimmnet" = "Xyes"])
])dnl

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
dimmnetlib="$DIMMNET_LIB"
AC_SUBST([dimmnetlib])
AM_COND_IF([BUILD_CH4_NETMOD_DIMMNET],[
    AC_MSG_NOTICE([RUNNING CONFIGURE FOR ch4:dimmnet])
    if test "$with_ch4_shmmods" != "none" -a "$with_ch4_shmmods" != "no" ; then
        AC_MSG_ERROR([the dimmnet netmod needs --with-ch4-shmmods=none: the NIC matches messages, and receives from any source cannot be shared with a shared-memory module])
    fi
    if test "X$DIMMNET_LIB" = "X" ; then
        AC_MSG_ERROR([set DIMMNET_LIB to the libtool library of the dimmnet project])
    fi
    PAC_APPEND_FLAG([$DIMMNET_CPPFLAGS],[CPPFLAGS])
])dnl end AM_COND_IF(BUILD_CH4_NETMOD_DIMMNET,...)
])dnl end _BODY

[#] end of __file__
