#include "CCoding.h"
#include "Library.h"

#include <CZlib.h>
#include <pthread.h>
#include <stdlib.h>

struct zstd_input {
    const void *octets;
    size_t size;
    size_t position;
};
struct zstd_output {
    void *octets;
    size_t size;
    size_t position;
};

/// The functions of brotli and zstd. Each table is complete, or its first function is NULL.
static struct {
    void *(*make)(
        void *(*allocate)(void *opaque, size_t size), void (*release)(void *opaque, void *address), void *opaque
    );
    void (*free)(void *state);
    int (*decode)(
        void *state, size_t *available_in, const uint8_t **next_in, size_t *available_out, uint8_t **next_out,
        size_t *total_out
    );
} brotli;
static struct {
    void *(*make)(void);
    size_t (*free)(void *stream);
    size_t (*decode)(void *stream, struct zstd_output *output, struct zstd_input *input);
    unsigned int (*is_error)(size_t code);
    /// NULL before zstd 1.4.
    size_t (*set_parameter)(void *stream, int parameter, int value);
} zstd;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *function, const char *name) {
    return (*(const void **)function = ccurl_decoder_function(name)) != NULL;
}

static void find_decoders(void) {
    bool has_brotli = find(&brotli.free, "BrotliDecoderDestroyInstance")
        && find(&brotli.decode, "BrotliDecoderDecompressStream");
    if (has_brotli) find(&brotli.make, "BrotliDecoderCreateInstance");
    bool has_zstd = find(&zstd.free, "ZSTD_freeDStream") && find(&zstd.decode, "ZSTD_decompressStream")
        && find(&zstd.is_error, "ZSTD_isError");
    if (has_zstd) find(&zstd.make, "ZSTD_createDStream");
    find(&zstd.set_parameter, "ZSTD_DCtx_setParameter");
}

enum {
    ZLIB_METHOD_DEFLATE = 8,
    GZIP_FIRST_OCTET = 0x1F,
    BROTLI_SUCCESS = 1,
    BROTLI_NEEDS_INPUT = 2,
    BROTLI_NEEDS_OUTPUT = 3,
    ZSTD_WINDOW_LOG_MAX = 100,
    /// The base-2 logarithm of the largest window an HTTP body may use: 8 MiB (RFC 9659 §3).
    ZSTD_HTTP_WINDOW_LOG = 23,
    /// The largest part of its memory that brotli may allocate, in bytes: a window of 4 MiB and what
    /// belongs to it. A few bytes of input can make brotli fill a window at once, for which the
    /// 16 MiB of RFC 7932 §9.1 take 50 ms.
    BROTLI_LARGEST_ALLOCATION = (4 << 20) + (64 << 10),
};

struct ccoding_decoder {
    ccoding_kind kind;
    bool has_ended;
    /// Whether brotli wanted a larger window.
    bool is_too_large;
    /// The state for gzip and deflate, made with the first byte.
    czlib_decompressor *zlib;
    void *other;
};

bool ccoding_is_available(ccoding_kind kind) {
    switch (kind) {
    case CCODING_GZIP:
    case CCODING_DEFLATE: return czlib_is_available();
    case CCODING_BROTLI: return pthread_once(&once, find_decoders) == 0 && brotli.make;
    case CCODING_ZSTD: return pthread_once(&once, find_decoders) == 0 && zstd.make;
    }
    return false;
}

static void *allocate(void *decoder, size_t size) {
    if (size <= BROTLI_LARGEST_ALLOCATION) return malloc(size);
    ((ccoding_decoder *)decoder)->is_too_large = true;
    return NULL;
}

static void release(void *decoder, void *address) {
    (void)decoder;
    free(address);
}

ccoding_decoder *ccoding_make(ccoding_kind kind) {
    if (!ccoding_is_available(kind)) return NULL;
    ccoding_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->kind = kind;
    if (kind == CCODING_BROTLI) decoder->other = brotli.make(allocate, release, decoder);
    if (kind == CCODING_ZSTD) {
        decoder->other = zstd.make();
        if (decoder->other && zstd.set_parameter) {
            zstd.set_parameter(decoder->other, ZSTD_WINDOW_LOG_MAX, ZSTD_HTTP_WINDOW_LOG);
        }
    }
    bool is_zlib = kind == CCODING_GZIP || kind == CCODING_DEFLATE;
    if (!is_zlib && !decoder->other) {
        free(decoder);
        return NULL;
    }
    return decoder;
}

