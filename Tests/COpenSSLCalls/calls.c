// Functions with the names of OpenSSL's, linked into the tests. The linker prefers them, so the
// package calls them; they record the call and pass it on.
#define _GNU_SOURCE
#include "COpenSSLCalls.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

enum { CAPACITY = 64 };

static _Thread_local struct {
    const char *name;
    size_t size;
} calls[CAPACITY];
static _Thread_local size_t count;
static _Thread_local int is_recording;
// Functions that OpenSSL itself calls aren't recorded: the random generator reseeds now and then.
static _Thread_local int depth;

void openssl_calls_start(void) {
    count = 0;
    is_recording = 1;
}

size_t openssl_calls_stop(void) {
    is_recording = 0;
    return count;
}

const char *openssl_calls_name(size_t index) {
    return index < CAPACITY ? calls[index].name : "";
}

size_t openssl_calls_size(size_t index) {
    return index < CAPACITY ? calls[index].size : 0;
}

static void record(const char *name, size_t size) {
    if (!is_recording || depth > 0) return;
    if (count < CAPACITY) {
        calls[count].name = name;
        calls[count].size = size;
    }
    count++;
}

// Defines a function that records `size` and calls OpenSSL's. Threads may look up the address at
// the same time, with the same result.
#define RECORDED(function, parameters, arguments, size) RECORDED_AS(int, function, parameters, arguments, size)
#define RECORDED_AS(type, function, parameters, arguments, size)                                   \
    type function parameters {                                                                     \
        static _Atomic(void *) found;                                                              \
        void *next = found;                                                                        \
        if (next == NULL) found = next = dlsym(RTLD_NEXT, #function);                              \
        record(#function, size);                                                                   \
        depth++;                                                                                   \
        type result = ((type(*) parameters)next)arguments;                                         \
        depth--;                                                                                   \
        return result;                                                                             \
    }

RECORDED(EVP_CipherInit_ex,
    (EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, ENGINE *engine, const unsigned char *key,
        const unsigned char *vector, int is_encrypting),
    (context, cipher, engine, key, vector, is_encrypting), 0)
RECORDED(EVP_CipherUpdate,
    (EVP_CIPHER_CTX *context, unsigned char *output, int *written, const unsigned char *input, int size),
    (context, output, written, input, size), (size_t)size)
RECORDED(EVP_CipherFinal_ex, (EVP_CIPHER_CTX *context, unsigned char *output, int *written), (context, output, written),
    0)
RECORDED(EVP_CIPHER_CTX_ctrl, (EVP_CIPHER_CTX *context, int command, int size, void *value),
    (context, command, size, value), (size_t)size)
RECORDED(EVP_MAC_init, (EVP_MAC_CTX *context, const unsigned char *key, size_t size, const OSSL_PARAM *parameters),
    (context, key, size, parameters), size)
RECORDED(EVP_MAC_update, (EVP_MAC_CTX *context, const unsigned char *input, size_t size), (context, input, size), size)
RECORDED(EVP_MAC_final, (EVP_MAC_CTX *context, unsigned char *output, size_t *written, size_t size),
    (context, output, written, size), size)
RECORDED(EVP_PKEY_decrypt,
    (EVP_PKEY_CTX *context, unsigned char *output, size_t *written, const unsigned char *input, size_t size),
    (context, output, written, input, size), size)
RECORDED(EVP_PKEY_derive_set_peer_ex, (EVP_PKEY_CTX *context, EVP_PKEY *peer, int validates), (context, peer, validates),
    0)
RECORDED(EVP_PKEY_derive_set_peer, (EVP_PKEY_CTX *context, EVP_PKEY *peer), (context, peer), 0)
RECORDED(EVP_PKEY_derive, (EVP_PKEY_CTX *context, unsigned char *output, size_t *size), (context, output, size), 0)
RECORDED(EVP_DigestUpdate, (EVP_MD_CTX *context, const void *input, size_t size), (context, input, size), size)
RECORDED(EVP_DigestFinal_ex, (EVP_MD_CTX *context, unsigned char *output, unsigned int *size), (context, output, size), 0)
RECORDED(PKCS5_PBKDF2_HMAC,
    (const char *password, int password_size, const unsigned char *salt, int salt_size, int iterations,
        const EVP_MD *hash, int size, unsigned char *output),
    (password, password_size, salt, salt_size, iterations, hash, size, output), (size_t)iterations)
RECORDED(RAND_bytes, (unsigned char *output, int size), (output, size), (size_t)size)
RECORDED(RAND_priv_bytes, (unsigned char *output, int size), (output, size), (size_t)size)
RECORDED(CRYPTO_memcmp, (const void *left, const void *right, size_t size), (left, right, size), size)

RECORDED_AS(X509 *, d2i_X509, (X509 **certificate, const unsigned char **der, long size), (certificate, der, size),
    (size_t)size)
RECORDED_AS(PKCS12 *, d2i_PKCS12, (PKCS12 **file, const unsigned char **der, long size), (file, der, size), (size_t)size)
RECORDED_AS(STACK_OF(PKCS7) *, PKCS12_unpack_authsafes, (const PKCS12 *file), (file), 0)
RECORDED_AS(X509 *, PKCS12_SAFEBAG_get1_cert, (const PKCS12_SAFEBAG *bag), (bag), 0)
RECORDED_AS(EVP_PKEY *, EVP_PKCS82PKEY, (const PKCS8_PRIV_KEY_INFO *key), (key), 0)
