// For preadv2 and RTLD_DEFAULT.
#define _GNU_SOURCE

#include "CCurl.h"
#include "Library.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

// The leading members of libcurl's structure. Later versions only append members.
struct curl_version_info_prefix {
    int age;
    const char *version;
    unsigned int version_num;
    const char *host;
    int features;
    const char *ssl_version;
};

struct curl_message {
    int kind;
    ccurl_easy *easy;
    union {
        void *whatever;
        int result;
    } data;
};

/// libcurl's functions. The table is complete, or `is_complete` is false.
static struct {
    void *library;
    bool is_complete;
    struct curl_version_info_prefix *(*version_info)(int age);
    int (*global_init)(long flags);
    ccurl_easy *(*easy_init)(void);
    void (*easy_cleanup)(ccurl_easy *easy);
    void (*easy_reset)(ccurl_easy *easy);
    int (*easy_setopt)(ccurl_easy *easy, int option, ...);
    int (*easy_getinfo)(ccurl_easy *easy, int info, ...);
    int (*easy_pause)(ccurl_easy *easy, int directions);
    const char *(*easy_strerror)(int code);
    ccurl_multi *(*multi_init)(void);
    int (*multi_cleanup)(ccurl_multi *multi);
    int (*multi_setopt)(ccurl_multi *multi, int option, ...);
    int (*multi_add_handle)(ccurl_multi *multi, ccurl_easy *easy);
    int (*multi_remove_handle)(ccurl_multi *multi, ccurl_easy *easy);
    int (*multi_socket_action)(ccurl_multi *multi, int socket, int events, int *running);
    struct curl_message *(*multi_info_read)(ccurl_multi *multi, int *left);
} curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *function, const char *name) {
    return (*(void **)function = dlsym(curl.library, name)) != NULL;
}

static void open_libcurl(void) {
    // The major version of the ABI. The library stays open for the life of the process.
    curl.library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    // A program may contain libcurl instead, and export its functions.
    if (!curl.library) curl.library = dlopen(NULL, RTLD_LAZY);
    curl.is_complete = curl.library && find(&curl.version_info, "curl_version_info")
        && find(&curl.global_init, "curl_global_init") && find(&curl.easy_init, "curl_easy_init")
        && find(&curl.easy_cleanup, "curl_easy_cleanup") && find(&curl.easy_reset, "curl_easy_reset")
        && find(&curl.easy_setopt, "curl_easy_setopt") && find(&curl.easy_getinfo, "curl_easy_getinfo")
        && find(&curl.easy_pause, "curl_easy_pause") && find(&curl.easy_strerror, "curl_easy_strerror")
        && find(&curl.multi_init, "curl_multi_init") && find(&curl.multi_cleanup, "curl_multi_cleanup")
        && find(&curl.multi_setopt, "curl_multi_setopt")
        && find(&curl.multi_add_handle, "curl_multi_add_handle")
        && find(&curl.multi_remove_handle, "curl_multi_remove_handle")
        && find(&curl.multi_socket_action, "curl_multi_socket_action")
        && find(&curl.multi_info_read, "curl_multi_info_read");
}

