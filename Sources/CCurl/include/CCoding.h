#ifndef CCODING_H
#define CCODING_H

// Decoders for content codings and an encoder for gzip, which call zlib (CZlib) and the other
// libraries that libcurl brings into the process. Building them doesn't require those libraries'
// headers. libcurl can decode too, but it doesn't report whether an encoded body is complete.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A content coding (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
typedef enum {
    CCODING_GZIP = 0,
    /// Deflate in zlib's format, or raw deflate, which some servers send.
    CCODING_DEFLATE = 1,
    CCODING_BROTLI = 2,
    CCODING_ZSTD = 3,
} ccoding_kind;

/// The results of ccoding_decode.
enum {
    /// The body continues: pass more input or more room for output.
    CCODING_MORE = 0,
    /// The input so far is a complete body.
    CCODING_END = 1,
    /// The input can't be decoded.
    CCODING_MALFORMED = 2,
    /// The input needs a window of more than 4 MiB (brotli).
    CCODING_TOO_LARGE = 3,
};

/// The decoder of one body.
typedef struct ccoding_decoder ccoding_decoder;

/// Returns whether the library for a coding is loaded.
bool ccoding_is_available(ccoding_kind kind);
/// Creates a decoder. Returns NULL if the library isn't loaded or memory runs out.
ccoding_decoder *ccoding_make(ccoding_kind kind);
void ccoding_free(ccoding_decoder *decoder);
/// Decodes as much as the input and the output buffer allow. Sets the numbers of bytes consumed and
/// written.
int ccoding_decode(
    ccoding_decoder *decoder, const uint8_t *input, size_t input_count, size_t *taken, uint8_t *output,
    size_t output_count, size_t *given
);

/// Compresses bytes to one gzip member, the same for the same bytes. Returns its size, or 0 if it
/// doesn't fit into the output or zlib isn't loaded.
size_t ccoding_gzip(const uint8_t *input, size_t input_count, uint8_t *output, size_t output_count);

#endif
