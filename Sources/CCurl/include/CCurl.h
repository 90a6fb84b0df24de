#ifndef CCURL_H
#define CCURL_H

// The part of libcurl's stable ABI that the transport uses, without libcurl's headers: no -dev package is needed to
// build, and the library is the one that FoundationNetworking brings into the process. Every function may be called
// when there is no libcurl: makers then return NULL and the others an error or nothing.
//
// The numbers are libcurl's own and never change (https://curl.se/libcurl/abi.html). libcurl's setters are variadic, which
// Swift can't call; here each value type has a setter of its own, and an option only fits the setter of its type.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "CCoding.h"

/// A transfer: libcurl's easy handle.
typedef struct ccurl_easy ccurl_easy;
/// Many transfers and their connections: libcurl's multi handle.
typedef struct ccurl_multi ccurl_multi;
/// A list of lines, for header fields: libcurl's struct curl_slist, whose members are part of its ABI.
typedef struct ccurl_list {
    char *line;
    struct ccurl_list *next;
} ccurl_list;

// MARK: The library

/// Whether the functions below do anything.
bool ccurl_is_available(void);
/// The version as 0xXXYYZZ, or 0.
uint32_t ccurl_version_number(void);
/// The version as text, such as "7.88.1", or NULL.
const char *ccurl_version(void);
/// The TLS library that libcurl was built on, such as "OpenSSL/3.0.19", or NULL.
const char *ccurl_tls_backend(void);
/// What libcurl may be built without, as bits of ccurl_features.
enum {
    CCURL_FEATURE_HTTP2 = 1 << 16,
    CCURL_FEATURE_UNIX_SOCKETS = 1 << 19,
    CCURL_FEATURE_HTTPS_PROXY = 1 << 21,
};
/// What this libcurl was built with.
int ccurl_features(void);
/// Whether name resolution does not block the calling thread.
bool ccurl_resolves_asynchronously(void);
/// The address at which libcurl finds a function of its TLS library, or NULL if that can't be told.
const void *ccurl_tls_function(const char *name);
/// Prepares the library for use by any thread; returns 0 if it worked.
int ccurl_global_init(void);

// MARK: Results

/// The results of a transfer that need a treatment of their own.
enum {
    CCURL_OK = 0,
    CCURL_UNSUPPORTED_PROTOCOL = 1,
    CCURL_URL_MALFORMAT = 3,
    CCURL_COULDNT_RESOLVE_PROXY = 5,
    CCURL_COULDNT_RESOLVE_HOST = 6,
    CCURL_COULDNT_CONNECT = 7,
    CCURL_WEIRD_SERVER_REPLY = 8,
    CCURL_HTTP2 = 16,
    CCURL_PARTIAL_FILE = 18,
    CCURL_WRITE_ERROR = 23,
    CCURL_READ_ERROR = 26,
    CCURL_OUT_OF_MEMORY = 27,
    CCURL_OPERATION_TIMEDOUT = 28,
    CCURL_SSL_CONNECT_ERROR = 35,
    CCURL_ABORTED_BY_CALLBACK = 42,
    CCURL_BAD_FUNCTION_ARGUMENT = 43,
    CCURL_UNKNOWN_OPTION = 48,
    CCURL_GOT_NOTHING = 52,
    CCURL_SSL_ENGINE_NOTFOUND = 53,
    CCURL_SSL_ENGINE_SETFAILED = 54,
    CCURL_SEND_ERROR = 55,
    CCURL_RECV_ERROR = 56,
    CCURL_SSL_CERTPROBLEM = 58,
    CCURL_SSL_CIPHER = 59,
    CCURL_PEER_FAILED_VERIFICATION = 60,
    CCURL_BAD_CONTENT_ENCODING = 61,
    CCURL_SEND_FAIL_REWIND = 65,
    CCURL_SSL_ENGINE_INITFAILED = 66,
    CCURL_SSL_CACERT_BADFILE = 77,
    CCURL_SSL_SHUTDOWN_FAILED = 80,
    CCURL_AGAIN = 81,
    CCURL_SSL_CRL_BADFILE = 82,
    CCURL_SSL_ISSUER_ERROR = 83,
    CCURL_SSL_PINNEDPUBKEYNOTMATCH = 90,
    CCURL_SSL_INVALIDCERTSTATUS = 91,
    CCURL_HTTP2_STREAM = 92,
    CCURL_PROXY_HANDSHAKE = 97,
    CCURL_SSL_CLIENTCERT = 98,
    CCURL_TOO_LARGE = 100,
    /// Not one of libcurl's: there is no libcurl.
    CCURL_UNAVAILABLE = -1,
};

