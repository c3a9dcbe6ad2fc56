/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plug to any network that libfabric knows, by messages of reliable datagram endpoints
 * (FI_EP_RDM).  The library is loaded when a job spans hosts, so that others do not pay for it.
 */
#include "config.h"

#include "emulator/swif/hosts/plug.h"

#include <stdio.h>

#ifdef HAVE_RDMA_FABRIC_H

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/log.h"

#define LIBRARY "libfabric.so.1"
#define API FI_VERSION(1, 11)
#define EVENTS 16u /* read from the completion queue at once */
/*
 * Receive buffers of a process, whatever the number of its peers (flow control specification,
 * equation 2): 10 Gbit/s bring 2 of them in the 50 us that may pass between two polls; the others
 * take a burst, and what they cannot take waits in sockets.  They are filled in turn, so that more
 * of them would only leave the cache.  In one go the packets of the longest message that is sent at
 * once: up to there three copies take less time than what is said before a read.
 */
#define BUFFERS 16u
#define BUFFER_BYTES 69632u
#define EAGER_BYTES 65536u

/*
 * Providers for plain Ethernet, the preferred first.  libfabric 1.16 and 1.17 have two over TCP:
 * net, which keeps connections itself, and tcp, which needs ofi_rxm for that, with a copy and 2 us
 * more for each message.  From 1.18 on net is tcp.
 */
static const char *const providers[] = {"net", "tcp"};
#define PROVIDERS (sizeof providers / sizeof *providers)

/* The functions of the library that are called by name. */
typedef struct {
    void *library;
    __typeof__(fi_getinfo) *getinfo;
    __typeof__(fi_dupinfo) *dupinfo;
    __typeof__(fi_freeinfo) *freeinfo;
    __typeof__(fi_fabric) *fabric;
    __typeof__(fi_strerror) *strerror;
    __typeof__(fi_version) *version;
} library_t;

typedef struct {
    struct fi_context context; /* first: the completion's op_context */
    uint8_t *data;
} buffer_t;

struct dnet_emu_plug_end {
    library_t lib;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_cq *wait_cq; /* nothing completes here; NULL: cq can be waited for */
    struct fid_ep *ep;
    int wait_fd;
    char network[64];
    uint64_t mr_key; /* the last one, where the provider makes none */
    uint8_t *data;
    buffer_t buffer[BUFFERS];
    struct fi_cq_msg_entry event[EVENTS]; /* read from the queue, */
    unsigned events, taken;               /* so many, of which so many are done with */
};
_Static_assert(sizeof(dnet_emu_plug_op_t) >= sizeof(struct fi_context), "room for the provider");

/* The library keeps registrations of memory and listens for what is unmapped.  Of memory that is
 * emptied where it lies, as MPI_Free_mem() does with shared pages, it hears nothing, and would send
 * what lay there before: it shall register anew each time. */
static void keep_no_registrations(void)
{
    (void) setenv("FI_MR_CACHE_MONITOR", "disabled", 0);
}

static bool load(library_t *lib)
{
    keep_no_registrations();
    lib->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!lib->library)
        return false;
    lib->getinfo = (__typeof__(fi_getinfo) *) dlsym(lib->library, "fi_getinfo");
    lib->dupinfo = (__typeof__(fi_dupinfo) *) dlsym(lib->library, "fi_dupinfo");
    lib->freeinfo = (__typeof__(fi_freeinfo) *) dlsym(lib->library, "fi_freeinfo");
    lib->fabric = (__typeof__(fi_fabric) *) dlsym(lib->library, "fi_fabric");
    lib->strerror = (__typeof__(fi_strerror) *) dlsym(lib->library, "fi_strerror");
    lib->version = (__typeof__(fi_version) *) dlsym(lib->library, "fi_version");
    return lib->getinfo && lib->dupinfo && lib->freeinfo && lib->fabric && lib->strerror &&
           lib->version;
}

/* ---- which network ---- */

