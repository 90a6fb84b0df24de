// The OpenSSL 3 headers that this package uses, and `static inline` functions for macros and casts
// that Swift can't import, each with its reason.
#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/opensslv.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// An OSSL_PARAM keeps the address of its name. A string passed from Swift to C is only valid during
// that call; the literals behind these macros are permanent.
static inline OSSL_PARAM COpenSSL_group_name_param(char *name) {
    return OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, name, 0);
}
static inline OSSL_PARAM COpenSSL_public_key_param(void *point, size_t size) {
    return OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, size);
}
static inline OSSL_PARAM COpenSSL_private_key_param(unsigned char *little_endian, size_t size) {
    return OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, little_endian, size);
}
// The headers before OpenSSL 3.5 lack the name.
static inline OSSL_PARAM COpenSSL_seed_param(void *seed, size_t size) {
    return OSSL_PARAM_construct_octet_string("seed", seed, size);
}
static inline OSSL_PARAM COpenSSL_digest_param(char *name) {
    return OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0);
}

// OpenSSL 3.0 builds some of these names from two literals, which the importer doesn't evaluate. In
// the order of RFC 8017 A.1.2.
static inline const char *COpenSSL_rsa_number_name(int index) {
    static const char *const names[] = {
        OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D,
        OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2,
        OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
    };
    return names[index];
}

// The numbers of an RSA key, in the order of RFC 8017 A.1.2. The private numbers may be null.
static inline int COpenSSL_push_rsa_numbers(
    OSSL_PARAM_BLD *builder, const BIGNUM *n, const BIGNUM *e, const BIGNUM *d, const BIGNUM *p, const BIGNUM *q,
    const BIGNUM *dp, const BIGNUM *dq, const BIGNUM *qi
) {
    if (!OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n)) return 0;
    if (!OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e)) return 0;
    if (d == NULL) return 1;
    return OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_D, d)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_FACTOR1, p)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_FACTOR2, q)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_EXPONENT1, dp)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_EXPONENT2, dq)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_COEFFICIENT1, qi);
}

// The importer doesn't evaluate macros that combine other macros with `|`.
static inline int COpenSSL_selection_keypair(void) { return EVP_PKEY_KEYPAIR; }
static inline int COpenSSL_selection_public_key(void) { return EVP_PKEY_PUBLIC_KEY; }
static inline int COpenSSL_selection_parameters(void) { return EVP_PKEY_KEY_PARAMETERS; }

// Combines macros too. RFC 2253, except that non-ASCII characters aren't escaped.
static inline unsigned long COpenSSL_name_flags(void) { return XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB; }

// Macros that combine others, for servers: releases the buffers of idle connections, forbids
// renegotiation, and keeps sessions in tickets only, if at all.
static inline void COpenSSL_server_set_options(SSL_CTX *context, int issues_tickets) {
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | (issues_tickets ? 0 : SSL_OP_NO_TICKET));
}

// A compressed list of certificates would reach OpenSSL's parser unchecked. Headers before OpenSSL
// 3.2 lack the option, and older libraries ignore it.
static inline void COpenSSL_refuse_compressed_certificates(SSL_CTX *context) {
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
    SSL_CTX_set_options(context, SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);
#else
    SSL_CTX_set_options(context, (uint64_t)1 << 33);
#endif
}

// ERR_R_UNSUPPORTED combines macros, and before it existed each library had its own reasons.
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

// Swift can't cast a function to its address.
static inline const void *COpenSSL_telling_function(void) { return (const void *)SSL_CTX_new; }

// Reading the union in PKCS7 safely requires checking its type, which Swift can't do. NID_undef
// means no contents.
static inline int COpenSSL_pkcs7_type(const PKCS7 *content) {
    return content == NULL || content->d.ptr == NULL ? NID_undef : OBJ_obj2nid(content->type);
}

// The same union: the encryption algorithm of the contents, or NULL.
static inline const X509_ALGOR *COpenSSL_pkcs7_encryption(const PKCS7 *content) {
    if (COpenSSL_pkcs7_type(content) != NID_pkcs7_encrypted || content->d.encrypted->enc_data == NULL) {
        return NULL;
    }
    return content->d.encrypted->enc_data->algorithm;
}

#endif
