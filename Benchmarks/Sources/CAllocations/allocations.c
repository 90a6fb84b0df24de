// The functions of an LD_PRELOAD shim. They are linked into the program instead: the dynamic linker looks there first, so
// the calls of every library come here all the same, and nobody has to remember to preload anything.
#include "CAllocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

// glibc's own, under the names it keeps for those who replace the others.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_bool is_counting;
static atomic_ulong count;

void allocations_count(bool on) {
    if (on) atomic_store(&count, 0);
    atomic_store(&is_counting, on);
}

unsigned long allocations_counted(void) {
    return atomic_load(&count);
}

static inline void note(void) {
    // While time is measured this is one load and a branch.
    if (atomic_load_explicit(&is_counting, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note();
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    note();
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *memory = memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}