/// The words for a result; never NULL.
const char *ccurl_easy_strerror(int code);

// MARK: A transfer

/// The octets that an error buffer must have room for.
enum { CCURL_ERROR_SIZE = 256 };

/// Options whose value is a number or a switch (0 or 1).
typedef enum {
    /// The oldest TLS version accepted; see CCURL_TLS_1_2.
    CCURL_LONG_SSLVERSION = 32,
    /// No progress callback.
    CCURL_LONG_NOPROGRESS = 43,
    /// Expect no body in the response, as for HEAD.
    CCURL_LONG_NOBODY = 44,
    /// Send a body.
    CCURL_LONG_POST = 47,
    /// Follow redirects.
    CCURL_LONG_FOLLOWLOCATION = 52,
    /// Verify the certificate chain.
    CCURL_LONG_SSL_VERIFYPEER = 64,
    /// Don't take a connection from the pool.
    CCURL_LONG_FRESH_CONNECT = 74,
    /// Close the connection after the transfer.
    CCURL_LONG_FORBID_REUSE = 75,
    /// Send no body.
    CCURL_LONG_HTTPGET = 80,
    /// Verify the certificate's name; 2 means yes.
    CCURL_LONG_SSL_VERIFYHOST = 81,
    /// The HTTP version to negotiate; see CCURL_HTTP_VERSION_2TLS.
    CCURL_LONG_HTTP_VERSION = 84,
    /// The octets that are received at once, at most.
    CCURL_LONG_BUFFERSIZE = 98,
    /// Use no signals and install no handlers.
    CCURL_LONG_NOSIGNAL = 99,
    /// The address families to use; see CCURL_IPRESOLVE_V4.
    CCURL_LONG_IPRESOLVE = 113,
    /// The longest time for a connection, in milliseconds.
    CCURL_LONG_CONNECTTIMEOUT_MS = 156,
    /// Decode the content codings that ACCEPT_ENCODING asks for.
    CCURL_LONG_HTTP_CONTENT_DECODING = 158,
    /// Keep TLS sessions, to resume them.
    CCURL_LONG_SSL_SESSIONID_CACHE = 150,
    /// The schemes allowed, as bits; see CCURL_PROTOCOLS_HTTP_AND_HTTPS.
    CCURL_LONG_PROTOCOLS = 181,
    /// Probe idle peers of a long transfer.
    CCURL_LONG_TCP_KEEPALIVE = 213,
    /// The kind of RTSP request; see CCURL_RTSP_RECEIVE.
    CCURL_LONG_RTSP_REQUEST = 189,
    /// Leave dot segments in the path alone.
    CCURL_LONG_PATH_AS_IS = 234,
    /// Send the proxy its own header lines only; see CCURL_HEADER_SEPARATE.
    CCURL_LONG_HEADEROPT = 229,
    /// As the options without PROXY, for the TLS connection to an HTTPS proxy.
    CCURL_LONG_PROXY_SSL_VERIFYPEER = 248,
    CCURL_LONG_PROXY_SSL_VERIFYHOST = 249,
    CCURL_LONG_PROXY_SSLVERSION = 250,
    /// Keep a proxy's answer to CONNECT out of the header callback.
    CCURL_LONG_SUPPRESS_CONNECT_HEADERS = 265,
    /// The head start of IPv6 over IPv4, in milliseconds.
    CCURL_LONG_HAPPY_EYEBALLS_TIMEOUT_MS = 271,
    /// The octets of a body that are sent at once, at most.
    CCURL_LONG_UPLOAD_BUFFERSIZE = 280,
    /// Accept a response without a header.
    CCURL_LONG_HTTP09_ALLOWED = 285,
    /// The longest idle time after which a connection is used again, in seconds.
    CCURL_LONG_MAXAGE_CONN = 288,
    /// The longest time after its making for which a connection is used, in seconds (7.80).
    CCURL_LONG_MAXLIFETIME_CONN = 314,
    /// Don't wait for a name being resolved when the transfer is removed (7.87).
    CCURL_LONG_QUICK_EXIT = 322,
} ccurl_long_option;