enum {
    VERSION_INFO_FOURTH = 3,
    GLOBAL_DEFAULT = 3,
    OPTION_VERBOSE = 41,
    OPTION_WRITEDATA = 10001,
    OPTION_READDATA = 10009,
    OPTION_ERRORBUFFER = 10010,
    OPTION_HEADERDATA = 10029,
    OPTION_DEBUGDATA = 10095,
    OPTION_PRIVATE = 10103,
    OPTION_SSL_CTX_DATA = 10109,
    OPTION_COPYPOSTFIELDS = 10165,
    OPTION_SEEKDATA = 10168,
    OPTION_OPENSOCKETDATA = 10164,
    OPTION_CLOSESOCKETDATA = 10209,
    OPTION_RESOLVER_START_DATA = 10273,
    OPTION_PREREQDATA = 10313,
    OPTION_WRITEFUNCTION = 20011,
    OPTION_READFUNCTION = 20012,
    OPTION_HEADERFUNCTION = 20079,
    OPTION_DEBUGFUNCTION = 20094,
    OPTION_SSL_CTX_FUNCTION = 20108,
    OPTION_OPENSOCKETFUNCTION = 20163,
    OPTION_SEEKFUNCTION = 20167,
    OPTION_CLOSESOCKETFUNCTION = 20208,
    OPTION_RESOLVER_START_FUNCTION = 20272,
    OPTION_PREREQFUNCTION = 20312,
    OPTION_POSTFIELDSIZE_LARGE = 30120,
    INFO_PRIVATE = 0x100000 + 21,
    INFO_PRIMARY_IP = 0x100000 + 32,
    INFO_ACTIVESOCKET = 0x500000 + 44,
    INFO_TYPE_MASK = 0xf00000,
    INFO_TYPE_LONG = 0x200000,
    MULTI_OPTION_SOCKETFUNCTION = 20001,
    MULTI_OPTION_SOCKETDATA = 10002,
    MULTI_OPTION_TIMERFUNCTION = 20004,
    MULTI_OPTION_TIMERDATA = 10005,
    MESSAGE_DONE = 1,
};

bool ccurl_is_available(void) { return pthread_once(&once, open_libcurl) == 0 && curl.is_complete; }

static const struct curl_version_info_prefix *version_info(void) {
    return ccurl_is_available() ? curl.version_info(VERSION_INFO_FOURTH) : NULL;
}

uint32_t ccurl_version_number(void) { return version_info() ? version_info()->version_num : 0; }

const char *ccurl_version(void) { return version_info() ? version_info()->version : NULL; }

const char *ccurl_tls_backend(void) { return version_info() ? version_info()->ssl_version : NULL; }

int ccurl_features(void) { return version_info() ? version_info()->features : 0; }

const void *ccurl_tls_function(const char *name) {
    // dlsym searches libcurl and then its dependencies.
    return ccurl_is_available() ? dlsym(curl.library, name) : NULL;
}

const void *ccurl_decoder_function(const char *name) {
    const void *address = ccurl_is_available() ? dlsym(curl.library, name) : NULL;
    return address ? address : dlsym(RTLD_DEFAULT, name);
}

int ccurl_global_init(void) {
    return ccurl_is_available() ? curl.global_init(GLOBAL_DEFAULT) : CCURL_UNAVAILABLE;
}

const char *ccurl_easy_strerror(int code) {
    const char *words = ccurl_is_available() ? curl.easy_strerror(code) : NULL;
    return words ? words : "unknown error";
}

ccurl_easy *ccurl_easy_init(void) { return ccurl_is_available() ? curl.easy_init() : NULL; }

void ccurl_easy_cleanup(ccurl_easy *easy) {
    if (ccurl_is_available()) curl.easy_cleanup(easy);
}

void ccurl_easy_reset(ccurl_easy *easy) {
    if (ccurl_is_available()) curl.easy_reset(easy);
}

#define SET(easy, option, value) \
    (ccurl_is_available() ? curl.easy_setopt((easy), (option), (value)) : CCURL_UNAVAILABLE)

int ccurl_easy_set_long(ccurl_easy *easy, ccurl_long_option option, long value) {
    return SET(easy, (int)option, value);
}

int ccurl_easy_set_string(ccurl_easy *easy, ccurl_string_option option, const char *value) {
    return SET(easy, (int)option, value);
}

int ccurl_easy_set_list(ccurl_easy *easy, ccurl_list_option option, const ccurl_list *lines) {
    return SET(easy, (int)option, lines);
}

int ccurl_easy_set_copied_body(ccurl_easy *easy, const void *octets, int64_t count) {
    // libcurl copies the number of bytes set by the size option, so set the size first.
    int code = SET(easy, OPTION_POSTFIELDSIZE_LARGE, count);
    return code != CCURL_OK ? code : SET(easy, OPTION_COPYPOSTFIELDS, octets);
}

