import Foundation
public import Networking
public import OAuth2
internal import OpenSSLCrypto
import TokenGeneration

/// An interceptor that verifies the signatures of responses.
///
/// ```swift
/// let client = NetworkClient(interceptors: [
///     ResponseVerifier(verifier),
///     RequestSigner(signer),
/// ])
/// ```
///
/// A response without a valid signature fails with the ``HTTPSignatureError`` of the verifier, and
/// no caller and no earlier interceptor sees it. Redirects are verified before they are followed.
/// The components with `req` come from the request as it was sent.
///
/// The content must arrive as it was hashed, so the interceptor asks for `identity`, unless the
/// request has an `Accept-Encoding`. If the transport decodes the content anyway, the response
/// fails with ``HTTPSignatureError/Code/contentDecoded``. A streamed body is checked while
/// it's read and throws a `NetworkError` with the code `digestMismatch` at its end.
public struct ResponseVerifier: WireInterceptor {
    private let verifier: MessageVerifier
    private let origins: ResourceRule?
    private let observe: (@Sendable (VerifiedMessage) -> Void)?

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - verifier: The verifier, with a profile for responses.
    ///   - origins: The origins whose responses must be signed. The default is `nil`, for all.
    ///   - observe: A closure that receives each verified response, for logs.
    public init(
        _ verifier: MessageVerifier,
        origins: ResourceRule? = nil,
        observe: (@Sendable (VerifiedMessage) -> Void)? = nil
    ) {
        self.verifier = verifier
        self.origins = origins
        self.observe = observe
    }

    /// Asks for content without a content coding, and verifies the response, whose streamed body
    /// then throws at its end if its digest is wrong.
    ///
    /// - Throws: ``HTTPSignatureError`` as `MessageVerifier.verify(_:body:)` does, and with the
    ///   codes `contentDecoded` and `invalidProfile`.
    public func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
        guard try isVerified(request) else { return try await next(request) }
        var request = request
        if request.headers["Accept-Encoding"] == nil { request.headers["Accept-Encoding"] = "identity" }
        let response = try await next(request)
        // With the signature, which a later interceptor may have added.
        return try await verified(response, to: next.sent ?? request)
    }

    private func verified(
        _ response: HTTPTransportResponse,
        to request: HTTPRequest
    ) async throws -> HTTPTransportResponse {
        var message = HTTPMessage(
            status: response.status,
            headers: response.headers,
            trailers: response.trailers,
            request: HTTPMessage(request)
        )
        message.hasCombinedFields = response.hasCombinedFields
        var content =
            response.stream == nil
            ? MessageVerifier.Content(response.body) : MessageVerifier.Content(streamed: response.headers)
        content.isDecoded = response.isDecoded
        content.isAbandoned = response.isCut
        let (verified, checks) = try await verifier.verify(message, content)
        observe?(verified)
        guard let stream = response.stream else { return response }
        var response = response
        response.stream = Self.checked(stream, checks)
        return response
    }

    private func isVerified(_ request: HTTPRequest) throws(HTTPSignatureError) -> Bool {
        try origins?.includes(HTTPOrigin(request.url), of: "verifier") ?? true
    }

    private static func checked(_ stream: HTTPResponseBody, _ checks: [ContentCheck]) -> HTTPResponseBody {
        HTTPResponseBody { deliver in
            do {
                for try await part in DigestCheckedBody(base: stream, checks: checks) { try await deliver(part) }
            } catch let error as HTTPSignatureError {
                throw NetworkError(
                    .digestMismatch,
                    "the response's content isn't the one that was signed; discard what was received",
                    cause: error
                )
            }
            return stream.trailers
        }
    }
}

/// Nonces that a server hands out in `Accept-Signature`, without storing them
/// ([RFC 9421 §7.2.2](https://www.rfc-editor.org/rfc/rfc9421#section-7.2.2)).
///
/// A captured signature can't have a nonce that the server is yet to issue, so they also protect
/// against signatures made in advance. Each contains its time and is authenticated, so servers with
/// the same secret accept each other's nonces. A replay cache makes sure that each is used once.
public struct SignatureNonces: Sendable {
    /// The time for which a nonce is accepted.
    public let lifetime: Duration
    private let code: HMAC

    private static let randomSize = 16
    private static let codeSize = 16

    /// Creates nonces from a secret.
    ///
    /// - Parameters:
    ///   - secret: The secret that servers share. The default is `nil`, for a new one.
    ///   - lifetime: The time for which a nonce is accepted. The default is 5 minutes.
    /// - Throws: ``HTTPSignatureError`` with the code `invalidProfile` if the secret is empty.
    public init(secret: Secret? = nil, lifetime: Duration = .seconds(300)) throws(HTTPSignatureError) {
        do {
            let octets = try secret.map { $0.expose { Array($0.utf8) } } ?? SecureRandom.bytes(count: 32)
            code = try octets.withBytes { bytes throws(CryptoError) in
                try HMAC(.sha256, key: SecretBytes(copying: bytes))
            }
        } catch {
            throw HTTPSignatureError(.invalidProfile, "the secret of nonces is empty or missing", cause: error)
        }
        self.lifetime = max(lifetime, .seconds(1))
    }

    /// Returns a new nonce, or `nil` if OpenSSL fails.
    func nonce(at date: Date) -> String? {
        guard let random = try? SecureRandom.bytes(count: Self.randomSize) else { return nil }
        let seconds = UInt64(clamping: max(date.timeIntervalSince1970, 0))
        let content = (0..<8).map { UInt8(truncatingIfNeeded: seconds >> (56 - 8 * UInt64($0))) } + random
        guard let code = code(of: content) else { return nil }
        return Base64URL.encode(content + code)
    }

    func isIssued(_ nonce: String, at date: Date, clockSkew: TimeInterval) -> Bool {
        guard let octets = try? Base64URL.decode(nonce), octets.count == 8 + Self.randomSize + Self.codeSize else {
            return false
        }
        let content = Array(octets.dropLast(Self.codeSize))
        let found = Array(octets.suffix(Self.codeSize))
        guard let expected = code(of: content),
            found.withBytes({ found in expected.withBytes { ConstantTime.areEqual(found, $0) } })
        else { return false }
        let seconds = content.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let age = date.timeIntervalSince1970 - TimeInterval(seconds)
        return age >= -clockSkew && age <= lifetime / .seconds(1) + clockSkew
    }

    private func code(of content: [UInt8]) -> [UInt8]? {
        let input = Array("HTTP message signature nonce".utf8) + content
        return (try? input.withBytes { bytes throws(CryptoError) in try code.authenticationCode(for: bytes) })
            .map { Array($0.prefix(Self.codeSize)) }
    }
}