void ccoding_free(ccoding_decoder *decoder) {
    if (!decoder) return;
    if (decoder->kind == CCODING_BROTLI) brotli.free(decoder->other);
    if (decoder->kind == CCODING_ZSTD) zstd.free(decoder->other);
    czlib_decompressor_free(decoder->zlib);
    free(decoder);
}

// zlib's format starts with a byte whose low bits are 8; a raw deflate stream never does.
static czlib_format format(ccoding_kind kind, uint8_t first) {
    if (kind == CCODING_GZIP) return CZLIB_GZIP;
    return (first & 0x0F) == ZLIB_METHOD_DEFLATE ? CZLIB_ZLIB : CZLIB_RAW;
}

static int decode_zlib(
    ccoding_decoder *decoder, const uint8_t *input, size_t input_count, size_t *taken, uint8_t *output,
    size_t output_count, size_t *given
) {
    if (!decoder->zlib) {
        if (input_count == 0) return CCODING_MORE;
        decoder->zlib = czlib_decompressor_make(format(decoder->kind, input[0]));
        if (!decoder->zlib) return CCODING_MALFORMED;
    }
    if (decoder->has_ended) {
        if (input_count == 0) return CCODING_END;
        // A gzip file may have several members (RFC 1952 §2.2); nothing else may follow.
        if (decoder->kind != CCODING_GZIP || input[0] != GZIP_FIRST_OCTET) return CCODING_MALFORMED;
        if (!czlib_decompressor_reset(decoder->zlib)) return CCODING_MALFORMED;
        decoder->has_ended = false;
    }
    int result = czlib_decompress(decoder->zlib, input, input_count, taken, output, output_count, given);
    decoder->has_ended = result == CZLIB_END;
    if (decoder->has_ended) return CCODING_END;
    return result == CZLIB_MORE ? CCODING_MORE : CCODING_MALFORMED;
}

static int decode_brotli(
    ccoding_decoder *decoder, const uint8_t *input, size_t input_count, size_t *taken, uint8_t *output,
    size_t output_count, size_t *given
) {
    // No data may follow the end of the stream.
    if (decoder->has_ended) return input_count == 0 ? CCODING_END : CCODING_MALFORMED;
    size_t in = input_count;
    size_t out = output_count;
    int result = brotli.decode(decoder->other, &in, &input, &out, &output, NULL);
    *taken = input_count - in;
    *given = output_count - out;
    decoder->has_ended = result == BROTLI_SUCCESS;
    if (decoder->has_ended) return CCODING_END;
    if (decoder->is_too_large) return CCODING_TOO_LARGE;
    return result == BROTLI_NEEDS_INPUT || result == BROTLI_NEEDS_OUTPUT ? CCODING_MORE : CCODING_MALFORMED;
}

static int decode_zstd(
    ccoding_decoder *decoder, const uint8_t *input, size_t input_count, size_t *taken, uint8_t *output,
    size_t output_count, size_t *given
) {
    // At the end of a frame, calling zstd without input would start the next frame.
    if (decoder->has_ended && input_count == 0) return CCODING_END;
    struct zstd_input in = {input, input_count, 0};
    struct zstd_output out = {output, output_count, 0};
    size_t code = zstd.decode(decoder->other, &out, &in);
    *taken = in.position;
    *given = out.position;
    if (zstd.is_error(code)) return CCODING_MALFORMED;
    decoder->has_ended = code == 0;
    return decoder->has_ended ? CCODING_END : CCODING_MORE;
}

int ccoding_decode(
    ccoding_decoder *decoder, const uint8_t *input, size_t input_count, size_t *taken, uint8_t *output,
    size_t output_count, size_t *given
) {
    *taken = 0;
    *given = 0;
    switch (decoder->kind) {
    case CCODING_GZIP:
    case CCODING_DEFLATE:
        return decode_zlib(decoder, input, input_count, taken, output, output_count, given);
    case CCODING_BROTLI:
        return decode_brotli(decoder, input, input_count, taken, output, output_count, given);
    case CCODING_ZSTD: return decode_zstd(decoder, input, input_count, taken, output, output_count, given);
    }
    return CCODING_MALFORMED;
}

size_t ccoding_gzip(const uint8_t *input, size_t input_count, uint8_t *output, size_t output_count) {
    return czlib_compress(CZLIB_GZIP, CZLIB_DEFAULT_LEVEL, input, input_count, output, output_count);
}
