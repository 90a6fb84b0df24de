#include "CZlib.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

// The layout of zlib's z_stream is part of its ABI.
struct zlib_stream {
    const uint8_t *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *(*allocate)(void *, unsigned int, unsigned int);
    void (*release)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
};

enum {
    ZLIB_OK = 0,
    ZLIB_STREAM_END = 1,
    ZLIB_BUFFER_ERROR = -5,
    ZLIB_METHOD_DEFLATE = 8,
    ZLIB_DEFAULT_MEMORY_LEVEL = 8,
    ZLIB_DEFAULT_STRATEGY = 0,
    ZLIB_NO_FLUSH = 0,
    ZLIB_FINISH = 4,
};

/// zlib's functions. The table is complete, or `isComplete` is false.
static struct {
    const char *(*version)(void);
    int (*inflate_init)(struct zlib_stream *stream, int window_bits, const char *version, int size);
    int (*inflate)(struct zlib_stream *stream, int flush);
    int (*inflate_reset)(struct zlib_stream *stream);
    int (*inflate_end)(struct zlib_stream *stream);
    int (*deflate_init)(
        struct zlib_stream *stream, int level, int method, int window_bits, int memory_level, int strategy,
        const char *version, int size
    );
    int (*deflate)(struct zlib_stream *stream, int flush);
    int (*deflate_end)(struct zlib_stream *stream);
    bool isComplete;
} zlib;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_zlib(void) {
    // The major version of the ABI. The library stays open for the life of the process.
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    // A statically linked program may contain zlib instead.
    if (!library) library = dlopen(NULL, RTLD_NOW);
    if (!library) return;
    *(void **)&zlib.version = dlsym(library, "zlibVersion");
    *(void **)&zlib.inflate_init = dlsym(library, "inflateInit2_");
    *(void **)&zlib.inflate = dlsym(library, "inflate");
    *(void **)&zlib.inflate_reset = dlsym(library, "inflateReset");
    *(void **)&zlib.inflate_end = dlsym(library, "inflateEnd");
    *(void **)&zlib.deflate_init = dlsym(library, "deflateInit2_");
    *(void **)&zlib.deflate = dlsym(library, "deflate");
    *(void **)&zlib.deflate_end = dlsym(library, "deflateEnd");
    zlib.isComplete = zlib.version && zlib.inflate_init && zlib.inflate && zlib.inflate_reset && zlib.inflate_end
        && zlib.deflate_init && zlib.deflate && zlib.deflate_end;
}

bool czlib_is_available(void) {
    return pthread_once(&once, open_zlib) == 0 && zlib.isComplete;
}

static unsigned int at_most_uint(size_t count) { return count > UINT_MAX ? UINT_MAX : (unsigned int)count; }

struct czlib_decompressor {
    struct zlib_stream stream;
};

czlib_decompressor *czlib_decompressor_make(czlib_format format) {
    if (!czlib_is_available()) return NULL;
    czlib_decompressor *decompressor = calloc(1, sizeof *decompressor);
    if (!decompressor) return NULL;
    struct zlib_stream *stream = &decompressor->stream;
    if (zlib.inflate_init(stream, format, zlib.version(), (int)sizeof *stream) != ZLIB_OK) {
        free(decompressor);
        return NULL;
    }
    return decompressor;
}

void czlib_decompressor_free(czlib_decompressor *decompressor) {
    if (!decompressor) return;
    zlib.inflate_end(&decompressor->stream);
    free(decompressor);
}

bool czlib_decompressor_reset(czlib_decompressor *decompressor) {
    return zlib.inflate_reset(&decompressor->stream) == ZLIB_OK;
}

int czlib_decompress(
    czlib_decompressor *decompressor, const uint8_t *input, size_t input_count, size_t *taken, uint8_t *output,
    size_t output_count, size_t *given
) {
    struct zlib_stream *stream = &decompressor->stream;
    unsigned int in = at_most_uint(input_count);
    unsigned int out = at_most_uint(output_count);
    stream->next_in = input;
    stream->avail_in = in;
    stream->next_out = output;
    stream->avail_out = out;
    int code = zlib.inflate(stream, ZLIB_NO_FLUSH);
    *taken = in - stream->avail_in;
    *given = out - stream->avail_out;
    if (code == ZLIB_STREAM_END) return CZLIB_END;
    return code == ZLIB_OK || code == ZLIB_BUFFER_ERROR ? CZLIB_MORE : CZLIB_MALFORMED;
}

// zlib documents this bound for its default window and memory, with every level.
size_t czlib_compressed_bound(size_t count) { return count + (count >> 12) + (count >> 14) + (count >> 25) + 13; }

size_t czlib_compress(
    czlib_format format, czlib_level level, const uint8_t *input, size_t input_count, uint8_t *output,
    size_t output_count
) {
    if (!czlib_is_available()) return 0;
    struct zlib_stream stream = {0};
    int code = zlib.deflate_init(
        &stream, level, ZLIB_METHOD_DEFLATE, format, ZLIB_DEFAULT_MEMORY_LEVEL, ZLIB_DEFAULT_STRATEGY,
        zlib.version(), (int)sizeof stream
    );
    if (code != ZLIB_OK) return 0;
    size_t taken = 0;
    size_t given = 0;
    while (code == ZLIB_OK && given < output_count) {
        unsigned int in = at_most_uint(input_count - taken);
        unsigned int out = at_most_uint(output_count - given);
        stream.next_in = input + taken;
        stream.avail_in = in;
        stream.next_out = output + given;
        stream.avail_out = out;
        code = zlib.deflate(&stream, taken + in == input_count ? ZLIB_FINISH : ZLIB_NO_FLUSH);
        taken += in - stream.avail_in;
        given += out - stream.avail_out;
    }
    zlib.deflate_end(&stream);
    return code == ZLIB_STREAM_END ? given : 0;
}
