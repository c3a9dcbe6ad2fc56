/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that come while the job runs: spawned, and connected by a port.  Messages of all ways
 * (entry, ring, pieces, rendezvous) go in both directions; groups are merged, parted and met again.
 * "refused": a job that can have none says so, and goes on.
 * "accept FILE", "connect FILE": two jobs of two process managers, which meet by the port in a file
 * (connect.sh); with "die" the last rank that connects ends by SIGKILL, and the others wait for it;
 * with "often" they part and meet many times; with "join" their first ranks meet by a socket.
 * with "late" it is accepted when FILE.go is there. "give-up FILE": connects, does not wait long,
 * and ends by SIGKILL.
 * "leave FILE": opens a port and ends without accepting, while somebody may be connecting; with
 * "die" by SIGKILL. "missed FILE": the job of that port is there no more, ends, or cannot be
 * reached. "spawn HOST": children on that host.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

enum { CHILDREN = 3, FLOOD = 3000, TIMES = 3, OFTEN = 100 };
static const size_t lengths[] = {0, 8, 48, 400, 4000, 20000, 65536, 100000, 4194304};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]), LONGEST = 4194304 };

static char *program;

/* Each process of one group sends to each of the other, and receives from it. */
static void talk(MPI_Comm inter)
{
    int remote, me;
    static char out[LONGEST], in[LONGEST];
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_rank(inter, &me);
    for (unsigned i = 0; i < LENGTHS; i++) {
        for (int other = 0; other < remote; other++) {
            MPI_Request request;
            MPI_Status status;
            int bytes, from = -1;
            memset(out, me * 16 + (int) i, lengths[i]);
            if (i % 2)
                MPI_Issend(out, (int) lengths[i], MPI_BYTE, other, me, inter, &request);
            else
                MPI_Isend(out, (int) lengths[i], MPI_BYTE, other, me, inter, &request);
            MPI_Recv(in, LONGEST, MPI_BYTE, other % 2 ? other : MPI_ANY_SOURCE, other, inter,
                     &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            from = status.MPI_SOURCE;
            CHECK(bytes == (int) lengths[i] && from == other, "%d bytes of %d came, not %zu of %d",
                  bytes, from, lengths[i], other);
            for (size_t b = 0; b < lengths[i]; b++)
                if (in[b] != (char) (other * 16 + (int) i)) {
                    CHECK(0, "byte %zu of %zu of process %d is %d", b, lengths[i], other, in[b]);
                    break;
                }
        }
    }
}

/* More than rings and the store for unexpected messages take: senders are stopped, and held. */
static void flood(MPI_Comm inter, int send)
{
    static int numbers[FLOOD][16];
    int others, me;
    MPI_Comm_remote_size(inter, &others);
    MPI_Comm_rank(inter, &me);
    if (send) {
        static MPI_Request requests[FLOOD];
        for (int i = 0; i < FLOOD; i++) {
            numbers[i][0] = i;
            MPI_Isend(numbers[i], 16, MPI_INT, 0, 1, inter, &requests[i]);
        }
        MPI_Send(&me, 1, MPI_INT, 0, 2, inter);
        MPI_Waitall(FLOOD, requests, MPI_STATUSES_IGNORE);
        return;
    }
    if (me != 0)
        return;
    for (int other = 0; other < others; other++) {
        int number, from = others - 1 - other;
        MPI_Recv(&number, 1, MPI_INT, from, 2, inter, MPI_STATUS_IGNORE);
        for (int i = 0; i < FLOOD; i++) {
            MPI_Recv(numbers[0], 16, MPI_INT, from, 1, inter, MPI_STATUS_IGNORE);
            CHECK(numbers[0][0] == i, "message %d of %d came as number %d", i, from, numbers[0][0]);
        }
    }
}

/* To the right neighbour, and by all to process 0. */
static void use_window(MPI_Win win, int *memory, int me, int n)
{
    int mine = me, one = 1;
    memory[0] = -1;
    memory[1] = 0;
    MPI_Win_fence(0, win);
    MPI_Put(&mine, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(memory[0] == (me + n - 1) % n, "%d was put into the window", memory[0]);
    CHECK(me || memory[1] == n, "%d of %d have added to the window", memory[1], n);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Fetch_and_op(&one, &mine, MPI_INT, 0, 1, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
}

/* One group of both: collectives, more of them than make a board, and windows. */
static void together(MPI_Comm inter, int high)
{
    MPI_Comm all;
    MPI_Win win;
    int me, n, sum, *memory;
    MPI_Intercomm_merge(inter, high, &all);
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &n);
    for (int i = 0; i < 8; i++) {
        int number = me + i;
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, all);
        CHECK(sum == n * (n - 1) / 2 + n * i, "the sum over both groups is %d", sum);
        MPI_Bcast(&number, 1, MPI_INT, i % n, all);
        CHECK(number == i % n + i, "process %d of both groups has told %d", i % n, number);
        MPI_Barrier(all);
    }
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, all, &memory, &win);
    use_window(win, memory, me, n);
    MPI_Alloc_mem(2 * sizeof(int), MPI_INFO_NULL, &memory);
    MPI_Win_create(memory, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, all, &win);
    use_window(win, memory, me, n);
    MPI_Free_mem(memory);
    MPI_Comm_free(&all);
}

