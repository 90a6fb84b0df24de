#ifndef CFLOOR_H
#define CFLOOR_H

#include <stddef.h>
#include <stdint.h>

/// A key with everything prepared, to minimize the work per signature.
typedef struct floor_key floor_key;

/// Creates a private key for signing and verifying.
/// `hash` is NULL for EdDSA. `is_pss` selects RSASSA-PSS with a salt as long as the hash.
floor_key *floor_key_from_pem(const char *pem, int size, const char *hash, int is_pss);

/// Creates an HMAC key.
floor_key *floor_key_from_secret(const uint8_t *secret, size_t size, const char *hash);

/// Returns the version of OpenSSL.
const char *floor_version(void);

/// Signs a message `times` times. ECDSA signatures are DER.
/// `size` is the buffer's size on input and the signature's size on output. Returns 1 or, on
/// failure, 0.
int floor_sign(
    floor_key *key, const uint8_t *message, size_t message_size, uint8_t *signature, size_t *size, long times);

/// Verifies a signature `times` times. Returns 1 if it's valid each time; otherwise, 0.
int floor_verify(
    floor_key *key, const uint8_t *message, size_t message_size, const uint8_t *signature, size_t size, long times);

void floor_key_free(floor_key *key);

/// Keeps a processor busy without using memory.
void floor_spin(long times);

#endif
