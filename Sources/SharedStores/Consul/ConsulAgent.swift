public import Foundation
public import Networking
public import OAuth2

/// A Consul agent or server, reached by its HTTP API.
///
/// ```swift
/// let agent = try ConsulAgent(
///     URL(string: "https://consul.example:8501")!,
///     token: .secret(Secret(token))
/// )
/// ```
///
/// Each request is sent once. If its outcome is unknown, the caller reads what has become of it.
public struct ConsulAgent: Sendable {
    let service: StoreService

    /// Creates an agent.
    ///
    /// - Parameters:
    ///   - url: The URL of an agent or a server, without `/v1`. Plain HTTP is accepted only for
    ///     this machine.
    ///   - token: The ACL token. The default is `nil`, for a cluster without access control.
    ///   - transport: The transport, for other certificates and roots. The default is a
    ///     `CurlTransport`.
    ///   - timeout: The timeout of one request. The default is 3 seconds.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `insecureTransport` if the URL isn't confidential, or
    ///   `storeFailed` if it isn't an HTTP URL or contains a user, query or fragment.
    public init(
        _ url: URL,
        token: StoreCredential? = nil,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(3),
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        service = try StoreService(
            url,
            access: StoreService.Access(
                credential: token.map { ("X-Consul-Token", "", $0) },
                remedy: "the ACL token needs a policy with write on the key prefix"
            ),
            transport: transport,
            timeout: timeout,
            timeSource: timeSource
        )
    }
}
