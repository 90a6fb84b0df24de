#ifndef CCURL_H
#define CCURL_H

/// The libcurl version string, or NULL when no libcurl is in the process.
const char *ccurl_version(void);

#endif
