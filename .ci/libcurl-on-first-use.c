// The functions of libcurl that Foundation's static library wants. A program that is linked with them
// instead of libcurl loads libcurl and its dependencies with the first call, and not at its start.
// CCurl opens libcurl itself, and needs none of them.
//
// If Foundation wants another function, the linker reports an undefined symbol: add it to the list.
//
// All arguments and results are integers or pointers, at most six arguments. On x86-64 and arm64, Linux
// passes those in the same registers to all functions, with or without variable arguments.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// curl_ws_*: libcurl 7.86 or later, which Debian's Foundation is built with.
#define FUNCTIONS(EACH) \
    EACH(curl_easy_cleanup) EACH(curl_easy_getinfo) EACH(curl_easy_init) EACH(curl_easy_pause) \
    EACH(curl_easy_setopt) EACH(curl_easy_strerror) EACH(curl_free) EACH(curl_global_init) \
    EACH(curl_multi_add_handle) EACH(curl_multi_assign) EACH(curl_multi_cleanup) EACH(curl_multi_info_read) \
    EACH(curl_multi_init) EACH(curl_multi_remove_handle) EACH(curl_multi_setopt) EACH(curl_multi_socket_action) \
    EACH(curl_slist_append) EACH(curl_slist_free_all) EACH(curl_url) EACH(curl_url_get) EACH(curl_url_set) \
    EACH(curl_version) EACH(curl_version_info) EACH(curl_ws_meta) EACH(curl_ws_recv) EACH(curl_ws_send)

typedef uintptr_t function(uintptr_t first, ...);

#define INDEX(name) INDEX_##name,
enum { FUNCTIONS(INDEX) COUNT };

#define NAME(name) #name,
static const char *const names[COUNT] = {FUNCTIONS(NAME)};

static function *functions[COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_libcurl(void) {
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    for (int index = 0; library && index < COUNT; index++) *(void **)&functions[index] = dlsym(library, names[index]);
}

static function *find(int index) {
    if (pthread_once(&once, open_libcurl) == 0 && functions[index]) return functions[index];
    // Foundation expects no failure. `CurlTransport` reports it without these functions.
    fprintf(stderr, "error: libcurl is missing, or has no %s; install libcurl 7.81.0 or later\n", names[index]);
    abort();
}

#define PARAMETERS \
    uintptr_t first, uintptr_t second, uintptr_t third, uintptr_t fourth, uintptr_t fifth, uintptr_t sixth

// Hidden, so that libcurl calls its own functions.
#define DEFINITION(name) \
    __attribute__((visibility("hidden"))) uintptr_t name(PARAMETERS); \
    uintptr_t name(PARAMETERS) { return find(INDEX_##name)(first, second, third, fourth, fifth, sixth); }
FUNCTIONS(DEFINITION)
