public import Foundation
public import Networking
public import OAuth2

/// A Vault or OpenBao server, reached by its HTTP API.
///
/// ```swift
/// let server = try VaultServer(
///     URL(string: "https://vault.example:8200")!,
///     token: .file("/run/vault/token")
/// )
/// ```
///
/// Each request is sent once. If its outcome is unknown, the caller reads what has become of it.
/// Only a request that the server rejects with 429 is repeated, after the time in `Retry-After`.
///
/// Pass the address of the active node, or of a load balancer that prefers it. Redirects of standby
/// nodes are errors, because they would take the token to another host. Performance standbys of
/// Vault and standbys of OpenBao can answer reads with data that's behind by some time.
public struct VaultServer: Sendable {
    let service: StoreService

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - url: The URL of the server, without `/v1`. Plain HTTP is accepted only for this machine.
    ///   - token: The client token. A token that expires needs a file that Vault Agent or another
    ///     program renews. The default is `nil`, for a Vault Proxy that adds the token.
    ///   - namespace: The namespace, such as `teams/reports`. The default is `nil`.
    ///   - readsActiveNode: A Boolean value that indicates whether standby nodes have to forward
    ///     all requests to the active node. The server needs `allow_forwarding_via_header` for it.
    ///     The default is `false`.
    ///   - transport: The transport, for other certificates and roots. The default is a
    ///     `CurlTransport`.
    ///   - timeout: The timeout of one request. The default is 3 seconds.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `insecureTransport` if the URL isn't confidential, or
    ///   `storeFailed` if it isn't an HTTP URL or contains a user, query or fragment, or if the
    ///   namespace is invalid.
    public init(
        _ url: URL,
        token: StoreCredential? = nil,
        namespace: String? = nil,
        readsActiveNode: Bool = false,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(3),
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        // Vault Agent can require the first field, as a protection from request forgery.
        var fields = ["X-Vault-Request": "true"]
        if let namespace {
            guard StoreService.isPlainPath(namespace) else {
                throw OAuth2Error(.storeFailed, "a Vault namespace must be names with slashes between them")
            }
            fields["X-Vault-Namespace"] = namespace
        }
        if readsActiveNode { fields["X-Vault-Forward"] = "active-node" }
        service = try StoreService(
            url,
            access: StoreService.Access(
                fields: fields,
                credential: token.map { ("X-Vault-Token", "", $0) },
                remedy: "the token may have expired, or needs a policy for the data and metadata of the path",
                isUnprocessedIfLimited: true
            ),
            transport: transport,
            timeout: timeout,
            timeSource: timeSource
        )
    }
}