/// Of this kind of request libcurl repeats none because its connection died, be it RTSP or HTTP; only those that a server refused.
enum { CCURL_RTSP_RECEIVE = 11 };
/// HTTP/1.1 only; HTTP/2 if TLS negotiates it, HTTP/1.1 otherwise; HTTP/2 without asking.
enum { CCURL_HTTP_VERSION_1_1 = 2, CCURL_HTTP_VERSION_2TLS = 4, CCURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE = 5 };
/// Any address family, IPv4 only, IPv6 only.
enum { CCURL_IPRESOLVE_ANY = 0, CCURL_IPRESOLVE_V4 = 1, CCURL_IPRESOLVE_V6 = 2 };
/// Header lines for the server and for the proxy apart.
enum { CCURL_HEADER_SEPARATE = 1 };
/// TLS 1.2 or later.
enum { CCURL_TLS_1_2 = 6 };
/// The bits of http and https.
enum { CCURL_PROTOCOLS_HTTP_AND_HTTPS = 3 };

/// Options whose value is a text that libcurl copies.
typedef enum {
    /// The absolute URL.
    CCURL_STRING_URL = 10002,
    /// The proxy; the empty text for none, whatever the environment says.
    CCURL_STRING_PROXY = 10004,
    /// The file of root certificates; NULL for none.
    CCURL_STRING_CAINFO = 10065,
    /// The folder of root certificates; NULL for none.
    CCURL_STRING_CAPATH = 10097,
    /// The file of root certificates for a proxy; NULL for none.
    CCURL_STRING_PROXY_CAINFO = 10246,
    /// The folder of root certificates for a proxy; NULL for none.
    CCURL_STRING_PROXY_CAPATH = 10247,
    /// The method.
    CCURL_STRING_CUSTOMREQUEST = 10036,
    /// The content codings to offer.
    CCURL_STRING_ACCEPT_ENCODING = 10102,
    /// The user and password for the proxy.
    CCURL_STRING_PROXYUSERNAME = 10175,
    CCURL_STRING_PROXYPASSWORD = 10176,
    /// The hosts that are reached without a proxy; the empty text for none, whatever the environment says.
    CCURL_STRING_NOPROXY = 10177,
    /// The Unix-domain socket to connect to instead of the host.
    CCURL_STRING_UNIX_SOCKET_PATH = 10231,
} ccurl_string_option;

/// Receives or gives octets; returns how many.
typedef size_t (*ccurl_data_function)(char *buffer, size_t size, size_t count, void *context);
/// Moves the reading position of the body; returns 0 if it did.
typedef int (*ccurl_seek_function)(void *context, int64_t offset, int origin);
/// Is told that a request is about to be sent on a connection; returns 0 to go on and 1 to abort.
typedef int (*ccurl_request_function)(void *context, char *peer_ip, char *local_ip, int peer_port, int local_port);

/// Is given words about what libcurl does, and other things that it sends and receives; returns 0.
typedef int (*ccurl_words_function)(ccurl_easy *easy, int kind, char *octets, size_t count, void *context);
/// The kind of words.
enum { CCURL_WORDS_TEXT = 0, CCURL_WORDS_TLS_RECEIVED = 5 };

/// Is given the TLS library's context of a connection that is about to be made; returns 0 to go on, or the transfer's result.
typedef int (*ccurl_tls_context_function)(ccurl_easy *easy, void *tls_context, void *context);
/// The kind of socket that a connection needs: the leading members of libcurl's struct curl_sockaddr.
struct ccurl_socket_kind {
    int family;
    int type;
    int protocol;
};
/// Makes the socket for a connection; returns it, or CCURL_NO_SOCKET.
typedef int (*ccurl_make_socket_function)(void *context, int purpose, struct ccurl_socket_kind *kind);
enum { CCURL_NO_SOCKET = -1 };
/// Makes a socket that no other program inherits, which libcurl's own may be.
int ccurl_make_socket(const struct ccurl_socket_kind *kind);

