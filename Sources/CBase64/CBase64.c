#include "CBase64.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte must be a word's lowest");

// 16 bytes as numbers of different sizes. The compiler chooses the processor's instructions.
typedef uint8_t lanes __attribute__((vector_size(16)));
typedef int8_t signed_lanes __attribute__((vector_size(16)));
typedef uint32_t words __attribute__((vector_size(16)));

/// Encodes the first 12 bytes as 16 characters.
static inline lanes encoded(lanes bytes) {
    // Three bytes in each word, then six bits in each of its bytes, in the order of memory.
    const words bits = (words)__builtin_shufflevector(
        bytes, bytes, 2, 1, 0, 2, 5, 4, 3, 5, 8, 7, 6, 8, 11, 10, 9, 11);
    const lanes numbers = (lanes)(
        (bits >> 18 & 0x3F) | (bits >> 4 & 0x3F00) | (bits << 10 & 0x3F0000) | (bits << 24 & 0x3F000000));
    // The alphabet's ranges start at "A", "a", "0", "-" and "_". Each step is the difference to the
    // previous range.
    return numbers + 'A' + ((lanes)(numbers > 25) & 6) - ((lanes)(numbers > 51) & 75)
        - ((lanes)(numbers > 61) & 13) + ((lanes)(numbers > 62) & 49);
}

/// Decodes 16 characters to 12 bytes, and sets bits of `foreign` where a character isn't in the
/// alphabet.
static inline lanes decoded(lanes characters, lanes *foreign) {
    const lanes letter = (lanes)((characters | 0x20) - 'a' < 26);
    const lanes digit = (lanes)(characters - '0' < 10);
    const lanes dash = (lanes)(characters == '-');
    const lanes underscore = (lanes)(characters == '_');
    *foreign |= ~(letter | digit | dash | underscore);
    // The same steps as in the alphabet's other direction: from the digits to the letters, and from
    // the capital letters to the small ones.
    const lanes numbers = characters + 4 - ((lanes)((signed_lanes)characters > '@') & 69)
        - ((lanes)((signed_lanes)characters > '`') & 6) + (dash & 13) + (underscore & 33);
    const words bits = (words)numbers;
    return __builtin_shufflevector(
        (lanes)(bits << 18 | (bits << 4 & 0x3F000) | (bits >> 10 & 0xFC0) | bits >> 24),
        (lanes)bits, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 7, 11, 15);
}

#if defined(__x86_64__)
// Two tables of 16 entries for vpshufb, which looks up within the register.
#define TWICE(...) _mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)

/// Encodes whole blocks of 24 bytes and returns the number of bytes that were encoded.
///
/// W. Muła, D. Lemire: Faster Base64 Encoding and Decoding Using AVX2 Instructions,
/// https://doi.org/10.1145/3132709
__attribute__((target("avx2")))
static size_t encode_blocks(const uint8_t *bytes, size_t count, uint8_t *text) {
    size_t index = 0;
    // The second half is read from the twelfth byte on, so that each half has twelve bytes.
    for (; index + 28 <= count; index += 24, text += 32) {
        const __m256i block = _mm256_loadu2_m128i(
            (const __m128i *)(bytes + index + 12), (const __m128i *)(bytes + index));
        const __m256i bits = _mm256_shuffle_epi8(
            block, TWICE(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10));
        const __m256i numbers = _mm256_or_si256(
            _mm256_mulhi_epu16(_mm256_and_si256(bits, _mm256_set1_epi32(0x0FC0FC00)), _mm256_set1_epi32(0x04000040)),
            _mm256_mullo_epi16(_mm256_and_si256(bits, _mm256_set1_epi32(0x003F03F0)), _mm256_set1_epi32(0x01000010)));
        // The range: 13 for capital letters, 0 for small ones, 1 to 10 for digits, 11 and 12.
        const __m256i range = _mm256_or_si256(
            _mm256_subs_epu8(numbers, _mm256_set1_epi8(51)),
            _mm256_and_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8(26), numbers), _mm256_set1_epi8(13)));
        const __m256i offset = _mm256_shuffle_epi8(
            TWICE(71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -17, 32, 65, 0, 0), range);
        _mm256_storeu_si256((__m256i *)text, _mm256_add_epi8(numbers, offset));
    }
    return index;
}