/* Collectives of the two groups. */
static void across(MPI_Comm inter)
{
    int others, me, sum = 0, one = 1;
    MPI_Comm_remote_size(inter, &others);
    MPI_Comm_rank(inter, &me);
    MPI_Barrier(inter);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == others, "of %d others %d have added", others, sum);
    int *all = calloc((size_t) others, sizeof(*all));
    MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < others; i++)
        CHECK(all[i] == i, "process %d of the others says that it is %d", i, all[i]);
    free(all);
}

static void be_friends(MPI_Comm inter, int child)
{
    talk(inter);
    across(inter);
    flood(inter, child);
    together(inter, child);
}

static int child(MPI_Comm parent)
{
    CHECK(getchar() == EOF, "the stdin of a child that was spawned is not at its end");
    be_friends(parent, 1);
    MPI_Comm_disconnect(&parent);
    int failures = check_failures;
    MPI_Finalize();
    return failures != 0;
}

/* Descriptors that are open. */
static int descriptors(void)
{
    int n = 0;
    DIR *all = opendir("/proc/self/fd");
    while (all && readdir(all))
        n++;
    if (all)
        closedir(all);
    return n;
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Children of a spawn by all, spawned TIMES times, then of each rank by itself at once.  @param
 * host NULL: any */
static void spawn(char *host)
{
    char *arguments[] = {"child", NULL};
    MPI_Comm inter;
    MPI_Info info = MPI_INFO_NULL;
    int codes[CHILDREN], n;
    if (host) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "host", host);
    }
    for (int i = 0; i < TIMES; i++) {
        int error = MPI_Comm_spawn(program, arguments, CHILDREN, info, size - 1, MPI_COMM_WORLD,
                                   &inter, codes);
        CHECK(error == MPI_SUCCESS, "MPI_Comm_spawn returns %d", error);
        MPI_Comm_remote_size(inter, &n);
        CHECK(n == CHILDREN, "there are %d children", n);
        be_friends(inter, 0);
        MPI_Comm_disconnect(&inter);
    }
    MPI_Comm_spawn(program, arguments, 1, info, 0, MPI_COMM_SELF, &inter, codes);
    be_friends(inter, 0);
    MPI_Comm_disconnect(&inter);
    if (host)
        MPI_Info_free(&info);
}

/* The world's halves meet by a port, several times. */
static void connect_halves(void)
{
    MPI_Comm half, inter;
    char port[MPI_MAX_PORT_NAME] = "";
    int upper = rank >= size / 2, n;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        if (upper)
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
        else
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
        MPI_Comm_remote_size(inter, &n);
        CHECK(n == (upper ? size / 2 : size - size / 2), "there are %d on the other side", n);
        talk(inter);
        MPI_Comm_disconnect(&inter);
    }
    if (rank == 0)
        MPI_Close_port(port);
    MPI_Comm_free(&half);
}

/* What can go wrong comes back as an error, and the job goes on. */
static void mistakes(void)
{
    MPI_Comm inter;
    MPI_Info soon;
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_connect("nonsense", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) != MPI_SUCCESS,
          "connected to nonsense");
    MPI_Info_create(&soon);
    MPI_Info_set(soon, "timeout", "1");
    MPI_Open_port(MPI_INFO_NULL, port);
    int error = MPI_Comm_connect(port, soon, 0, MPI_COMM_SELF, &inter), class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_PORT, "a connection that nobody accepts ends with class %d", class);
    MPI_Close_port(port);
    MPI_Info_free(&soon);
}

/* Who has given up waiting is not accepted later, but who asks after it is; nor does a late answer
 * reach somebody's next request. */