/// Is told that a name is about to be looked up; returns 0 to go on and 1 to fail the transfer.
typedef int (*ccurl_resolver_function)(void *resolver, void *reserved, void *context);

/// Reads octets of a file that are in memory; returns how many, or -1 if there are none or the file system can't tell.
ssize_t ccurl_read_held(int file, void *octets, size_t count, int64_t offset);

/// Closes a connection's socket, however long after the transfer that made it; returns 0.
typedef int (*ccurl_socket_closed_function)(void *context, int socket);

/// Returned by a reading function to abort the transfer.
enum { CCURL_READ_ABORT = 0x10000000 };
/// Returned by a reading or writing function that has, or takes, nothing for now.
enum { CCURL_PAUSE = 0x10000001 };
/// The directions that ccurl_easy_pause holds back.
enum { CCURL_PAUSE_NONE = 0, CCURL_PAUSE_RECEIVING = 1, CCURL_PAUSE_SENDING = 4 };

ccurl_easy *ccurl_easy_init(void);
void ccurl_easy_cleanup(ccurl_easy *easy);
/// Restores every option's default; connections, the DNS cache and TLS sessions stay.
void ccurl_easy_reset(ccurl_easy *easy);
int ccurl_easy_set_long(ccurl_easy *easy, ccurl_long_option option, long value);
int ccurl_easy_set_string(ccurl_easy *easy, ccurl_string_option option, const char *value);
/// Options whose value is a list of lines, which must outlive the transfer.
typedef enum {
    /// The request's header lines.
    CCURL_LIST_HTTPHEADER = 10023,
    /// Host names with ports and their addresses.
    CCURL_LIST_RESOLVE = 10203,
    /// The header lines for the proxy.
    CCURL_LIST_PROXYHEADER = 10228,
} ccurl_list_option;
int ccurl_easy_set_list(ccurl_easy *easy, ccurl_list_option option, const ccurl_list *lines);
/// Sets the body; libcurl copies it.
int ccurl_easy_set_copied_body(ccurl_easy *easy, const void *octets, int64_t count);
/// Sets a body that is read while it is sent.
int ccurl_easy_set_read_body(
    ccurl_easy *easy, ccurl_data_function read, ccurl_seek_function seek, void *context, int64_t count
);
/// Sets where the response's header lines go, one call for each.
int ccurl_easy_set_header_function(ccurl_easy *easy, ccurl_data_function function, void *context);
/// Sets where the response's body goes.
int ccurl_easy_set_write_function(ccurl_easy *easy, ccurl_data_function function, void *context);
/// Sets what is asked before each request on a connection (7.80).
int ccurl_easy_set_request_function(ccurl_easy *easy, ccurl_request_function function, void *context);
/// Sets what is told in words what libcurl does.
int ccurl_easy_set_words_function(ccurl_easy *easy, ccurl_words_function function, void *context);
/// Sets what prepares TLS connections, those to proxies included.
int ccurl_easy_set_tls_function(ccurl_easy *easy, ccurl_tls_context_function function, void *context);
/// Sets what makes sockets.
int ccurl_easy_set_make_socket_function(ccurl_easy *easy, ccurl_make_socket_function function, void *context);
/// Sets what closes the sockets that the transfer makes.
int ccurl_easy_set_socket_closed_function(ccurl_easy *easy, ccurl_socket_closed_function function, void *context);
/// Sets what is asked before names are looked up.
int ccurl_easy_set_resolver_function(ccurl_easy *easy, ccurl_resolver_function function, void *context);
/// Sets where the words of an error go: CCURL_ERROR_SIZE octets.
int ccurl_easy_set_error_buffer(ccurl_easy *easy, char *buffer);
/// Attaches a pointer to the transfer.
int ccurl_easy_set_context(ccurl_easy *easy, void *context);
/// The attached pointer, or NULL.
void *ccurl_easy_context(ccurl_easy *easy);

