#ifndef CCURL_H
#define CCURL_H

// The part of libcurl's stable ABI that the transport uses, declared without libcurl's headers:
// building needs no -dev package. The first call opens the library, which FoundationNetworking has
// brought into the process, except into the program of a release (.ci/libcurl-on-first-use.c).
// Every function is safe to call without libcurl: functions that return a handle return NULL, the
// others an error or nothing.
//
// The values are libcurl's and never change (https://curl.se/libcurl/abi.html). libcurl's setters
// are variadic, which Swift can't call. Here each type of value has its own setter, and an option
// must be passed to the setter for its type.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "CCoding.h"

/// A transfer: libcurl's easy handle.
typedef struct ccurl_easy ccurl_easy;
/// A set of transfers and their connections: libcurl's multi handle.
typedef struct ccurl_multi ccurl_multi;
/// A list of header lines: libcurl's struct curl_slist, whose layout is part of its ABI.
typedef struct ccurl_list {
    char *line;
    struct ccurl_list *next;
} ccurl_list;

// MARK: The library

/// Returns whether libcurl is available. If not, the functions below have no effect.
bool ccurl_is_available(void);
/// Returns the version as 0xXXYYZZ, or 0 without libcurl.
uint32_t ccurl_version_number(void);
/// Returns the version as text, such as "7.88.1", or NULL.
const char *ccurl_version(void);
/// Returns the name of libcurl's TLS library, such as "OpenSSL/3.0.19", or NULL.
const char *ccurl_tls_backend(void);
/// The optional features of libcurl, as bits of ccurl_features.
enum {
    CCURL_FEATURE_HTTP2 = 1 << 16,
    CCURL_FEATURE_UNIX_SOCKETS = 1 << 19,
    CCURL_FEATURE_HTTPS_PROXY = 1 << 21,
};
/// Returns the features that this libcurl was built with.
int ccurl_features(void);
/// Returns the address of a function in libcurl's TLS library, or NULL if it can't be determined.
const void *ccurl_tls_function(const char *name);
/// Initializes the library for use from any thread. Returns 0 on success.
int ccurl_global_init(void);

// MARK: Results

/// The transfer results that the transport handles individually.
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
    CCURL_OUT_OF_MEMORY = 27,
    CCURL_OPERATION_TIMEDOUT = 28,
    CCURL_SSL_CONNECT_ERROR = 35,
    CCURL_BAD_FUNCTION_ARGUMENT = 43,
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
    /// Not one of libcurl's codes: libcurl isn't available.
    CCURL_UNAVAILABLE = -1,
};

/// Returns the message for a result; never NULL.
const char *ccurl_easy_strerror(int code);

// MARK: Transfers

/// The size of an error buffer, in bytes.
enum { CCURL_ERROR_SIZE = 256 };