static void given_up(void)
{
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Info soon;
    char port[MPI_MAX_PORT_NAME] = "";
    int class = MPI_SUCCESS, one = 1, sum = 0;
    MPI_Info_create(&soon);
    MPI_Info_set(soon, "timeout", "1");
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2 && rank == 1; i++) {
        MPI_Error_class(MPI_Comm_connect(port, soon, 0, MPI_COMM_SELF, &inter), &class);
        CHECK(class == MPI_ERR_PORT, "connected, or class %d", class);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    else if (rank == size - 1)
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    if (rank == 0 || rank == size - 1) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
        CHECK(sum == 1, "the sum of one process is %d", sum);
        MPI_Comm_disconnect(&inter);
    }
    if (rank == 0)
        MPI_Close_port(port);
    MPI_Info_free(&soon);
}

static void refused(void)
{
    MPI_Comm inter;
    char port[MPI_MAX_PORT_NAME] = "", text[MPI_MAX_ERROR_STRING] = "";
    int length, codes[1], sum = 0, one = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int error = MPI_Open_port(MPI_INFO_NULL, port);
    CHECK(error != MPI_SUCCESS, "MPI_Open_port succeeded");
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, "Processes cannot be added to this job"), "MPI_Open_port says: %s", text);
    error =
        MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    CHECK(error != MPI_SUCCESS, "MPI_Comm_spawn succeeded");
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size, "after the errors the sum is %d", sum);
}

static void write_port(const char *path, const char *port)
{
    char before[4096];
    snprintf(before, sizeof(before), "%s.new", path);
    FILE *file = fopen(before, "w");
    if (!file || fputs(port, file) < 0 || fclose(file) != 0 || rename(before, path) != 0)
        CHECK(0, "cannot write %s", path);
}

static void read_port(const char *path, char *port)
{
    FILE *file;
    while (!(file = fopen(path, "r")))
        usleep(1000);
    if (!fgets(port, MPI_MAX_PORT_NAME, file))
        CHECK(0, "no port in %s", path);
    fclose(file);
}

/* Parted and met again, with nothing left behind. */
static void meet_often(int accept, char *port)
{
    MPI_Comm inter;
    int before = 0;
    long before_kb = 0;
    for (int i = 0; i < OFTEN; i++) {
        (accept ? MPI_Comm_accept : MPI_Comm_connect)(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                                      &inter);
        across(inter);
        MPI_Comm_disconnect(&inter);
        if (i == OFTEN / 10) {
            before = descriptors();
            before_kb = resident_kb();
        }
    }
    long more_kb = resident_kb() - before_kb;
    CHECK(descriptors() <= before, "%d descriptors are open, and were %d", descriptors(), before);
    CHECK(more_kb < 256, "%ld KB more after %d meetings", more_kb, OFTEN);
    if (rank == 0)
        printf("met %d times: %ld KB more, %d descriptors more\n", OFTEN, more_kb,
               descriptors() - before);
}

/* Whoever connects has asked by the time this ends. */
static void leave(const char *path, int die)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Open_port(MPI_INFO_NULL, port);
    write_port(path, port);
    sleep(2);
    if (die)
        raise(SIGKILL);
    MPI_Close_port(port);
}

/* An error comes back, and the job goes on. */
static const char *go_path(const char *path)
{
    static char go[4096];
    snprintf(go, sizeof(go), "%s.go", path);
    return go;
}

/* Who accepts later is not to answer this process, nor to end with it. */
static void give_up(const char *path)
{
    MPI_Comm inter;
    MPI_Info soon;
    char port[MPI_MAX_PORT_NAME] = "";
    int class = MPI_SUCCESS;
    read_port(path, port);
    MPI_Info_create(&soon);
    MPI_Info_set(soon, "timeout", "1");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Comm_connect(port, soon, 0, MPI_COMM_SELF, &inter), &class);
    fprintf(stderr, class == MPI_ERR_PORT ? "given up\n" : "class %d\n", class);
    raise(SIGKILL);
}

static void missed(const char *path)
{
    MPI_Comm inter;
    char port[MPI_MAX_PORT_NAME] = "";
    int class = MPI_SUCCESS, sum = 0, one = 1;
    if (rank == 0)
        read_port(path, port);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Error_class(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), &class);
        CHECK(class == MPI_ERR_PORT || class == MPI_ERR_SPAWN,
              "a connection to nobody ends with class %d", class);
    }
    for (int i = 0; i < 1000; i++) /* the lost one is not missed */
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    usleep(rank == 0 ? 500000 : 0);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size, "after the error the sum is %d", sum);
}

