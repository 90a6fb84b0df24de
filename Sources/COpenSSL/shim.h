// The OpenSSL 3 headers this package uses, and `static inline` functions for what the Swift importer cannot see
// (macros and casts), each with its reason.
#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#endif
