#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int argument_count;
static char **arguments;

// The C library of GNU passes the arguments of main to constructors, too.
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
    argument_count = count;
    arguments = values;
}

int cprocess_argument_count(void) { return argument_count; }

const char *cprocess_argument(int index) {
    return index >= 0 && index < argument_count ? arguments[index] : NULL;
}

bool cprocess_can_run_tasks(void) { return access("/proc/self/stat", R_OK) == 0; }

// prctl reads its arguments as unsigned long.
bool cprocess_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) == 0; }

// tee copies from one pipe to another, and leaves the bytes where they are.
static ssize_t peek_pipe(int descriptor, uint8_t *bytes, size_t count) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return 0;
    ssize_t copied = tee(descriptor, ends[1], count, SPLICE_F_NONBLOCK);
    if (copied > 0) copied = read(ends[0], bytes, (size_t)copied);
    close(ends[0]);
    close(ends[1]);
    return copied;
}

ssize_t cprocess_peek(int descriptor, int milliseconds, uint8_t *bytes, size_t count) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return 0;
    ssize_t found = 0;
    if (S_ISREG(status.st_mode)) {
        found = pread(descriptor, bytes, count, lseek(descriptor, 0, SEEK_CUR));
    } else if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
        struct pollfd entry = {.fd = descriptor, .events = POLLIN};
        int ready;
        do ready = poll(&entry, 1, milliseconds);
        while (ready < 0 && errno == EINTR);
        if (ready == 0) return -1;
        found = S_ISFIFO(status.st_mode) ? peek_pipe(descriptor, bytes, count)
                                         : recv(descriptor, bytes, count, MSG_PEEK | MSG_DONTWAIT);
    }
    return found > 0 ? found : 0;
}
