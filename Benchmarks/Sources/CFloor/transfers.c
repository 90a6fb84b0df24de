#include "CFloor.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

// libcurl's ABI, from its documentation: its headers aren't required, as for the product.
enum {
    OPTION_URL = 10002,
    OPTION_HTTPHEADER = 10023,
    OPTION_WRITEFUNCTION = 20011,
    OPTION_WRITEDATA = 10001,
    OPTION_PRIVATE = 10103,
    OPTION_NOSIGNAL = 99,
    OPTION_HTTP_VERSION = 84,
    OPTION_CAINFO = 10065,
    OPTION_NOPROXY = 10177,
    OPTION_TIMEOUT_MS = 155,
    HTTP_VERSION_1_1 = 2,
    INFO_PRIVATE = 0x100000 + 21,
    INFO_RESPONSE_CODE = 0x200000 + 2,
    MULTI_SOCKETFUNCTION = 20001,
    MULTI_SOCKETDATA = 10002,
    MULTI_TIMERFUNCTION = 20004,
    MULTI_TIMERDATA = 10005,
    MULTI_MAXCONNECTS = 6,
    POLL_IN = 1,
    POLL_OUT = 2,
    POLL_REMOVE = 4,
    SELECT_IN = 1,
    SELECT_OUT = 2,
    SELECT_ERROR = 4,
    SOCKET_TIMEOUT = -1,
    MESSAGE_DONE = 1,
    GLOBAL_DEFAULT = 3,
};

typedef struct {
    int message;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
} curl_message;

static int (*easy_setopt)(void *, int, ...);
static int (*easy_getinfo)(void *, int, ...);
static void *(*easy_init)(void);
static void (*easy_cleanup)(void *);
static void *(*multi_init)(void);
static int (*multi_cleanup)(void *);
static int (*multi_setopt)(void *, int, ...);
static int (*multi_add)(void *, void *);
static int (*multi_remove)(void *, void *);
static int (*multi_action)(void *, int, int, int *);
static curl_message *(*multi_read)(void *, int *);
static void *(*list_append)(void *, const char *);
static void (*list_free)(void *);

static bool load(void) {
    static bool is_loaded;
    if (is_loaded) return true;
    void *library = dlopen("libcurl.so.4", RTLD_NOW);
    if (!library) return false;
    int (*global_init)(long) = NULL;
    const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"curl_global_init", &global_init},          {"curl_easy_setopt", &easy_setopt},
        {"curl_easy_getinfo", &easy_getinfo},        {"curl_easy_init", &easy_init},
        {"curl_easy_cleanup", &easy_cleanup},        {"curl_multi_init", &multi_init},
        {"curl_multi_cleanup", &multi_cleanup},      {"curl_multi_setopt", &multi_setopt},
        {"curl_multi_add_handle", &multi_add},       {"curl_multi_remove_handle", &multi_remove},
        {"curl_multi_socket_action", &multi_action}, {"curl_multi_info_read", &multi_read},
        {"curl_slist_append", &list_append},         {"curl_slist_free_all", &list_free},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol) return false;
        *(void **)symbols[i].function = symbol;
    }
    return is_loaded = global_init(GLOBAL_DEFAULT) == 0;
}

typedef struct {
    void *easy;
    size_t received;
} transfer;