static struct fi_info *networks_for(const library_t *lib, const char *provider, bool reads,
                                    int *error_p)
{
    struct fi_info *hints = lib->dupinfo(NULL), *found = NULL;

    *error_p = -FI_ENOMEM;
    if (!hints)
        return NULL;
    hints->caps = FI_MSG | (reads ? FI_RMA : 0);
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->mode = FI_CONTEXT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup(provider);
    *error_p = lib->getinfo(API, NULL, NULL, 0, hints, &found);
    lib->freeinfo(hints);
    return *error_p == 0 ? found : NULL;
}

/* With reads, where the provider has them. */
static struct fi_info *networks_of(const library_t *lib, const char *provider, int *error_p)
{
    struct fi_info *found = networks_for(lib, provider, true, error_p);

    return found ? found : networks_for(lib, provider, false, error_p);
}

/* All networks of a provider with the endpoints wanted.  NULL: none; *error_p says why.
 *
 * @param provider_p  in: NULL for the first of `providers` that has any; out: which it is */
static struct fi_info *networks(const library_t *lib, const char **provider_p, int *error_p)
{
    struct fi_info *found = NULL;

    if (*provider_p)
        return networks_of(lib, *provider_p, error_p);
    for (unsigned i = 0; i < PROVIDERS && !found; i++) {
        *provider_p = providers[i];
        found = networks_of(lib, providers[i], error_p);
    }
    return found;
}

/*
 * Does a descriptor of any queue of the domain show what comes for all?  These two providers have
 * one epoll descriptor for all sockets of a domain, and each queue's is that one and a pipe into
 * which every completion of the queue writes.  Others keep to what the interface promises.
 */
static bool shares_descriptors(const struct fi_info *i)
{
    for (unsigned p = 0; p < PROVIDERS; p++)
        if (strcmp(i->fabric_attr->prov_name, providers[p]) == 0)
            return true;
    return false;
}

/* Own address of a network as text; "": it is no IP address. */
static void address_text(const struct fi_info *i, char *text, size_t bytes)
{
    const struct sockaddr *a = i->src_addr;

    text[0] = '\0';
    if (a && i->src_addrlen >= sizeof *a && (a->sa_family == AF_INET || a->sa_family == AF_INET6))
        (void) getnameinfo(a, (socklen_t) i->src_addrlen, text, (socklen_t) bytes, NULL, 0,
                           NI_NUMERICHOST);
}

static bool is_local_only(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
           strncmp(address, "fe80:", 5) == 0;
}

/* The network of that interface or address, or else the first that others can reach. */
static const struct fi_info *choose(const struct fi_info *list, const char *interface)
{
    char address[64];

    for (const struct fi_info *i = list; i; i = i->next) {
        address_text(i, address, sizeof address);
        if (interface ? strcmp(interface, i->domain_attr->name) == 0 ||
                            strcmp(interface, address) == 0
                      : !is_local_only(address))
            return i;
    }
    return interface ? NULL : list;
}

/* Names of all interfaces there are, once each. */
static void names(const struct fi_info *list, char *text, size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (const struct fi_info *i = list; i && used < bytes; i = i->next) {
        bool seen = false;

        for (const struct fi_info *k = list; k != i && !seen; k = k->next)
            seen = strcmp(k->domain_attr->name, i->domain_attr->name) == 0;
        if (!seen)
            used += (size_t) snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                                      i->domain_attr->name);
    }
}

static bool libfabric_found(char *text, size_t bytes)
{
    library_t lib;
    struct fi_info *list;
    const char *provider = NULL;
    char all[128];
    int error;

    if (!load(&lib)) {
        snprintf(text, bytes, "%s is not installed", LIBRARY);
        return false;
    }
    list = networks(&lib, &provider, &error);
    if (!list) {
        snprintf(text, bytes, "%s: provider %s: %s", LIBRARY, provider, lib.strerror(-error));
        return false;
    }
    names(list, all, sizeof all);
    snprintf(text, bytes, "libfabric %u.%u, provider %s on %s", FI_MAJOR(lib.version()),
             FI_MINOR(lib.version()), provider, all);
    lib.freeinfo(list);
    return true;
}

