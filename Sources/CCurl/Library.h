#ifndef LIBRARY_H
#define LIBRARY_H

/// Returns a function of a library that libcurl or the program brings into the process, or NULL.
const void *ccurl_decoder_function(const char *name);

#endif
