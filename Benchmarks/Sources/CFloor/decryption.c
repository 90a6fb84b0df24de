// Decrypts and encrypts with prepared contexts, and allocates nothing but what OpenSSL does itself.
#include "CFloor.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <stdlib.h>

struct floor_decrypter {
    EVP_PKEY *key;
    // For RSA.
    EVP_PKEY_CTX *decrypting;
    // For key agreement: the context, a key whose point is replaced by each token's, and the
    // derivation of the wrapping key.
    EVP_PKEY_CTX *agreeing;
    EVP_PKEY *peer;
    EVP_KDF_CTX *deriving;
    EVP_CIPHER_CTX *unwrapping;
    // For the content.
    EVP_CIPHER_CTX *opening;
    EVP_CIPHER_CTX *sealing;
};

static EVP_CIPHER_CTX *cipher_context(const char *name, const uint8_t *key, int is_encrypting) {
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    const int is_ready = EVP_CipherInit_ex(context, cipher, NULL, key, NULL, is_encrypting) == 1;
    EVP_CIPHER_free(cipher);
    if (is_ready) return context;
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

static int prepare_agreement(floor_decrypter *it) {
    EVP_KDF *function = EVP_KDF_fetch(NULL, "SSKDF", NULL);
    it->deriving = EVP_KDF_CTX_new(function);
    EVP_KDF_free(function);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, "SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    it->agreeing = EVP_PKEY_CTX_new_from_pkey(NULL, it->key, NULL);
    it->peer = EVP_PKEY_dup(it->key);
    it->unwrapping = cipher_context("AES-256-WRAP", NULL, 0);
    return it->peer != NULL && it->unwrapping != NULL && EVP_PKEY_derive_init(it->agreeing) == 1
        && EVP_KDF_CTX_set_params(it->deriving, parameters) == 1;
}

static int prepare_oaep(floor_decrypter *it, const char *hash) {
    EVP_MD *digest = EVP_MD_fetch(NULL, hash, NULL);
    it->decrypting = EVP_PKEY_CTX_new_from_pkey(NULL, it->key, NULL);
    const int is_ready = EVP_PKEY_decrypt_init(it->decrypting) == 1
        && EVP_PKEY_CTX_set_rsa_padding(it->decrypting, RSA_PKCS1_OAEP_PADDING) == 1
        && EVP_PKEY_CTX_set_rsa_oaep_md(it->decrypting, digest) == 1
        && EVP_PKEY_CTX_set_rsa_mgf1_md(it->decrypting, digest) == 1;
    EVP_MD_free(digest);
    return is_ready;
}

floor_decrypter *floor_decrypter_from_pem(const char *pem, int size, const char *hash) {
    floor_decrypter *it = calloc(1, sizeof *it);
    BIO *text = BIO_new_mem_buf(pem, size);
    it->key = PEM_read_bio_PrivateKey(text, NULL, NULL, NULL);
    BIO_free(text);
    it->opening = cipher_context("AES-256-GCM", NULL, 0);
    if (it->key != NULL && (hash == NULL ? prepare_agreement(it) : prepare_oaep(it, hash))) return it;
    floor_decrypter_free(it);
    return NULL;
}

floor_decrypter *floor_decrypter_from_secret(const uint8_t *secret) {
    floor_decrypter *it = calloc(1, sizeof *it);
    it->opening = cipher_context("AES-256-GCM", secret, 0);
    it->sealing = cipher_context("AES-256-GCM", secret, 1);
    return it;
}

void floor_decrypter_free(floor_decrypter *it) {
    if (it == NULL) return;
    EVP_PKEY_CTX_free(it->decrypting);
    EVP_PKEY_CTX_free(it->agreeing);
    EVP_PKEY_free(it->peer);
    EVP_KDF_CTX_free(it->deriving);
    EVP_CIPHER_CTX_free(it->unwrapping);
    EVP_CIPHER_CTX_free(it->opening);
    EVP_CIPHER_CTX_free(it->sealing);
    EVP_PKEY_free(it->key);
    free(it);
}

/// Agrees on a secret, derives the wrapping key and unwraps the content key.
static int agree(floor_decrypter *it, const floor_message *message, uint8_t *content_key) {
    uint8_t secret[32], wrapping_key[32];
    size_t size = sizeof secret;
    // Decoding checks that the point is on the curve, so `derive_set_peer` doesn't have to.
    if (EVP_PKEY_set1_encoded_public_key(it->peer, message->point, message->point_size) != 1
        || EVP_PKEY_derive_set_peer_ex(it->agreeing, it->peer, 0) != 1
        || EVP_PKEY_derive(it->agreeing, secret, &size) != 1) {
        return 0;
    }
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret, size),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)message->info, message->info_size),
        OSSL_PARAM_construct_end(),
    };
    int count;
    return EVP_KDF_derive(it->deriving, wrapping_key, sizeof wrapping_key, parameters) == 1
        && EVP_CipherInit_ex(it->unwrapping, NULL, NULL, wrapping_key, NULL, 0) == 1
        && EVP_CipherUpdate(it->unwrapping, content_key, &count, message->key, (int)message->key_size) == 1
        && count == 32;
}

int floor_decrypt(floor_decrypter *it, const floor_message *message, uint8_t *plaintext, long times) {
    uint8_t content_key[1024];
    for (long time = 0; time < times; time++) {
        const uint8_t *key = NULL;
        if (it->decrypting != NULL) {
            size_t size = sizeof content_key;
            if (EVP_PKEY_decrypt(it->decrypting, content_key, &size, message->key, message->key_size) != 1) return 0;
            key = content_key;
        } else if (it->agreeing != NULL) {
            if (!agree(it, message, content_key)) return 0;
            key = content_key;
        }
        int count;
        // Without a key, the context keeps the previous one.
        if (EVP_CipherInit_ex(it->opening, NULL, NULL, key, message->vector, 0) != 1
            || EVP_CIPHER_CTX_ctrl(it->opening, EVP_CTRL_AEAD_SET_TAG, 16, (void *)message->tag) != 1
            || EVP_CipherUpdate(it->opening, NULL, &count, message->context, (int)message->context_size) != 1
            || EVP_CipherUpdate(it->opening, plaintext, &count, message->text, (int)message->text_size) != 1
            || EVP_CipherFinal_ex(it->opening, plaintext + count, &count) != 1) {
            return 0;
        }
    }
    return 1;
}

int floor_encrypt(floor_decrypter *it, const floor_message *message, uint8_t *ciphertext, long times) {
    uint8_t vector[12], tag[16];
    for (long time = 0; time < times; time++) {
        int count;
        if (RAND_bytes(vector, sizeof vector) != 1
            || EVP_CipherInit_ex(it->sealing, NULL, NULL, NULL, vector, 1) != 1
            || EVP_CipherUpdate(it->sealing, NULL, &count, message->context, (int)message->context_size) != 1
            || EVP_CipherUpdate(it->sealing, ciphertext, &count, message->text, (int)message->text_size) != 1
            || EVP_CipherFinal_ex(it->sealing, ciphertext + count, &count) != 1
            || EVP_CIPHER_CTX_ctrl(it->sealing, EVP_CTRL_AEAD_GET_TAG, sizeof tag, tag) != 1) {
            return 0;
        }
    }
    return 1;
}