/* ---- a port ---- */

static void libfabric_close(dnet_emu_plug_end_t *e)
{
    struct fid *fids[] = {e->ep ? &e->ep->fid : NULL,           e->cq ? &e->cq->fid : NULL,
                          e->wait_cq ? &e->wait_cq->fid : NULL, e->av ? &e->av->fid : NULL,
                          e->domain ? &e->domain->fid : NULL,   e->fabric ? &e->fabric->fid : NULL};

    for (unsigned i = 0; i < sizeof fids / sizeof *fids; i++)
        if (fids[i])
            fi_close(fids[i]);
    if (e->info)
        e->lib.freeinfo(e->info);
    free(e->data);
    free(e);
}

static bool find(dnet_emu_plug_end_t *e, const dnet_emu_port_config_t *config)
{
    const char *provider = config->provider;
    struct fi_info *list;
    const struct fi_info *chosen;
    char all[128];
    int error;

    if (!load(&e->lib)) {
        dnet_error("ranks are on several hosts, and %s is not installed: %s", LIBRARY, dlerror());
        return false;
    }
    list = networks(&e->lib, &provider, &error);
    if (!list) {
        dnet_error(
            "libfabric has no network of provider %s here: %s; fi_info -l lists the providers",
            provider, e->lib.strerror(-error));
        return false;
    }
    chosen = choose(list, config->interface);
    names(list, all, sizeof all);
    if (chosen)
        e->info = e->lib.dupinfo(chosen);
    else
        dnet_error("no interface %s for libfabric's provider %s; there are %s", config->interface,
                   provider, all);
    e->lib.freeinfo(list);
    if (e->info)
        snprintf(e->network, sizeof e->network, "%s %s", provider, e->info->domain_attr->name);
    return e->info;
}

static int post(dnet_emu_plug_end_t *e, buffer_t *b)
{
    ssize_t error;

    do
        error = fi_recv(e->ep, b->data, BUFFER_BYTES, NULL, FI_ADDR_UNSPEC, b);
    while (error == -FI_EAGAIN);
    return (int) error;
}

/*
 * A queue that can be waited for costs two system calls for each message, for its completions write
 * into a pipe (strace, libfabric 1.17).  So where another queue's descriptor shows what comes, the
 * endpoint's has none.
 */
static int open_queues(dnet_emu_plug_end_t *e)
{
    struct fi_cq_attr silent = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE};
    struct fi_cq_attr waits = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    int error;

    if (!shares_descriptors(e->info)) {
        error = fi_cq_open(e->domain, &waits, &e->cq, NULL);
        return error ? error : fi_control(&e->cq->fid, FI_GETWAIT, &e->wait_fd);
    }
    error = fi_cq_open(e->domain, &silent, &e->cq, NULL);
    if (!error)
        error = fi_cq_open(e->domain, &waits, &e->wait_cq, NULL);
    return error ? error : fi_control(&e->wait_cq->fid, FI_GETWAIT, &e->wait_fd);
}

static int open_all(dnet_emu_plug_end_t *e)
{
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    int error = e->lib.fabric(e->info->fabric_attr, &e->fabric, NULL);

    if (!error)
        error = fi_domain(e->fabric, e->info, &e->domain, NULL);
    if (!error)
        error = fi_av_open(e->domain, &av, &e->av, NULL);
    if (!error)
        error = open_queues(e);
    if (!error)
        error = fi_endpoint(e->domain, e->info, &e->ep, NULL);
    if (!error)
        error = fi_ep_bind(e->ep, &e->av->fid, 0);
    if (!error)
        error = fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV);
    if (!error)
        error = fi_enable(e->ep);
    for (unsigned i = 0; i < BUFFERS && !error; i++) {
        e->buffer[i].data = e->data + (size_t) i * BUFFER_BYTES;
        error = post(e, &e->buffer[i]);
    }
    return error;
}