/// Options whose value is a number or a Boolean (0 or 1).
typedef enum {
    /// The oldest TLS version to accept; see CCURL_TLS_1_2.
    CCURL_LONG_SSLVERSION = 32,
    /// Expect no body in the response, as for HEAD.
    CCURL_LONG_NOBODY = 44,
    /// Send a body.
    CCURL_LONG_POST = 47,
    /// Follow redirects.
    CCURL_LONG_FOLLOWLOCATION = 52,
    /// Verify the certificate chain.
    CCURL_LONG_SSL_VERIFYPEER = 64,
    /// The time to keep resolved addresses, in seconds.
    CCURL_LONG_DNS_CACHE_TIMEOUT = 92,
    /// Don't reuse a pooled connection.
    CCURL_LONG_FRESH_CONNECT = 74,
    /// Close the connection after the transfer.
    CCURL_LONG_FORBID_REUSE = 75,
    /// Send no body.
    CCURL_LONG_HTTPGET = 80,
    /// Verify the certificate's name; 2 means yes.
    CCURL_LONG_SSL_VERIFYHOST = 81,
    /// The HTTP version to negotiate; see CCURL_HTTP_VERSION_2TLS.
    CCURL_LONG_HTTP_VERSION = 84,
    /// The maximum number of bytes to receive at once.
    CCURL_LONG_BUFFERSIZE = 98,
    /// Use no signals and install no signal handlers.
    CCURL_LONG_NOSIGNAL = 99,
    /// The address families to use; see CCURL_IPRESOLVE_V4.
    CCURL_LONG_IPRESOLVE = 113,
    /// The connection timeout, in milliseconds.
    CCURL_LONG_CONNECTTIMEOUT_MS = 156,
    /// Decode the content codings listed in ACCEPT_ENCODING.
    CCURL_LONG_HTTP_CONTENT_DECODING = 158,
    /// Cache TLS sessions for resumption.
    CCURL_LONG_SSL_SESSIONID_CACHE = 150,
    /// The allowed schemes, as bits; see CCURL_PROTOCOLS_HTTP_AND_HTTPS.
    CCURL_LONG_PROTOCOLS = 181,
    /// The kind of RTSP request; see CCURL_RTSP_RECEIVE.
    CCURL_LONG_RTSP_REQUEST = 189,
    /// Keep dot segments in the path.
    CCURL_LONG_PATH_AS_IS = 234,
    /// Send the proxy only its own header lines; see CCURL_HEADER_SEPARATE.
    CCURL_LONG_HEADEROPT = 229,
    /// Like the options without PROXY, for the TLS connection to an HTTPS proxy.
    CCURL_LONG_PROXY_SSL_VERIFYPEER = 248,
    CCURL_LONG_PROXY_SSL_VERIFYHOST = 249,
    CCURL_LONG_PROXY_SSLVERSION = 250,
    /// Hide a proxy's response to CONNECT from the header callback.
    CCURL_LONG_SUPPRESS_CONNECT_HEADERS = 265,
    /// The head start of IPv6 over IPv4, in milliseconds.
    CCURL_LONG_HAPPY_EYEBALLS_TIMEOUT_MS = 271,
    /// The maximum number of body bytes to send at once.
    CCURL_LONG_UPLOAD_BUFFERSIZE = 280,
    /// Accept a response without a header section (HTTP/0.9).
    CCURL_LONG_HTTP09_ALLOWED = 285,
    /// The longest time a reusable connection may have been idle, in seconds.
    CCURL_LONG_MAXAGE_CONN = 288,
    /// The longest time a connection may be used after it was opened, in seconds.
    CCURL_LONG_MAXLIFETIME_CONN = 314,
    /// Don't wait for pending name resolution when removing the transfer (7.87).
    CCURL_LONG_QUICK_EXIT = 322,
} ccurl_long_option;

/// libcurl doesn't retry this kind of request when its connection dies, whether the protocol is
/// RTSP or HTTP. It only retries after a server refused the stream.
enum { CCURL_RTSP_RECEIVE = 11 };
/// HTTP/1.1 only; HTTP/2 if TLS negotiates it, otherwise HTTP/1.1; HTTP/2 without negotiation.
enum { CCURL_HTTP_VERSION_1_1 = 2, CCURL_HTTP_VERSION_2TLS = 4, CCURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE = 5 };
/// IPv4 only, IPv6 only.
enum { CCURL_IPRESOLVE_V4 = 1, CCURL_IPRESOLVE_V6 = 2 };
/// Separate header lines for the server and the proxy.
enum { CCURL_HEADER_SEPARATE = 1 };
/// TLS 1.2 or later.
enum { CCURL_TLS_1_2 = 6 };
/// The bits of http and https.
enum { CCURL_PROTOCOLS_HTTP_AND_HTTPS = 3 };

/// Options whose value is a string that libcurl copies.
typedef enum {
    /// The absolute URL.
    CCURL_STRING_URL = 10002,
    /// The proxy. An empty string disables proxies and ignores the environment.
    CCURL_STRING_PROXY = 10004,
    /// The file of root certificates, or NULL.
    CCURL_STRING_CAINFO = 10065,
    /// The directory of root certificates, or NULL.
    CCURL_STRING_CAPATH = 10097,
    /// The file of root certificates for a proxy, or NULL.
    CCURL_STRING_PROXY_CAINFO = 10246,
    /// The directory of root certificates for a proxy, or NULL.
    CCURL_STRING_PROXY_CAPATH = 10247,
    /// The method.
    CCURL_STRING_CUSTOMREQUEST = 10036,
    /// The content codings to offer.
    CCURL_STRING_ACCEPT_ENCODING = 10102,
    /// The user name and password for the proxy.
    CCURL_STRING_PROXYUSERNAME = 10175,
    CCURL_STRING_PROXYPASSWORD = 10176,
    /// The hosts to connect to without a proxy. An empty string means none and ignores the
    /// environment.
    CCURL_STRING_NOPROXY = 10177,
    /// The path of the Unix domain socket to connect to instead of the host.
    CCURL_STRING_UNIX_SOCKET_PATH = 10231,
    /// The target of the request line instead of the URL's path and query.
    CCURL_STRING_REQUEST_TARGET = 10266,
} ccurl_string_option;

