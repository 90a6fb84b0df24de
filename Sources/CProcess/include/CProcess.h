#ifndef CPROCESS_H
#define CPROCESS_H

// Parts of the C library's process interface that Swift can't use.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Returns the number of the program's arguments, including its name.
///
/// Swift's `CommandLine` reads /proc/self/cmdline, and is empty without /proc.
int cprocess_argument_count(void);

/// Returns an argument of the program, or a null pointer if there are fewer arguments. The first
/// argument, at index 0, is the program's name.
const char *_Nullable cprocess_argument(int index);

/// Returns whether Dispatch can read the states of its threads in /proc. Otherwise, it ends the
/// process with SIGILL some time after the first task runs.
bool cprocess_can_run_tasks(void);

/// Prevents core dumps and access by other processes of the same user.
///
/// - Returns: `true` if the kernel did so. prctl is variadic, which Swift can't call.
bool cprocess_forbid_dumps(void);

/// Copies the next bytes of a pipe, a socket or a regular file, without reading them.
///
/// - Parameter milliseconds: The maximum time to wait for bytes or the end.
/// - Returns: The number of bytes; 0 at the end, or if the file is of another kind; or -1 if neither
///   bytes nor the end came in that time.
ssize_t cprocess_peek(int descriptor, int milliseconds, uint8_t *_Nonnull bytes, size_t count);

#endif