static dnet_status_t libfabric_open(const dnet_emu_port_config_t *config,
                                    dnet_emu_port_address_t *at, dnet_emu_plug_end_t **end_p)
{
    dnet_emu_plug_end_t *e = calloc(1, sizeof *e);
    size_t bytes = sizeof at->at;
    int error;

    if (e)
        e->data = malloc((size_t) BUFFERS * BUFFER_BYTES);
    if (!e || !e->data) {
        free(e);
        dnet_error("no memory for a port: %zu bytes needed", (size_t) BUFFERS * BUFFER_BYTES);
        return DNET_ERR_NO_MEMORY;
    }
    if (!find(e, config)) {
        libfabric_close(e);
        return DNET_NOT_FOUND;
    }
    error = open_all(e);
    if (!error)
        error = fi_getname(&e->ep->fid, at->at, &bytes);
    if (error) {
        dnet_error("libfabric: no port on %s: %s", e->network, e->lib.strerror(-error));
        libfabric_close(e);
        return DNET_ERR_SYSTEM;
    }
    at->bytes = (uint8_t) bytes;
    *end_p = e;
    return DNET_OK;
}

static bool libfabric_reach(dnet_emu_plug_end_t *e, const dnet_emu_port_address_t *at,
                            uint64_t *peer_p)
{
    fi_addr_t peer;

    if (fi_av_insert(e->av, at->at, 1, &peer, 0, NULL) != 1) {
        dnet_error("libfabric: an address that is none of %s", e->network);
        return false;
    }
    *peer_p = peer;
    return true;
}

static socklen_t libfabric_ip(const dnet_emu_port_address_t *at, struct sockaddr_storage *ip)
{
    memset(ip, 0, sizeof *ip);
    memcpy(ip, at->at, at->bytes < sizeof at->at ? at->bytes : sizeof at->at);
    switch (ip->ss_family) {
        case AF_INET:
            return sizeof(struct sockaddr_in);
        case AF_INET6:
            return sizeof(struct sockaddr_in6);
    }
    return 0;
}

static dnet_status_t libfabric_send(dnet_emu_plug_end_t *e, uint64_t peer, const void *data,
                                    uint32_t bytes, dnet_emu_plug_op_t *op)
{
    ssize_t error = fi_send(e->ep, data, bytes, NULL, peer, op);

    if (error == 0)
        return DNET_IN_PROGRESS;
    return error == -FI_EAGAIN ? DNET_STOPPED : DNET_ERR_DEVICE;
}

/* ---- reads ---- */

/* Providers over TCP only note the memory; others keep what costs time themselves.  What is read
 * into needs no preparation. */
static void *libfabric_hold(dnet_emu_plug_end_t *e, const void *at, uint64_t bytes, bool steady,
                            dnet_remote_memory_t *memory_p)
{
    bool virtual = e->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    struct fid_mr *mr;

    (void) steady;
    if (!(e->info->caps & FI_RMA))
        return NULL;
    if (!memory_p)
        return e;
    if (fi_mr_reg(e->domain, at, bytes, FI_REMOTE_READ, 0, ++e->mr_key, 0, &mr, NULL) != 0)
        return NULL;
    *memory_p =
        (dnet_remote_memory_t){.address = virtual ? (uintptr_t) at : 0, .key[0] = fi_mr_key(mr)};
    return mr;
}

static void libfabric_let_go(dnet_emu_plug_end_t *e, void *held)
{
    struct fid_mr *mr = held;

    if (held != e)
        (void) fi_close(&mr->fid);
}

