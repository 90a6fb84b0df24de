#ifndef CBASE64_H
#define CBASE64_H

// Base64url without padding, with vector instructions, which Swift can't select at run time. No
// branch and no address depends on the contents: they can be a secret key's.

#include <stddef.h>
#include <stdint.h>

/// The results of cbase64_decode.
typedef enum {
    CBASE64_VALID,
    /// A character isn't in the alphabet.
    CBASE64_FOREIGN_CHARACTER,
    /// The bits of the last character that don't belong to a byte aren't zero.
    CBASE64_UNUSED_BITS,
} cbase64_result;

/// Encodes bytes as (count * 4 + 2) / 3 characters. The bytes may be at the end of the text's room.
void cbase64_encode(const uint8_t *bytes, size_t count, uint8_t *text);

/// Decodes characters to count * 3 / 4 bytes. The count modulo 4 must not be 1.
cbase64_result cbase64_decode(const uint8_t *text, size_t count, uint8_t *bytes);

#endif
