#include "CProcess.h"

#include <sys/prctl.h>
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