/// Holds directions back and lets the others go on; may call the writing function.
int ccurl_easy_pause(ccurl_easy *easy, int directions);

/// What is known of a transfer, as a number.
typedef enum {
    /// The octets of requests that were sent, those to proxies included and those of bodies not.
    CCURL_INFO_REQUEST_SIZE = 0x200000 + 12,
    /// The answer of a proxy to CONNECT; 0 if there was none.
    CCURL_INFO_HTTP_CONNECTCODE = 0x200000 + 22,
    /// The connections that were made.
    CCURL_INFO_NUM_CONNECTS = 0x200000 + 26,
    CCURL_INFO_LOCAL_PORT = 0x200000 + 42,
    /// Octets of the body, as they go over the wire.
    CCURL_INFO_SIZE_UPLOAD_T = 0x600000 + 7,
    CCURL_INFO_SIZE_DOWNLOAD_T = 0x600000 + 8,
    /// Microseconds from the beginning.
    CCURL_INFO_TOTAL_TIME_T = 0x600000 + 50,
    CCURL_INFO_NAMELOOKUP_TIME_T = 0x600000 + 51,
    CCURL_INFO_CONNECT_TIME_T = 0x600000 + 52,
    CCURL_INFO_STARTTRANSFER_TIME_T = 0x600000 + 54,
    CCURL_INFO_APPCONNECT_TIME_T = 0x600000 + 56,
} ccurl_info;
/// What is known of a transfer; 0 if libcurl can't tell.
int64_t ccurl_easy_info(ccurl_easy *easy, ccurl_info info);
/// The peer's address, or NULL; valid until the next transfer of the handle.
const char *ccurl_easy_peer_address(ccurl_easy *easy);

// MARK: Many transfers

/// Options whose value is a number.
typedef enum {
    /// The most idle connections kept.
    CCURL_MULTI_MAXCONNECTS = 6,
    /// How connections are shared; see CCURL_PIPE_MULTIPLEX.
    CCURL_MULTI_PIPELINING = 3,
} ccurl_multi_option;

/// Share an HTTP/2 connection, or use each for one transfer at a time.
enum { CCURL_PIPE_NOTHING = 0, CCURL_PIPE_MULTIPLEX = 2 };

/// What libcurl wants to know of a socket.
enum {
    CCURL_POLL_NONE = 0,
    CCURL_POLL_IN = 1,
    CCURL_POLL_OUT = 2,
    CCURL_POLL_INOUT = 3,
    CCURL_POLL_REMOVE = 4,
};

/// What happened on a socket, and the socket that means "the timer".
enum {
    CCURL_READABLE = 1,
    CCURL_WRITABLE = 2,
    CCURL_SOCKET_TIMEOUT = -1,
};

/// Is told what to watch a socket for; returns 0.
typedef int (*ccurl_socket_function)(
    ccurl_easy *easy, int socket, int interest, void *context, void *socket_context
);
/// Is told when to call with CCURL_SOCKET_TIMEOUT: after some milliseconds, or never (-1); returns 0.
typedef int (*ccurl_timer_function)(ccurl_multi *multi, long milliseconds, void *context);

/// Makes a multi handle whose descriptors no other program inherits.
ccurl_multi *ccurl_multi_init(void);
int ccurl_multi_cleanup(ccurl_multi *multi);
int ccurl_multi_set_long(ccurl_multi *multi, ccurl_multi_option option, long value);
int ccurl_multi_set_socket_function(ccurl_multi *multi, ccurl_socket_function function, void *context);
int ccurl_multi_set_timer_function(ccurl_multi *multi, ccurl_timer_function function, void *context);
int ccurl_multi_add(ccurl_multi *multi, ccurl_easy *easy);
int ccurl_multi_remove(ccurl_multi *multi, ccurl_easy *easy);
/// Moves the transfers of a socket on, or, for CCURL_SOCKET_TIMEOUT, those whose time has come.
int ccurl_multi_act(ccurl_multi *multi, int socket, int events);
/// Takes one finished transfer and its result; returns NULL if there is none.
ccurl_easy *ccurl_multi_next_finished(ccurl_multi *multi, int *code);

#endif
