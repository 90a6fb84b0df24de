// The entry point of libFuzzer in the toolchain's clang_rt.fuzzer, which lacks a header.
#ifndef CLIBFUZZER_LIBFUZZER_H
#define CLIBFUZZER_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));

#endif
