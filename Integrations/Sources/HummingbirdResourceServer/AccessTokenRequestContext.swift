public import Foundation
public import Hummingbird
public import NIOCore
import NIOSSL
public import ResourceServer

/// A request context for the verified access token.
///
/// ``AuthorizedRequestContext`` is ready to use. An application's context needs one property:
///
/// ```swift
/// struct AppContext: AccessTokenRequestContext {
///     var coreContext: CoreRequestContextStorage
///     var authorization: RequestAuthorization?
///
///     init(source: Source) { coreContext = .init(source: source) }
/// }
/// ```
public protocol AccessTokenRequestContext: RequestContext {
    /// The authorization of the request; `nil` on a route without ``AccessTokenMiddleware``.
    var authorization: RequestAuthorization? { get set }

    /// Returns the certificate, as DER, that the client presented, for tokens that are bound to it.
    ///
    /// Behind a proxy that terminates TLS, read the field in which the proxy forwards the
    /// certificate. The proxy must remove the field from clients' requests. The default
    /// implementation returns `nil`, so that tokens bound to a certificate are rejected.
    ///
    /// - Parameter request: The request.
    /// - Returns: The certificate, or `nil`.
    /// - Throws: Any error. The response is then that of the error.
    func clientCertificateDER(of request: Request) async throws -> Data?
}

extension AccessTokenRequestContext {
    /// Returns `nil`.
    ///
    /// - Parameter request: The request.
    /// - Returns: `nil`.
    public func clientCertificateDER(of request: Request) async -> Data? { nil }

    /// The verified access token.
    ///
    /// - Throws: `HTTPError` with the status 500 on a route without ``AccessTokenMiddleware``.
    public var accessToken: VerifiedAccessToken {
        get throws {
            guard let authorization else {
                throw HTTPError(.internalServerError, message: "the route doesn't verify access tokens")
            }
            return authorization.token
        }
    }
}

/// The verified access token of a request, and its verifier.
public struct RequestAuthorization: Sendable {
    /// The verified token.
    public let token: VerifiedAccessToken
    let verifier: AccessTokenVerifier
}

/// A context with the verified access token and, with TLS, the client's certificate.
public struct AuthorizedRequestContext: AccessTokenRequestContext {
    /// The values that Hummingbird requires.
    public var coreContext: CoreRequestContextStorage
    /// The authorization of the request.
    public var authorization: RequestAuthorization?
    private let channel: any Channel

    /// Creates a context.
    ///
    /// - Parameter source: The source of the context.
    public init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// Returns the certificate that the client presented in the TLS handshake with this server.
    ///
    /// - Parameter request: The request.
    /// - Returns: The certificate, or `nil`.
    /// - Throws: An error of NIOSSL if the certificate can't be encoded.
    public func clientCertificateDER(of request: Request) async throws -> Data? {
        try await channel.clientCertificateDER
    }
}

extension Channel {
    /// The certificate, as DER, that the client presented; `nil` without one, or without TLS.
    ///
    /// For an application's context that keeps its source's channel.
    ///
    /// - Throws: An error of NIOSSL if the certificate can't be encoded.
    public var clientCertificateDER: Data? {
        get async throws {
            // A stream of HTTP/2 has the connection as its parent.
            for channel in [self, parent].compactMap(\.self) {
                guard let certificate = try? await channel.nioSSL_peerCertificate().get() else { continue }
                return Data(try certificate.toDERBytes())
            }
            return nil
        }
    }
}