static dnet_status_t libfabric_read(dnet_emu_plug_end_t *e, uint64_t peer,
                                    const dnet_remote_memory_t *from, void *to, void *held,
                                    uint64_t *bytes_p, dnet_emu_plug_op_t *op)
{
    uint64_t most = e->info->ep_attr->max_msg_size;
    ssize_t error;

    (void) held;
    if (*bytes_p > most)
        *bytes_p = most;
    error = fi_read(e->ep, to, *bytes_p, NULL, peer, from->address, from->key[0], op);
    if (error == 0)
        return DNET_IN_PROGRESS;
    return error == -FI_EAGAIN ? DNET_STOPPED : DNET_ERR_DEVICE;
}

static bool is_buffer(const dnet_emu_plug_end_t *e, const void *context)
{
    return context >= (const void *) e->buffer && context < (const void *) (e->buffer + BUFFERS);
}

/* Something has failed: a message that cannot leave.  A receive that fails is posted anew. */
static bool failed(dnet_emu_plug_end_t *e, const dnet_emu_plug_events_t *events, void *arg)
{
    struct fi_cq_err_entry error = {.err = 0};

    if (fi_cq_readerr(e->cq, &error, 0) != 1)
        return false;
    if (is_buffer(e, error.op_context))
        (void) post(e, error.op_context);
    else if (error.op_context)
        events->sent(arg, error.op_context, e->lib.strerror(error.err));
    return true;
}

/* Read what has happened since, when all before is done with.  @return whether there is anything */
static bool look(dnet_emu_plug_end_t *e, const dnet_emu_plug_events_t *events, void *arg)
{
    ssize_t n;

    if (e->taken < e->events)
        return true;
    do
        n = fi_cq_read(e->cq, e->event, EVENTS);
    while (n == -FI_EAVAIL && failed(e, events, arg));
    e->taken = 0;
    e->events = n > 0 ? (unsigned) n : 0;
    return n > 0;
}

static unsigned libfabric_poll(dnet_emu_plug_end_t *e, const dnet_emu_plug_events_t *events,
                               void *arg)
{
    unsigned arrived = 0;
    bool go_on = true, full = true;

    while (go_on && (full || e->taken < e->events) && look(e, events, arg)) {
        const struct fi_cq_msg_entry *event = &e->event[e->taken++];
        void *context = event->op_context;

        full = e->events == EVENTS;
        if (!is_buffer(e, context)) {
            events->sent(arg, context, NULL);
            continue;
        }
        go_on = events->arrived(arg, ((buffer_t *) context)->data, (uint32_t) event->len);
        (void) post(e, context);
        arrived++;
    }
    return arrived;
}

static int libfabric_wait_fd(const dnet_emu_plug_end_t *e)
{
    return e->wait_fd;
}

static bool libfabric_may_wait(dnet_emu_plug_end_t *e)
{
    struct fid *cq = e->wait_cq ? &e->wait_cq->fid : &e->cq->fid;

    return e->taken == e->events && fi_trywait(e->fabric, &cq, 1) == 0;
}

static const char *libfabric_network(const dnet_emu_plug_end_t *e)
{
    return e->network;
}

const dnet_emu_plug_ops_t dnet_emu_plug_libfabric = {
    .name = "libfabric",
    .message_bytes = BUFFER_BYTES,
    .eager_bytes = EAGER_BYTES,
    .found = libfabric_found,
    .open = libfabric_open,
    .reach = libfabric_reach,
    .ip = libfabric_ip,
    .send = libfabric_send,
    .hold = libfabric_hold,
    .let_go = libfabric_let_go,
    .read = libfabric_read,
    .poll = libfabric_poll,
    .wait_fd = libfabric_wait_fd,
    .may_wait = libfabric_may_wait,
    .network = libfabric_network,
    .close = libfabric_close,
};

#else

static bool libfabric_found(char *text, size_t bytes)
{
    snprintf(text, bytes, "not built: libfabric's headers were missing (Debian: libfabric-dev)");
    return false;
}

const dnet_emu_plug_ops_t dnet_emu_plug_libfabric = {.name = "libfabric", .found = libfabric_found};

#endif