int ccurl_easy_set_body_size(ccurl_easy *easy, int64_t count) { return SET(easy, OPTION_POSTFIELDSIZE_LARGE, count); }

#define SET_FUNCTION(function, function_option, context_option) \
    if (code == CCURL_OK && (function)) code = SET(easy, function_option, function); \
    if (code == CCURL_OK && (function)) code = SET(easy, context_option, context);

int ccurl_easy_set_functions(ccurl_easy *easy, const ccurl_functions *functions, void *context) {
    int code = CCURL_OK;
    SET_FUNCTION(functions->header, OPTION_HEADERFUNCTION, OPTION_HEADERDATA)
    SET_FUNCTION(functions->write, OPTION_WRITEFUNCTION, OPTION_WRITEDATA)
    SET_FUNCTION(functions->read, OPTION_READFUNCTION, OPTION_READDATA)
    SET_FUNCTION(functions->seek, OPTION_SEEKFUNCTION, OPTION_SEEKDATA)
    SET_FUNCTION(functions->request, OPTION_PREREQFUNCTION, OPTION_PREREQDATA)
    SET_FUNCTION(functions->words, OPTION_DEBUGFUNCTION, OPTION_DEBUGDATA)
    SET_FUNCTION(functions->tls, OPTION_SSL_CTX_FUNCTION, OPTION_SSL_CTX_DATA)
    SET_FUNCTION(functions->make_socket, OPTION_OPENSOCKETFUNCTION, OPTION_OPENSOCKETDATA)
    SET_FUNCTION(functions->resolver, OPTION_RESOLVER_START_FUNCTION, OPTION_RESOLVER_START_DATA)
    return code == CCURL_OK && functions->words ? SET(easy, OPTION_VERBOSE, 1L) : code;
}

int ccurl_make_socket(const struct ccurl_socket_kind *kind) {
    return socket(kind->family, kind->type | SOCK_CLOEXEC, kind->protocol);
}

ssize_t ccurl_read_held(int file, void *octets, size_t count, int64_t offset) {
    struct iovec room = {octets, count};
    return preadv2(file, &room, 1, offset, RWF_NOWAIT);
}

int ccurl_easy_set_socket_closed_function(
    ccurl_easy *easy, ccurl_socket_closed_function function, void *context
) {
    int code = SET(easy, OPTION_CLOSESOCKETFUNCTION, function);
    return code != CCURL_OK ? code : SET(easy, OPTION_CLOSESOCKETDATA, context);
}

int ccurl_easy_pause(ccurl_easy *easy, int directions) {
    return ccurl_is_available() ? curl.easy_pause(easy, directions) : CCURL_UNAVAILABLE;
}

int64_t ccurl_easy_info(ccurl_easy *easy, ccurl_info info) {
    if (!ccurl_is_available()) return 0;
    if (((int)info & INFO_TYPE_MASK) == INFO_TYPE_LONG) {
        long number = 0;
        return curl.easy_getinfo(easy, (int)info, &number) == CCURL_OK ? number : 0;
    }
    int64_t number = 0;
    return curl.easy_getinfo(easy, (int)info, &number) == CCURL_OK ? number : 0;
}

const char *ccurl_easy_peer_address(ccurl_easy *easy) {
    const char *address = NULL;
    if (ccurl_is_available()) curl.easy_getinfo(easy, INFO_PRIMARY_IP, &address);
    return address;
}

int ccurl_easy_socket(ccurl_easy *easy) {
    int socket = -1;
    if (ccurl_is_available()) curl.easy_getinfo(easy, INFO_ACTIVESOCKET, &socket);
    return socket;
}

int ccurl_easy_set_error_buffer(ccurl_easy *easy, char *buffer) { return SET(easy, OPTION_ERRORBUFFER, buffer); }

int ccurl_easy_set_context(ccurl_easy *easy, void *context) { return SET(easy, OPTION_PRIVATE, context); }

void *ccurl_easy_context(ccurl_easy *easy) {
    void *context = NULL;
    if (ccurl_is_available()) curl.easy_getinfo(easy, INFO_PRIVATE, &context);
    return context;
}

