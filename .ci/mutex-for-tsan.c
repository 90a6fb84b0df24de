// Makes the standard library's Mutex visible to ThreadSanitizer on Linux.
//
// libswiftSynchronization isn't instrumented. When two threads contend for a Mutex, it and the
// kernel (FUTEX_LOCK_PI) transfer the lock, and ThreadSanitizer reports a false race. This
// preloaded library reports each transfer to ThreadSanitizer, which still detects races without a
// lock:
//
//   clang -shared -fPIC -O1 -o mutex-for-tsan.so .ci/mutex-for-tsan.c
//   swift build --build-tests --sanitize=thread --scratch-path .build-tsan
//   LD_PRELOAD=$PWD/mutex-for-tsan.so swift test --skip-build --sanitize=thread --scratch-path .build-tsan
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// NULL in processes without ThreadSanitizer, such as `swift test` itself.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *handle

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT bool tryLock(SELF) __asm__(TRY_LOCK);
SWIFT void unlock(SELF) __asm__(UNLOCK);

SWIFT void lock(uint32_t thread, SELF) {
    SWIFT void (*next)(uint32_t, SELF) = (SWIFT void (*)(uint32_t, SELF))dlsym(RTLD_NEXT, LOCK);
    next(thread, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT bool tryLock(SELF) {
    SWIFT bool (*next)(SELF) = (SWIFT bool (*)(SELF))dlsym(RTLD_NEXT, TRY_LOCK);
    bool isLocked = next(handle);
    if (isLocked && __tsan_acquire) __tsan_acquire(handle);
    return isLocked;
}

SWIFT void unlock(SELF) {
    SWIFT void (*next)(SELF) = (SWIFT void (*)(SELF))dlsym(RTLD_NEXT, UNLOCK);
    if (__tsan_release) __tsan_release(handle);
    next(handle);
}