/// Receives or provides bytes. Returns their number.
typedef size_t (*ccurl_data_function)(char *buffer, size_t size, size_t count, void *context);
/// Moves the read position in the body. Returns 0 on success.
typedef int (*ccurl_seek_function)(void *context, int64_t offset, int origin);
/// Runs before a request is sent on a connection. Returns 0 to continue or 1 to abort.
typedef int (*ccurl_request_function)(void *context, char *peer_ip, char *local_ip, int peer_port, int local_port);

/// Receives libcurl's debug messages and the other data that it sends and receives. Returns 0.
typedef int (*ccurl_words_function)(ccurl_easy *easy, int kind, char *octets, size_t count, void *context);
/// The kind of debug data.
enum { CCURL_WORDS_TEXT = 0, CCURL_WORDS_TLS_RECEIVED = 5 };

/// Receives the TLS library's context for a new connection. Returns 0 to continue, or the
/// transfer's result.
typedef int (*ccurl_tls_context_function)(ccurl_easy *easy, void *tls_context, void *context);
/// The kind of socket for a connection: the leading members of libcurl's struct curl_sockaddr.
struct ccurl_socket_kind {
    int family;
    int type;
    int protocol;
};
/// Creates the socket for a connection. Returns the socket, or -1.
typedef int (*ccurl_make_socket_function)(void *context, int purpose, struct ccurl_socket_kind *kind);
/// Creates a socket that child processes don't inherit. Sockets that libcurl creates may be
/// inherited.
int ccurl_make_socket(const struct ccurl_socket_kind *kind);

/// Runs before a name is resolved. Returns 0 to continue or 1 to fail the transfer.
typedef int (*ccurl_resolver_function)(void *resolver, void *reserved, void *context);

/// Reads bytes of a file that are already in memory. Returns their number, or -1 if none are in
/// memory or the file system can't tell.
ssize_t ccurl_read_held(int file, void *octets, size_t count, int64_t offset);

/// Closes a connection's socket, possibly long after the transfer that opened it. Returns 0.
typedef int (*ccurl_socket_closed_function)(void *context, int socket);

/// Returned by a read function to abort the transfer.
enum { CCURL_READ_ABORT = 0x10000000 };
/// Returned by a read function with no data yet, or by a write function that can't accept data yet.
enum { CCURL_PAUSE = 0x10000001 };
/// The directions that ccurl_easy_pause pauses.
enum { CCURL_PAUSE_RECEIVING = 1, CCURL_PAUSE_SENDING = 4 };

ccurl_easy *ccurl_easy_init(void);
void ccurl_easy_cleanup(ccurl_easy *easy);
/// Resets every option to its default. Keeps connections, the DNS cache and TLS sessions.
void ccurl_easy_reset(ccurl_easy *easy);
int ccurl_easy_set_long(ccurl_easy *easy, ccurl_long_option option, long value);
int ccurl_easy_set_string(ccurl_easy *easy, ccurl_string_option option, const char *value);
/// Options whose value is a list of lines, which must outlive the transfer.
typedef enum {
    /// The request's header lines.
    CCURL_LIST_HTTPHEADER = 10023,
    /// Host names with ports, and their addresses.
    CCURL_LIST_RESOLVE = 10203,
    /// The header lines for the proxy.
    CCURL_LIST_PROXYHEADER = 10228,
} ccurl_list_option;
int ccurl_easy_set_list(ccurl_easy *easy, ccurl_list_option option, const ccurl_list *lines);
/// Sets the body, which libcurl copies.
int ccurl_easy_set_copied_body(ccurl_easy *easy, const void *octets, int64_t count);
/// Sets the size of a body that libcurl reads while sending it, or -1 if it's unknown.
int ccurl_easy_set_body_size(ccurl_easy *easy, int64_t count);
/// The functions that libcurl calls during a transfer. NULL leaves a function as it is.
typedef struct ccurl_functions {
    /// Receives the response's header lines, one per call.
    ccurl_data_function header;
    /// Receives the response's body.
    ccurl_data_function write;
    /// Provides the request's body.
    ccurl_data_function read;
    ccurl_seek_function seek;
    /// Runs before each request on a connection.
    ccurl_request_function request;
    /// Receives debug messages.
    ccurl_words_function words;
    /// Prepares TLS connections, including those to proxies.
    ccurl_tls_context_function tls;
    ccurl_make_socket_function make_socket;
    ccurl_resolver_function resolver;
} ccurl_functions;
/// Sets functions, and the context that they're called with.
int ccurl_easy_set_functions(ccurl_easy *easy, const ccurl_functions *functions, void *context);
/// Sets the function that closes the sockets that the transfer opens.
int ccurl_easy_set_socket_closed_function(ccurl_easy *easy, ccurl_socket_closed_function function, void *context);
/// Sets the buffer for error messages, with room for CCURL_ERROR_SIZE bytes.
int ccurl_easy_set_error_buffer(ccurl_easy *easy, char *buffer);
/// Attaches a pointer to the transfer.
int ccurl_easy_set_context(ccurl_easy *easy, void *context);
/// Returns the attached pointer, or NULL.
void *ccurl_easy_context(ccurl_easy *easy);

