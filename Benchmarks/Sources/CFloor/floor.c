// Makes the same calls as `openssl speed` and also hashes the message where `openssl speed`
// doesn't.
#include "CFloor.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdlib.h>

struct floor_key {
    EVP_PKEY *key;
    // For algorithms that sign a hash.
    EVP_MD *hash;
    EVP_MD_CTX *hashing;
    EVP_PKEY_CTX *signing;
    EVP_PKEY_CTX *verifying;
    // For EdDSA and ML-DSA, which sign the message itself.
    EVP_MD_CTX *message_signing;
    EVP_MD_CTX *message_verifying;
    // Since OpenSSL 3.4, a context must be reset after each signature.
    int must_set_back;
    // For HMAC.
    EVP_MAC_CTX *mac;
};

const char *floor_version(void) {
    return OpenSSL_version(OPENSSL_VERSION);
}

static int set_padding(EVP_PKEY_CTX *context, const floor_key *key, int is_pss) {
    if (EVP_PKEY_CTX_set_signature_md(context, key->hash) != 1) return 0;
    if (!is_pss) return 1;
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
        && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

static int prepare(floor_key *key, const char *hash, int is_pss) {
    if (hash == NULL) {
        key->message_signing = EVP_MD_CTX_new();
        key->message_verifying = EVP_MD_CTX_new();
        if (EVP_DigestSignInit(key->message_signing, NULL, NULL, NULL, key->key) != 1
            || EVP_DigestVerifyInit(key->message_verifying, NULL, NULL, NULL, key->key) != 1) {
            return 0;
        }
        const size_t capacity = (size_t)EVP_PKEY_get_size(key->key);
        uint8_t *signature = malloc(capacity);
        size_t size = capacity;
        const uint8_t message = 0;
        int is_signed = EVP_DigestSign(key->message_signing, signature, &size, &message, 1) == 1;
        size = capacity;
        key->must_set_back = EVP_DigestSign(key->message_signing, signature, &size, &message, 1) != 1;
        free(signature);
        return is_signed;
    }
    key->hash = EVP_MD_fetch(NULL, hash, NULL);
    key->hashing = EVP_MD_CTX_new();
    key->signing = EVP_PKEY_CTX_new_from_pkey(NULL, key->key, NULL);
    key->verifying = EVP_PKEY_CTX_new_from_pkey(NULL, key->key, NULL);
    return key->hash != NULL && EVP_PKEY_sign_init(key->signing) == 1 && set_padding(key->signing, key, is_pss)
        && EVP_PKEY_verify_init(key->verifying) == 1 && set_padding(key->verifying, key, is_pss);
}

floor_key *floor_key_from_pem(const char *pem, int size, const char *hash, int is_pss) {
    floor_key *key = calloc(1, sizeof *key);
    BIO *text = BIO_new_mem_buf(pem, size);
    key->key = PEM_read_bio_PrivateKey(text, NULL, NULL, NULL);
    BIO_free(text);
    if (key->key != NULL && prepare(key, hash, is_pss)) return key;
    floor_key_free(key);
    return NULL;
}

floor_key *floor_key_from_secret(const uint8_t *secret, size_t size, const char *hash) {
    floor_key *key = calloc(1, sizeof *key);
    EVP_MAC *implementation = EVP_MAC_fetch(NULL, "HMAC", NULL);
    key->mac = EVP_MAC_CTX_new(implementation);
    EVP_MAC_free(implementation);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)hash, 0),
        OSSL_PARAM_construct_end(),
    };
    if (EVP_MAC_init(key->mac, secret, size, parameters) == 1) return key;
    floor_key_free(key);
    return NULL;
}

void floor_key_free(floor_key *key) {
    if (key == NULL) return;
    EVP_MD_free(key->hash);
    EVP_MD_CTX_free(key->hashing);
    EVP_PKEY_CTX_free(key->signing);
    EVP_PKEY_CTX_free(key->verifying);
    EVP_MD_CTX_free(key->message_signing);
    EVP_MD_CTX_free(key->message_verifying);
    EVP_MAC_CTX_free(key->mac);
    EVP_PKEY_free(key->key);
    free(key);
}

static int digest(floor_key *key, const uint8_t *message, size_t size, uint8_t *hash, unsigned *hash_size) {
    return EVP_DigestInit_ex2(key->hashing, key->hash, NULL) == 1 && EVP_DigestUpdate(key->hashing, message, size) == 1
        && EVP_DigestFinal_ex(key->hashing, hash, hash_size) == 1;
}

static int authenticate(floor_key *key, const uint8_t *message, size_t size, uint8_t *code, size_t *code_size) {
    // Without a key, this resets the context to its state with the previous key.
    return EVP_MAC_init(key->mac, NULL, 0, NULL) == 1 && EVP_MAC_update(key->mac, message, size) == 1
        && EVP_MAC_final(key->mac, code, code_size, EVP_MAX_MD_SIZE) == 1;
}

int floor_sign(
    floor_key *key, const uint8_t *message, size_t message_size, uint8_t *signature, size_t *size, long times) {
    const size_t capacity = *size;
    uint8_t hash[EVP_MAX_MD_SIZE];
    unsigned hash_size;
    for (long time = 0; time < times; time++) {
        *size = capacity;
        if (key->mac != NULL) {
            if (!authenticate(key, message, message_size, signature, size)) return 0;
        } else if (key->message_signing != NULL) {
            if (key->must_set_back && EVP_DigestSignInit(key->message_signing, NULL, NULL, NULL, NULL) != 1) return 0;
            if (EVP_DigestSign(key->message_signing, signature, size, message, message_size) != 1) return 0;
        } else if (!digest(key, message, message_size, hash, &hash_size)
                   || EVP_PKEY_sign(key->signing, signature, size, hash, hash_size) != 1) {
            return 0;
        }
    }
    return 1;
}

int floor_verify(
    floor_key *key, const uint8_t *message, size_t message_size, const uint8_t *signature, size_t size, long times) {
    uint8_t hash[EVP_MAX_MD_SIZE];
    unsigned hash_size;
    for (long time = 0; time < times; time++) {
        if (key->mac != NULL) {
            size_t code_size;
            if (!authenticate(key, message, message_size, hash, &code_size)) return 0;
            if (code_size != size || CRYPTO_memcmp(hash, signature, size) != 0) return 0;
        } else if (key->message_verifying != NULL) {
            if (key->must_set_back && EVP_DigestVerifyInit(key->message_verifying, NULL, NULL, NULL, NULL) != 1) return 0;
            if (EVP_DigestVerify(key->message_verifying, signature, size, message, message_size) != 1) return 0;
        } else if (!digest(key, message, message_size, hash, &hash_size)
                   || EVP_PKEY_verify(key->verifying, signature, size, hash, hash_size) != 1) {
            return 0;
        }
    }
    return 1;
}
