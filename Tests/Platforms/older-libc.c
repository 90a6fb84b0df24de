// Functions of glibc 2.38 that the Swift libraries of Debian sid call. A program that contains these
// runs with glibc 2.35, so on Debian 12 and Ubuntu 22.04. `arm64 product` links them.
//
// The functions of C23 also read "0b" as the prefix of a binary number. Those of C99 don't, and the
// Swift libraries don't need it.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }

long long __isoc23_strtoll(const char *text, char **end, int base) { return strtoll(text, end, base); }

unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return strtoul(text, end, base); }

int __isoc23_sscanf(const char *text, const char *format, ...) {
    va_list values;
    va_start(values, format);
    const int count = vsscanf(text, format, values);
    va_end(values);
    return count;
}

size_t strlcpy(char *to, const char *from, size_t size) {
    const size_t length = strlen(from);
    if (size > 0) {
        const size_t kept = length < size ? length : size - 1;
        memcpy(to, from, kept);
        to[kept] = 0;
    }
    return length;
}

size_t strlcat(char *to, const char *from, size_t size) {
    const size_t length = strnlen(to, size);
    return length + strlcpy(to + length, from, size - length);
}
