// Parts of the C library's process interface that Swift's Glibc module omits.
#ifndef CPROCESS_SHIM_H
#define CPROCESS_SHIM_H

#include <sys/prctl.h>

// prctl is variadic, which Swift can't call. It reads its arguments as unsigned long.
static inline int CProcess_forbid_dumps(void) {
    return prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
}

#endif
