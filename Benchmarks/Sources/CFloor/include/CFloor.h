#ifndef CFLOOR_H
#define CFLOOR_H

#include <stddef.h>
#include <stdint.h>

/// A key with everything prepared, to minimize the work per signature.
typedef struct floor_key floor_key;

/// Creates a private key for signing and verifying.
/// `hash` is NULL for EdDSA and ML-DSA. `is_pss` selects RSASSA-PSS with a salt as long as the hash.
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

/// The key of a recipient of encrypted tokens with A256GCM, with everything prepared.
typedef struct floor_decrypter floor_decrypter;

/// The parts of an encrypted token.
typedef struct {
    /// The encrypted content key; empty if both sides share it.
    const uint8_t *key;
    size_t key_size;
    /// The sender's public key and the context of the wrapping key, for key agreement.
    const uint8_t *point;
    size_t point_size;
    const uint8_t *info;
    size_t info_size;
    /// The initialization vector of 12 bytes, the tag of 16 and the other data that it covers.
    const uint8_t *vector;
    const uint8_t *tag;
    const uint8_t *context;
    size_t context_size;
    /// The ciphertext, or the plaintext to encrypt.
    const uint8_t *text;
    size_t text_size;
} floor_message;

/// Creates a recipient with a private key. `hash` is that of RSA OAEP, or NULL for key agreement
/// and a wrapping key of 256 bits.
floor_decrypter *floor_decrypter_from_pem(const char *pem, int size, const char *hash);

/// Creates a recipient that shares the content key of 32 bytes.
floor_decrypter *floor_decrypter_from_secret(const uint8_t *secret);

/// Decrypts a token `times` times. Returns 1 if the tag is valid each time; otherwise, 0.
int floor_decrypt(floor_decrypter *decrypter, const floor_message *message, uint8_t *plaintext, long times);

/// Encrypts content `times` times with a shared key and random initialization vectors. Returns 1
/// or, on failure, 0.
int floor_encrypt(floor_decrypter *decrypter, const floor_message *message, uint8_t *ciphertext, long times);

void floor_decrypter_free(floor_decrypter *decrypter);

/// libcurl's multi interface with epoll in one thread: the same requests without a client.
typedef struct floor_client floor_client;

/// Prepares `count` transfers, each with a connection of its own.
/// `fields` are lines such as `Name: value`. `bundle` is a file of trusted certificates, or NULL.
/// Returns NULL without libcurl.
floor_client *floor_client_create(
    const char *url, const char *const *fields, int field_count, int count, const char *bundle);

/// Repeats all transfers for a duration. Returns the number of responses with status 200 and a body
/// of this size, or -1 after any other.
long floor_client_run(floor_client *client, uint64_t nanoseconds, size_t body_size);

void floor_client_free(floor_client *client);

/// Keeps a processor busy without using memory.
void floor_spin(long times);

#endif
