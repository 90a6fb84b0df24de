#ifndef COPENSSLCALLS_H
#define COPENSSLCALLS_H

#include <stddef.h>

/// Starts to record this thread's calls of OpenSSL's cryptographic functions.
void openssl_calls_start(void);

/// Stops recording and returns the number of calls since the start. At most 64 are recorded, but
/// all are counted.
size_t openssl_calls_stop(void);

/// Returns the name of a recorded function.
const char *openssl_calls_name(size_t index);

/// Returns the number of bytes that a recorded call had to process.
size_t openssl_calls_size(size_t index);

#endif
