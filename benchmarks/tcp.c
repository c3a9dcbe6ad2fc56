/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What TCP alone has between two hosts, by the method of osu.c: the floor under benchmarks/hosts.
 *
 *   tcp serve PORT
 *   tcp latency|bw ADDRESS PORT [MIN:MAX]      a line for each size: bytes, and us one way or MB/s
 *
 * One connection with TCP_NODELAY, and both sides poll it; a window of `bw` is 64 messages and an
 * answer of 4 bytes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 64, LARGE_BYTES = 8192, MOST = 4 << 20, ANSWER = 4 };

/* What the other side is asked for: so many times `each` messages of `bytes`, and an answer of
 * `back`. */
typedef struct {
    uint32_t bytes, each, back, times;
} plan_t;

static char data[MOST];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void all_out(int fd, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes;) {
        ssize_t n = send(fd, data + at, bytes - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            die("send");
        at += n > 0 ? (uint32_t) n : 0;
    }
}

/* @return 0: the other side has ended */
static int all_in(int fd, void *to, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes;) {
        ssize_t n = recv(fd, (char *) to + at, bytes - at, MSG_DONTWAIT);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EAGAIN)
            die("recv");
        at += n > 0 ? (uint32_t) n : 0;
    }
    return 1;
}

static void answer(int fd)
{
    plan_t p;
    while (all_in(fd, &p, sizeof p))
        for (uint32_t t = 0; t < p.times; t++) {
            for (uint32_t i = 0; i < p.each; i++)
                if (!all_in(fd, data, p.bytes))
                    return;
            all_out(fd, p.back);
        }
}

static double run_s(int fd, plan_t p)
{
    struct timespec from, to;
    memcpy(data, &p, sizeof p);
    clock_gettime(CLOCK_MONOTONIC, &from);
    all_out(fd, sizeof p);
    for (uint32_t t = 0; t < p.times; t++) {
        for (uint32_t i = 0; i < p.each; i++)
            all_out(fd, p.bytes);
        if (!all_in(fd, data, p.back))
            die("the other side");
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double) (to.tv_sec - from.tv_sec) + (double) (to.tv_nsec - from.tv_nsec) / 1e9;
}

static void measure(int fd, int is_bw, uint32_t bytes)
{
    uint32_t times =
        is_bw ? (bytes > LARGE_BYTES ? 20 : 100) : (bytes > LARGE_BYTES ? 1000 : 10000);
    plan_t p = {bytes, is_bw ? WINDOW : 1, is_bw ? ANSWER : bytes, times / 10};
    double s;
    run_s(fd, p);
    p.times = times;
    s = run_s(fd, p);
    if (is_bw)
        printf("%u %.2f\n", bytes, (double) bytes * WINDOW * times / s / 1e6);
    else
        printf("%u %.2f\n", bytes, s * 1e6 / (2.0 * times));
}

int main(int argc, char **argv)
{
    const int one = 1, serves = argc == 3 && strcmp(argv[1], "serve") == 0;
    unsigned least = 1, most = MOST;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET};
    if (!serves && argc < 4) {
        fprintf(stderr, "usage: tcp serve PORT | tcp latency|bw ADDRESS PORT [MIN:MAX]\n");
        return 2;
    }
    at.sin_port = htons((uint16_t) atoi(argv[serves ? 2 : 3]));
    if (serves) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, (struct sockaddr *) &at, sizeof at) != 0 || listen(fd, 4) != 0)
            die("port");
        for (;;) {
            int c = accept(fd, NULL, NULL);
            setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            answer(c);
            close(c);
        }
    }
    if (argc > 4)
        sscanf(argv[4], "%u:%u", &least, &most);
    if (inet_pton(AF_INET, argv[2], &at.sin_addr) != 1 ||
        connect(fd, (struct sockaddr *) &at, sizeof at) != 0)
        die(argv[2]);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (unsigned bytes = least; bytes <= most && bytes <= MOST; bytes *= 2)
        measure(fd, strcmp(argv[1], "bw") == 0, bytes);
    return 0;
}
