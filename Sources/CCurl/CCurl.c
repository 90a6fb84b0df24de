#include "CCurl.h"
#include <stddef.h>

extern char *curl_version(void) __attribute__((weak));

const char *ccurl_version(void) { return curl_version ? curl_version() : NULL; }