/// Decodes whole blocks of 32 characters and returns the number of characters that were decoded:
/// fewer if one isn't in the alphabet.
///
/// The same article as for ``encode_blocks``.
__attribute__((target("avx2")))
static size_t decode_blocks(const uint8_t *text, size_t count, uint8_t *bytes) {
    size_t index = 0;
    __m256i foreign = _mm256_setzero_si256();
    for (; index + 32 <= count; index += 32, bytes += 24) {
        const __m256i characters = _mm256_loadu_si256((const __m256i *)(text + index));
        const __m256i high = _mm256_and_si256(_mm256_srli_epi16(characters, 4), _mm256_set1_epi8(15));
        // One bit for each row of the ASCII table with other valid columns: 2, 3, 4 and 6, 5, 7 and
        // the rest. It's set where the character's row and column don't go together.
        foreign = _mm256_or_si256(foreign, _mm256_and_si256(
            _mm256_shuffle_epi8(TWICE(32, 32, 1, 2, 4, 8, 4, 16, 32, 32, 32, 32, 32, 32, 32, 32), high),
            _mm256_shuffle_epi8(
                TWICE(37, 33, 33, 33, 33, 33, 33, 33, 33, 33, 35, 59, 59, 58, 59, 51),
                _mm256_and_si256(characters, _mm256_set1_epi8(15)))));
        const __m256i underscore = _mm256_and_si256(
            _mm256_cmpeq_epi8(characters, _mm256_set1_epi8('_')), _mm256_set1_epi8(33));
        const __m256i offset = _mm256_shuffle_epi8(
            TWICE(0, 0, 17, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0), high);
        const __m256i numbers = _mm256_add_epi8(_mm256_add_epi8(characters, underscore), offset);
        const __m256i bits = _mm256_madd_epi16(
            _mm256_maddubs_epi16(numbers, _mm256_set1_epi16(0x0140)), _mm256_set1_epi32(0x00011000));
        const __m256i block = _mm256_permutevar8x32_epi32(
            _mm256_shuffle_epi8(bits, TWICE(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1)),
            _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
        memcpy(bytes, &block, 24);
    }
    return _mm256_testz_si256(foreign, foreign) ? index : 0;
}
#endif

void cbase64_encode(const uint8_t *bytes, size_t count, uint8_t *text) {
    size_t index = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) index = encode_blocks(bytes, count, text);
#endif
    text += index / 3 * 4;
    lanes block;
    for (; index + 16 <= count; index += 12, text += 16) {
        memcpy(&block, bytes + index, 16);
        block = encoded(block);
        memcpy(text, &block, 16);
    }
    for (; index < count; index += 12, text += 16) {
        const size_t rest = count - index < 12 ? count - index : 12;
        block = (lanes){0};
        memcpy(&block, bytes + index, rest);
        block = encoded(block);
        memcpy(text, &block, (rest * 4 + 2) / 3);
    }
}

cbase64_result cbase64_decode(const uint8_t *text, size_t count, uint8_t *bytes) {
    size_t index = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) index = decode_blocks(text, count, bytes);
#endif
    bytes += index / 4 * 3;
    lanes foreign = {0};
    lanes block;
    for (; index + 16 <= count; index += 16, bytes += 12) {
        memcpy(&block, text + index, 16);
        block = decoded(block, &foreign);
        memcpy(bytes, &block, 12);
    }
    uint8_t unused = 0;
    if (index < count) {
        const size_t rest = count - index;
        // "A" is zero.
        block = (lanes){0} + 'A';
        memcpy(&block, text + index, rest);
        block = decoded(block, &foreign);
        memcpy(bytes, &block, rest * 3 / 4);
        // A byte that got only some bits, or the zero after the last byte.
        unused = ((const uint8_t *)&block)[rest * 3 / 4];
    }
    uint64_t halves[2];
    memcpy(halves, &foreign, 16);
    if ((halves[0] | halves[1]) != 0) return CBASE64_FOREIGN_CHARACTER;
    return unused == 0 ? CBASE64_VALID : CBASE64_UNUSED_BITS;
}
