/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IP addresses: which one of this host a port of the TCP plug is to have.
 */
#include "config.h"

#include "emulator/swif/hosts/tcp_end.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "locality/adapter.h"

socklen_t dnet_emu_tcp_address_bytes(const dnet_emu_tcp_address_t *at)
{
    switch (at->any.sa_family) {
        case AF_INET:
            return sizeof at->v4;
        case AF_INET6:
            return sizeof at->v6;
    }
    return 0;
}

int dnet_emu_tcp_address_compare(const dnet_emu_tcp_address_t *a, const dnet_emu_tcp_address_t *b)
{
    int order = (int) a->any.sa_family - (int) b->any.sa_family;

    if (order == 0 && a->any.sa_family == AF_INET6) {
        order = memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr);
        return order ? order : memcmp(&a->v6.sin6_port, &b->v6.sin6_port, sizeof a->v6.sin6_port);
    }
    if (order == 0)
        order = memcmp(&a->v4.sin_addr, &b->v4.sin_addr, sizeof a->v4.sin_addr);
    return order ? order : memcmp(&a->v4.sin_port, &b->v4.sin_port, sizeof a->v4.sin_port);
}

/* Can a port have this address, and others reach it? */
static bool is_usable(const struct ifaddrs *i, bool *others_reach_p)
{
    const dnet_emu_tcp_address_t *at = (const dnet_emu_tcp_address_t *) (const void *) i->ifa_addr;

    if (!at || !dnet_emu_tcp_address_bytes(at) || !(i->ifa_flags & IFF_UP) ||
        (at->any.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&at->v6.sin6_addr)))
        return false;
    *others_reach_p = !(i->ifa_flags & IFF_LOOPBACK) && i->ifa_flags & IFF_RUNNING;
    return true;
}

static bool is_named(const struct ifaddrs *i, const char *interface)
{
    char text[64] = "";

    (void) getnameinfo(i->ifa_addr, dnet_emu_tcp_address_bytes((const void *) i->ifa_addr), text,
                       sizeof text, NULL, 0, NI_NUMERICHOST);
    return strcmp(interface, i->ifa_name) == 0 || strcmp(interface, text) == 0;
}

/* Add a name to a list of them, once. */
static void add_name(char *all, size_t bytes, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = all; (at = strstr(at, name)); at += length)
        if ((at == all || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
            return;
    snprintf(all + strlen(all), bytes - strlen(all), "%s%s", all[0] ? ", " : "", name);
}

uint32_t dnet_emu_tcp_interfaces(uint32_t most, char (*name)[DNET_RAIL_NAME])
{
    struct ifaddrs *list;
    bool others_reach;
    uint32_t n = 0;

    if (getifaddrs(&list) != 0)
        return 0;
    for (const struct ifaddrs *i = list; i && n < most; i = i->ifa_next) {
        uint32_t known = 0;

        while (known < n && strcmp(name[known], i->ifa_name) != 0)
            known++;
        if (known == n && is_usable(i, &others_reach) && others_reach)
            snprintf(name[n++], DNET_RAIL_NAME, "%s", i->ifa_name);
    }
    freeifaddrs(list);
    return n;
}

const char *dnet_emu_tcp_interface_ill(int fd, const char *name)
{
    struct ifreq r = {.ifr_flags = 0};

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    if (ioctl(fd, SIOCGIFFLAGS, &r) != 0)
        return "its interface is gone";
    if (!(r.ifr_flags & IFF_UP))
        return "its interface is down";
    return r.ifr_flags & IFF_RUNNING ? NULL : "its cable is out";
}

void dnet_emu_tcp_interface_facts(const char *name, dnet_emu_rail_facts_t *facts_p)
{
    char path[64];
    int mbits = 0;
    FILE *f;

    snprintf(path, sizeof path, "/sys/class/net/%.15s/speed", name);
    f = fopen(path, "re");
    if (f && fscanf(f, "%d", &mbits) != 1)
        mbits = 0;
    if (f)
        fclose(f);
    snprintf(path, sizeof path, "/sys/class/net/%.15s", name);
    *facts_p = (dnet_emu_rail_facts_t){.mbits_per_s = mbits > 0 ? (uint32_t) mbits : 0,
                                       .distance = (uint32_t) dnet_adapter_distance(path)};
}

bool dnet_emu_tcp_own_address(const char *interface, dnet_emu_tcp_address_t *at, char *name,
                              size_t name_bytes, char *all, size_t all_bytes)
{
    const struct ifaddrs *chosen = NULL;
    struct ifaddrs *list;
    bool reached = false, others_reach;

    all[0] = '\0';
    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (!is_usable(i, &others_reach))
            continue;
        add_name(all, all_bytes, i->ifa_name);
        if (interface ? !chosen && is_named(i, interface) : !chosen || (others_reach && !reached)) {
            chosen = i;
            reached = others_reach;
        }
    }
    if (chosen) {
        memset(at, 0, sizeof *at);
        memcpy(at, chosen->ifa_addr, dnet_emu_tcp_address_bytes((const void *) chosen->ifa_addr));
        snprintf(name, name_bytes, "%s", chosen->ifa_name);
    }
    freeifaddrs(list);
    return chosen;
}