/// Pauses the given directions and resumes the others. May call the write function.
int ccurl_easy_pause(ccurl_easy *easy, int directions);

/// Measurements of a transfer.
typedef enum {
    /// The number of request bytes sent, including requests to proxies but not bodies.
    CCURL_INFO_REQUEST_SIZE = 0x200000 + 12,
    /// The status code of a proxy's response to CONNECT, or 0.
    CCURL_INFO_HTTP_CONNECTCODE = 0x200000 + 22,
    /// The number of connections opened.
    CCURL_INFO_NUM_CONNECTS = 0x200000 + 26,
    CCURL_INFO_LOCAL_PORT = 0x200000 + 42,
    /// Body bytes, as transferred.
    CCURL_INFO_SIZE_UPLOAD_T = 0x600000 + 7,
    CCURL_INFO_SIZE_DOWNLOAD_T = 0x600000 + 8,
    /// Microseconds since the start.
    CCURL_INFO_NAMELOOKUP_TIME_T = 0x600000 + 51,
    CCURL_INFO_CONNECT_TIME_T = 0x600000 + 52,
    CCURL_INFO_STARTTRANSFER_TIME_T = 0x600000 + 54,
    CCURL_INFO_APPCONNECT_TIME_T = 0x600000 + 56,
} ccurl_info;
/// Returns a measurement of a transfer, or 0 if libcurl doesn't have it.
int64_t ccurl_easy_info(ccurl_easy *easy, ccurl_info info);
/// Returns the peer's address, or NULL. Valid until the handle's next transfer.
const char *ccurl_easy_peer_address(ccurl_easy *easy);
/// Returns the socket of the last connection, or -1 if libcurl doesn't have it any more.
int ccurl_easy_socket(ccurl_easy *easy);

// MARK: Multi handles

/// Options whose value is a number.
typedef enum {
    /// The maximum number of idle connections.
    CCURL_MULTI_MAXCONNECTS = 6,
    /// The mode of connection sharing; see CCURL_PIPE_MULTIPLEX.
    CCURL_MULTI_PIPELINING = 3,
    /// The maximum number of transfers that share a connection.
    CCURL_MULTI_MAX_CONCURRENT_STREAMS = 16,
} ccurl_multi_option;

/// Use each connection for one transfer at a time, or share an HTTP/2 connection.
enum { CCURL_PIPE_NOTHING = 0, CCURL_PIPE_MULTIPLEX = 2 };

/// The events that libcurl waits for on a socket.
enum {
    CCURL_POLL_IN = 1,
    CCURL_POLL_OUT = 2,
    CCURL_POLL_REMOVE = 4,
};

/// The events on a socket, and the value that stands for the timer instead of a socket.
enum {
    CCURL_READABLE = 1,
    CCURL_WRITABLE = 2,
    CCURL_SOCKET_TIMEOUT = -1,
};

/// Receives the events to watch a socket for. Returns 0.
typedef int (*ccurl_socket_function)(
    ccurl_easy *easy, int socket, int interest, void *context, void *socket_context
);
/// Receives the delay in milliseconds before the next call with CCURL_SOCKET_TIMEOUT; -1 stops the
/// timer. Returns 0.
typedef int (*ccurl_timer_function)(ccurl_multi *multi, long milliseconds, void *context);

/// Creates a multi handle whose descriptors child processes don't inherit.
ccurl_multi *ccurl_multi_init(void);
int ccurl_multi_cleanup(ccurl_multi *multi);
int ccurl_multi_set_long(ccurl_multi *multi, ccurl_multi_option option, long value);
int ccurl_multi_set_socket_function(ccurl_multi *multi, ccurl_socket_function function, void *context);
int ccurl_multi_set_timer_function(ccurl_multi *multi, ccurl_timer_function function, void *context);
int ccurl_multi_add(ccurl_multi *multi, ccurl_easy *easy);
int ccurl_multi_remove(ccurl_multi *multi, ccurl_easy *easy);
/// Continues the transfers of a socket or, for CCURL_SOCKET_TIMEOUT, those whose timer has fired.
int ccurl_multi_act(ccurl_multi *multi, int socket, int events);
/// Removes one finished transfer from the queue and stores its result. Returns NULL if there aren't
/// any.
ccurl_easy *ccurl_multi_next_finished(ccurl_multi *multi, int *code);

#endif