struct floor_client {
    void *multi;
    void *fields;
    transfer *transfers;
    int count;
    int epoll;
    uint64_t due; // when libcurl's timer fires, or UINT64_MAX
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static size_t receive(char *bytes, size_t size, size_t count, transfer *transfer) {
    (void)bytes;
    transfer->received += size * count;
    return size * count;
}

static int watch(void *easy, int socket, int what, floor_client *client, void *known) {
    (void)easy;
    (void)known;
    if (what == POLL_REMOVE) {
        epoll_ctl(client->epoll, EPOLL_CTL_DEL, socket, NULL);
        return 0;
    }
    struct epoll_event event = {
        .events = (what & POLL_IN ? EPOLLIN : 0u) | (what & POLL_OUT ? EPOLLOUT : 0u),
        .data.fd = socket,
    };
    if (epoll_ctl(client->epoll, EPOLL_CTL_MOD, socket, &event) && errno == ENOENT)
        epoll_ctl(client->epoll, EPOLL_CTL_ADD, socket, &event);
    return 0;
}

static int set_timer(void *multi, long milliseconds, floor_client *client) {
    (void)multi;
    client->due = milliseconds < 0 ? UINT64_MAX : now() + (uint64_t)milliseconds * 1000000;
    return 0;
}

floor_client *floor_client_create(
    const char *url, const char *const *fields, int field_count, int count, const char *bundle) {
    floor_client *client = calloc(1, sizeof *client);
    if (!client) return NULL;
    client->due = UINT64_MAX;
    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    client->transfers = calloc((size_t)count, sizeof(transfer));
    if (client->epoll < 0 || !client->transfers || !load() || !(client->multi = multi_init())) {
        floor_client_free(client);
        return NULL;
    }
    multi_setopt(client->multi, MULTI_SOCKETFUNCTION, watch);
    multi_setopt(client->multi, MULTI_SOCKETDATA, client);
    multi_setopt(client->multi, MULTI_TIMERFUNCTION, set_timer);
    multi_setopt(client->multi, MULTI_TIMERDATA, client);
    multi_setopt(client->multi, MULTI_MAXCONNECTS, (long)count);
    for (int i = 0; i < field_count; i++) client->fields = list_append(client->fields, fields[i]);
    for (; client->count < count; client->count++) {
        transfer *transfer = &client->transfers[client->count];
        if (!(transfer->easy = easy_init())) {
            floor_client_free(client);
            return NULL;
        }
        easy_setopt(transfer->easy, OPTION_URL, url);
        easy_setopt(transfer->easy, OPTION_HTTPHEADER, client->fields);
        easy_setopt(transfer->easy, OPTION_WRITEFUNCTION, receive);
        easy_setopt(transfer->easy, OPTION_WRITEDATA, transfer);
        easy_setopt(transfer->easy, OPTION_PRIVATE, transfer);
        easy_setopt(transfer->easy, OPTION_NOSIGNAL, 1L);
        easy_setopt(transfer->easy, OPTION_HTTP_VERSION, (long)HTTP_VERSION_1_1);
        easy_setopt(transfer->easy, OPTION_NOPROXY, "*");
        easy_setopt(transfer->easy, OPTION_TIMEOUT_MS, 60000L);
        if (bundle) easy_setopt(transfer->easy, OPTION_CAINFO, bundle);
    }
    return client;
}

/// Takes the finished transfers and starts each again until `end`. Returns false after an
/// unexpected response.
static bool take(floor_client *client, uint64_t end, size_t body_size, int *running, long *responses) {
    int left;
    for (curl_message *message; (message = multi_read(client->multi, &left));) {
        if (message->message != MESSAGE_DONE) continue;
        void *easy = message->easy;
        int result = message->data.result;
        transfer *transfer = NULL;
        long status = 0;
        easy_getinfo(easy, INFO_PRIVATE, &transfer);
        easy_getinfo(easy, INFO_RESPONSE_CODE, &status);
        multi_remove(client->multi, easy);
        --*running;
        if (result || status != 200 || transfer->received != body_size) return false;
        ++*responses;
        if (now() >= end) continue;
        transfer->received = 0;
        multi_add(client->multi, easy);
        ++*running;
    }
    return true;
}

long floor_client_run(floor_client *client, uint64_t nanoseconds, size_t body_size) {
    uint64_t end = now() + nanoseconds;
    long responses = 0;
    int running = 0, active;
    bool is_valid = true;
    for (; running < client->count; running++) {
        client->transfers[running].received = 0;
        multi_add(client->multi, client->transfers[running].easy);
    }
    while (is_valid && running > 0) {
        uint64_t time = now();
        int pause = client->due == UINT64_MAX ? 1000
            : client->due <= time             ? 0
                                              : (int)((client->due - time) / 1000000) + 1;
        struct epoll_event events[64];
        int count = epoll_wait(client->epoll, events, 64, pause);
        for (int i = 0; i < count; i++) {
            int mask = (events[i].events & EPOLLIN ? SELECT_IN : 0) | (events[i].events & EPOLLOUT ? SELECT_OUT : 0) |
                (events[i].events & (EPOLLERR | EPOLLHUP) ? SELECT_ERROR : 0);
            multi_action(client->multi, events[i].data.fd, mask, &active);
        }
        if (client->due <= now()) {
            client->due = UINT64_MAX;
            multi_action(client->multi, SOCKET_TIMEOUT, 0, &active);
        }
        is_valid = take(client, end, body_size, &running, &responses);
    }
    if (!is_valid)
        for (int i = 0; i < client->count; i++) multi_remove(client->multi, client->transfers[i].easy);
    return is_valid ? responses : -1;
}

void floor_client_free(floor_client *client) {
    for (int i = 0; i < client->count; i++) easy_cleanup(client->transfers[i].easy);
    if (client->multi) multi_cleanup(client->multi);
    if (client->fields) list_free(client->fields);
    if (client->epoll >= 0) close(client->epoll);
    free(client->transfers);
    free(client);
}