/* An address by which other hosts reach this one; that of the loopback, where there is no other. */
static struct sockaddr_in own_address(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0)
        all = NULL;
    for (struct ifaddrs *i = all; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && !(i->ifa_flags & IFF_LOOPBACK))
            own.sin_addr = ((struct sockaddr_in *) (void *) i->ifa_addr)->sin_addr;
    freeifaddrs(all);
    return own;
}

/* A socket to the other job's first rank; -1: there is none. */
static int meet_by_socket(int accepts, const char *path)
{
    char text[MPI_MAX_PORT_NAME] = "", ip[INET_ADDRSTRLEN];
    struct sockaddr_in at = own_address();
    socklen_t bytes = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0), number;
    if (!accepts) {
        read_port(path, text);
        int parts = sscanf(text, "%15s %d", ip, &number);
        if (parts != 2 || inet_pton(AF_INET, ip, &at.sin_addr) != 1)
            return -1;
        at.sin_port = htons((uint16_t) number);
        return connect(fd, (struct sockaddr *) &at, sizeof(at)) == 0 ? fd : -1;
    }
    if (bind(fd, (struct sockaddr *) &at, sizeof(at)) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *) &at, &bytes) != 0)
        return -1;
    inet_ntop(AF_INET, &at.sin_addr, ip, sizeof(ip));
    snprintf(text, sizeof(text), "%s %d", ip, ntohs(at.sin_port));
    write_port(path, text);
    number = accept(fd, NULL, NULL);
    close(fd);
    return number;
}

static void join(int accepts, const char *path)
{
    MPI_Comm inter = MPI_COMM_NULL;
    int n = 0;
    if (rank == 0) {
        int fd = meet_by_socket(accepts, path);
        CHECK(fd >= 0, "no socket to the other job: %s", strerror(errno));
        int error = fd < 0 ? MPI_ERR_OTHER : MPI_Comm_join(fd, &inter);
        CHECK(error == MPI_SUCCESS && inter != MPI_COMM_NULL, "MPI_Comm_join returns %d", error);
        if (inter != MPI_COMM_NULL) {
            MPI_Comm_remote_size(inter, &n);
            CHECK(n == 1, "%d processes have joined", n);
            be_friends(inter, !accepts);
            MPI_Comm_disconnect(&inter);
            printf("joined\n");
        }
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void meet_other_job(int accept, const char *path, const char *how)
{
    MPI_Comm inter;
    char port[MPI_MAX_PORT_NAME] = "";
    int others, die = strcmp(how, "die") == 0;
    if (strcmp(how, "join") == 0) {
        join(accept, path);
        return;
    }
    if (rank == 0 && accept) {
        MPI_Open_port(MPI_INFO_NULL, port);
        write_port(path, port);
    } else if (rank == 0) {
        read_port(path, port);
    }
    while (rank == 0 && strcmp(how, "late") == 0 && access(go_path(path), F_OK) != 0)
        usleep(10000);
    if (strcmp(how, "often") == 0)
        meet_often(accept, port);
    (accept ? MPI_Comm_accept : MPI_Comm_connect)(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    be_friends(inter, !accept);
    MPI_Comm_remote_size(inter, &others);
    if (die && accept)
        MPI_Recv(&others, 1, MPI_INT, others - 1, 9, inter, MPI_STATUS_IGNORE);
    if (die && !accept && rank == size - 1)
        kill(getpid(), SIGKILL);
    MPI_Comm_disconnect(&inter);
    if (rank == 0 && accept)
        MPI_Close_port(port);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    check_begin(&argc, &argv);
    program = argv[0];
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return child(parent);
    if (argc > 1 && strcmp(argv[1], "refused") == 0) {
        refused();
        return check_end();
    }
    if (argc > 2 && strcmp(argv[1], "leave") == 0) {
        leave(argv[2], argc > 3);
        return check_end();
    }
    if (argc > 2 && strcmp(argv[1], "give-up") == 0)
        give_up(argv[2]);
    if (argc > 2 && strcmp(argv[1], "missed") == 0) {
        missed(argv[2]);
        return check_end();
    }
    if (argc > 2 && strcmp(argv[1], "spawn") == 0) {
        spawn(argv[2]);
        return check_end();
    }
    if (argc > 2) {
        meet_other_job(strcmp(argv[1], "accept") == 0, argv[2], argc > 3 ? argv[3] : "");
        return check_end();
    }
    spawn(NULL);
    if (size > 1)
        connect_halves();
    mistakes();
    if (size > 1)
        given_up();
    return check_end();
}
