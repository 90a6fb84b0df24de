// The OpenSSL 3 headers this package uses, and `static inline` functions for what the Swift importer cannot see
// (macros and casts), each with its reason.
#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/opensslv.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

// An OSSL_PARAM keeps the address of its name. A string that Swift passes to C lives only during that one call; the
// literals behind these macros last.
static inline OSSL_PARAM COpenSSL_group_name_param(char *name) {
    return OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, name, 0);
}
static inline OSSL_PARAM COpenSSL_public_key_param(void *point, size_t size) {
    return OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, size);
}
static inline OSSL_PARAM COpenSSL_private_key_param(unsigned char *little_endian, size_t size) {
    return OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, little_endian, size);
}
static inline OSSL_PARAM COpenSSL_digest_param(char *name) {
    return OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0);
}

// The importer does not evaluate macros that combine other macros with `|`.
static inline int COpenSSL_selection_keypair(void) { return EVP_PKEY_KEYPAIR; }
static inline int COpenSSL_selection_public_key(void) { return EVP_PKEY_PUBLIC_KEY; }

// ERR_R_UNSUPPORTED is a macro that combines others, and the reasons before it differ by library.
static inline int COpenSSL_is_unsupported(unsigned long code) {
    int reason = ERR_GET_REASON(code);
    if (reason == ERR_R_UNSUPPORTED) return 1;
    if (ERR_GET_LIB(code) == ERR_LIB_PEM) {
        return reason == PEM_R_UNSUPPORTED_ENCRYPTION || reason == PEM_R_UNSUPPORTED_CIPHER;
    }
    return ERR_GET_LIB(code) == ERR_LIB_EVP
        && (reason == EVP_R_UNKNOWN_PBE_ALGORITHM || reason == EVP_R_UNKNOWN_CIPHER
            || reason == EVP_R_UNSUPPORTED_CIPHER || reason == EVP_R_UNSUPPORTED_PRF
            || reason == EVP_R_UNSUPPORTED_KEY_DERIVATION_FUNCTION
            || reason == EVP_R_MEMORY_LIMIT_EXCEEDED);
}

#endif
