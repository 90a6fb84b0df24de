// The entry point of libFuzzer, which the toolchain's clang_rt.fuzzer has and no header declares.
#ifndef CLIBFUZZER_LIBFUZZER_H
#define CLIBFUZZER_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));

#endif