// libcurl wakes a multi handle through a socket pair or, in 8.5, a nonblocking pipe that child
// processes would inherit, and has no option to prevent that. The system assigns the lowest free
// descriptors, so the pair is among those that were free before.
enum { CANDIDATES = 16 };

static int find_free_descriptors(int *candidates) {
    int count = 0;
    for (int number = 0; count < CANDIDATES; number++) {
        if (fcntl(number, F_GETFD) >= 0) continue;
        if (errno != EBADF) break;
        candidates[count++] = number;
    }
    return count;
}

static int is_socket_of_pair(int number) {
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(number, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX) return 0;
    struct sockaddr_un name;
    size = sizeof name;
    // The sockets of a pair have no name.
    return getsockname(number, (struct sockaddr *)&name, &size) == 0 && size <= sizeof(sa_family_t);
}

static int is_nonblocking_pipe(int number) {
    struct stat status;
    return fstat(number, &status) == 0 && S_ISFIFO(status.st_mode) && (fcntl(number, F_GETFL) & O_NONBLOCK);
}

static void close_on_exec(int number) {
    int flags = fcntl(number, F_GETFD);
    if (flags < 0 || flags & FD_CLOEXEC) return;
    if (is_socket_of_pair(number) || is_nonblocking_pipe(number)) fcntl(number, F_SETFD, flags | FD_CLOEXEC);
}

ccurl_multi *ccurl_multi_init(void) {
    if (!ccurl_is_available()) return NULL;
    int candidates[CANDIDATES];
    int count = find_free_descriptors(candidates);
    ccurl_multi *multi = curl.multi_init();
    for (int index = 0; index < count; index++) close_on_exec(candidates[index]);
    return multi;
}

int ccurl_multi_cleanup(ccurl_multi *multi) {
    return ccurl_is_available() ? curl.multi_cleanup(multi) : CCURL_UNAVAILABLE;
}

#define SET_MULTI(multi, option, value) \
    (ccurl_is_available() ? curl.multi_setopt((multi), (option), (value)) : CCURL_UNAVAILABLE)

int ccurl_multi_set_long(ccurl_multi *multi, ccurl_multi_option option, long value) {
    return SET_MULTI(multi, (int)option, value);
}

int ccurl_multi_set_socket_function(ccurl_multi *multi, ccurl_socket_function function, void *context) {
    int code = SET_MULTI(multi, MULTI_OPTION_SOCKETFUNCTION, function);
    return code != CCURL_OK ? code : SET_MULTI(multi, MULTI_OPTION_SOCKETDATA, context);
}

int ccurl_multi_set_timer_function(ccurl_multi *multi, ccurl_timer_function function, void *context) {
    int code = SET_MULTI(multi, MULTI_OPTION_TIMERFUNCTION, function);
    return code != CCURL_OK ? code : SET_MULTI(multi, MULTI_OPTION_TIMERDATA, context);
}

int ccurl_multi_add(ccurl_multi *multi, ccurl_easy *easy) {
    return ccurl_is_available() ? curl.multi_add_handle(multi, easy) : CCURL_UNAVAILABLE;
}

int ccurl_multi_remove(ccurl_multi *multi, ccurl_easy *easy) {
    return ccurl_is_available() ? curl.multi_remove_handle(multi, easy) : CCURL_UNAVAILABLE;
}

int ccurl_multi_act(ccurl_multi *multi, int socket, int events) {
    int running = 0;
    return ccurl_is_available() ? curl.multi_socket_action(multi, socket, events, &running) : CCURL_UNAVAILABLE;
}

ccurl_easy *ccurl_multi_next_finished(ccurl_multi *multi, int *code) {
    if (!ccurl_is_available()) return NULL;
    int left = 0;
    struct curl_message *message;
    while ((message = curl.multi_info_read(multi, &left))) {
        if (message->kind != MESSAGE_DONE) continue;
        *code = message->data.result;
        return message->easy;
    }
    return NULL;
}
