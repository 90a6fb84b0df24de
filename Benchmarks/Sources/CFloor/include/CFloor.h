#ifndef CFLOOR_H
#define CFLOOR_H

#include <stddef.h>
#include <stdint.h>

/// A key with everything prepared that can be: as little as possible is left to do per signature.
typedef struct floor_key floor_key;

/// A private key, for signing and verifying.
/// `hash` is NULL where the algorithm has its own (EdDSA); `is_pss` chooses RSASSA-PSS with a salt as long as the hash.
floor_key *floor_key_from_pem(const char *pem, int size, const char *hash, int is_pss);

/// An HMAC key.
floor_key *floor_key_from_secret(const uint8_t *secret, size_t size, const char *hash);

/// The version of OpenSSL.
const char *floor_version(void);

/// Signs a message `times` times, as OpenSSL does it: ECDSA makes DER.
/// `size` is the buffer's size before and the signature's after. Returns 1, or 0 for a failure.
int floor_sign(
    floor_key *key, const uint8_t *message, size_t message_size, uint8_t *signature, size_t *size, long times);

/// Verifies a signature `times` times. Returns 1 if it is good each time, or 0.
int floor_verify(
    floor_key *key, const uint8_t *message, size_t message_size, const uint8_t *signature, size_t size, long times);

void floor_key_free(floor_key *key);

/// Does something that needs a processor and nothing else.
void floor_spin(long times);

#endif
