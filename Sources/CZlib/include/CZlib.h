#ifndef CZLIB_H
#define CZLIB_H

// The system's zlib, opened at run time. Building this doesn't require zlib's headers. A program
// with an HTTP client has zlib loaded, because libcurl needs it; other programs don't.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The formats of compressed data, with zlib's numbers for them.
typedef enum {
    /// RFC 1950.
    CZLIB_ZLIB = 15,
    /// RFC 1951.
    CZLIB_RAW = -15,
    /// RFC 1952.
    CZLIB_GZIP = 15 + 16,
} czlib_format;

/// The levels of compression.
typedef enum {
    CZLIB_DEFAULT_LEVEL = -1,
    CZLIB_BEST_LEVEL = 9,
} czlib_level;

/// The results of czlib_decompress.
enum {
    /// The data continues: pass more input or more room for output.
    CZLIB_MORE = 0,
    /// The data is complete. Nothing after its end was consumed.
    CZLIB_END = 1,
    /// The input can't be decompressed.
    CZLIB_MALFORMED = 2,
};

/// The state of one decompression.
typedef struct czlib_decompressor czlib_decompressor;

/// Returns whether the system has zlib.
bool czlib_is_available(void);
/// Starts a decompression. Returns NULL if the system has no zlib or memory runs out.
czlib_decompressor *czlib_decompressor_make(czlib_format format);
void czlib_decompressor_free(czlib_decompressor *decompressor);
/// Starts again, for data that follows. Returns whether that succeeded.
bool czlib_decompressor_reset(czlib_decompressor *decompressor);
/// Decompresses as much as the input and the output buffer allow. Sets the numbers of bytes
/// consumed and written.
int czlib_decompress(
    czlib_decompressor *decompressor, const uint8_t *input, size_t input_count, size_t *taken, uint8_t *output,
    size_t output_count, size_t *given
);

/// Returns a size that suffices for the zlib format of a number of bytes.
size_t czlib_compressed_bound(size_t count);
/// Compresses bytes, to the same result for the same bytes. Returns its size, or 0 if it doesn't fit
/// into the output or the system has no zlib.
size_t czlib_compress(
    czlib_format format, czlib_level level, const uint8_t *input, size_t input_count, uint8_t *output,
    size_t output_count
);

#endif
