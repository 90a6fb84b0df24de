import Foundation
public import Networking
public import OAuth2

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
