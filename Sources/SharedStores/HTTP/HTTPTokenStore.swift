public import Foundation
public import Networking
public import OAuth2

/// A token store on an HTTP server with conditional requests, which any number of hosts share.
///
/// ```swift
/// let store = try HTTPTokenStore(
///     URL(string: "https://storage.example/tokens")!,
///     keys: try RecordKeys(sealing: Secret(key)),
///     authenticator: authenticator
/// )
/// ```
///
/// Each record is a resource below the URL, named by a digest. The server needs `GET`, `PUT` and
/// `DELETE`, strong entity tags, and the preconditions `If-Match` and `If-None-Match`
/// ([RFC 9110, section 13.1](https://www.rfc-editor.org/rfc/rfc9110#section-13.1)). WebDAV
/// servers, and services and object stores that follow this, are suitable. Once per process, the
/// store checks with a resource `precondition-check` that the server evaluates preconditions.
///
/// HTTP doesn't tell of changes, so hosts that wait for one poll.
///
/// The store can't sign requests for Amazon S3; pass an authenticator that does. Google Cloud
/// Storage has other preconditions, and accepts only one write per second to an object.
public typealias HTTPTokenStore = SealedTokenStore<URL>

extension SealedTokenStore where Place == URL {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - url: The URL of the folder. Plain HTTP is accepted only for this machine.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    ///   - fields: Header fields for all requests, such as `x-ms-version`. The default is an empty
    ///     dictionary.
    ///   - authenticator: The authenticator of the requests. The default is `nil`. It may send a
    ///     request again only if the server has rejected its credential.
    ///   - transport: The transport, for other certificates and roots. The default is a
    ///     `CurlTransport`.
    ///   - timeout: The timeout of one request. The default is 3 seconds.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `insecureTransport` if the URL isn't confidential, or
    ///   `storeFailed` if it isn't an HTTP URL or contains a user, query or fragment.
    public init(
        _ url: URL,
        keys: RecordKeys,
        fields: [String: String] = [:],
        authenticator: (any URLRequestAuthenticator)? = nil,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(3),
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        let service = try StoreService(
            url,
            access: StoreService.Access(
                fields: fields,
                authenticator: authenticator,
                remedy: "check the authenticator and the permissions at the server"
            ),
            transport: transport,
            timeout: timeout,
            timeSource: timeSource
        )
        self.init(HTTPStorage(service), keys: keys, timeSource: timeSource)
    }
}
