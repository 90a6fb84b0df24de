#ifndef CCODING_H
#define CCODING_H

// Decoders of content codings, from the libraries that libcurl brings into the process; their headers are not needed to build.
// libcurl decodes, too, but does not say whether a coded body came to its end.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A content coding (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
typedef enum {
    CCODING_GZIP = 0,
    /// In zlib's format, or without it, as some servers send it.
    CCODING_DEFLATE = 1,
    CCODING_BROTLI = 2,
    CCODING_ZSTD = 3,
} ccoding_kind;

/// What a call of ccoding_decode led to.
enum {
    /// There is more to come: either octets to decode, or room is needed for those that are decoded.
    CCODING_MORE = 0,
    /// What came so far is whole.
    CCODING_END = 1,
    /// What came can't be decoded.
    CCODING_MALFORMED = 2,
};

/// One body that is being decoded.
typedef struct ccoding_decoder ccoding_decoder;

/// Whether the library for a coding is in the process.
bool ccoding_is_available(ccoding_kind kind);
/// Makes a decoder; NULL if the library is not there or there is no memory.
ccoding_decoder *ccoding_make(ccoding_kind kind);
void ccoding_free(ccoding_decoder *decoder);
/// Decodes as much as there is input and room for; says how much was taken and given.
int ccoding_decode(
    ccoding_decoder *decoder, const uint8_t *input, size_t input_count, size_t *taken, uint8_t *output,
    size_t output_count, size_t *given
);

#endif
