import Foundation
public import FoundationNetworking

/// An interceptor that asks for digests and verifies those of responses
/// ([RFC 9530](https://www.rfc-editor.org/rfc/rfc9530)).
///
/// ```swift
/// let client = NetworkClient(interceptors: [DigestVerifier(isRequired: true), cache])
/// ```
///
/// Pass it before the interceptors that change or store responses.
///
/// It verifies `Content-Digest`, and `Repr-Digest` if the content is the whole representation, in
/// the header or trailer fields. Each supported algorithm has to match. A stream throws at its end
/// if its digest is wrong, so don't use its bytes before the end as if they were verified.
///
/// A digest is about the coded content. The interceptor therefore requests the content without a
/// coding, unless the request has an `Accept-Encoding`. If the server uses a coding nevertheless
/// and the transport decodes it, the request fails with ``NetworkError/Code/digestUnverifiable``.
///
/// Responses to `HEAD` and responses with the status 204 or 304 have no content, so their digests
/// aren't verified.
public struct DigestVerifier: RequestInterceptor {
    private let isRequired: Bool
    private let preferences: HTTPDigest.Preferences

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - isRequired: Whether an accepted response in 200…299 with content must have a digest. The
    ///     default is `false`: an attacker can remove the digest.
    ///   - algorithms: The algorithms to ask for with `Want-Content-Digest`, the most preferred
    ///     first. The default is SHA-256 and then SHA-512. Responses with any of the two are
    ///     verified.
    public init(isRequired: Bool = false, preferring algorithms: [HTTPDigest.Algorithm] = [.sha256, .sha512]) {
        self.isRequired = isRequired
        preferences = HTTPDigest.Preferences(algorithms)
    }

    /// Asks for a digest of content without a coding, in the fields that the request doesn't have.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        var request = try request.get()
        let fields = [
            (HTTPDigest.Field.content.preferenceName, preferences.fieldValue), ("Accept-Encoding", "identity"),
        ]
        for (name, value) in fields where !value.isEmpty { request.setDefaultField(name, value) }
        return request
    }

    /// Verifies the digests of a response, or lets its stream verify them at the end.
    ///
    /// - Throws: ``NetworkError`` with the code `digestMismatch`, `digestMissing`,
    ///   `digestUnverifiable` if the content was decoded, or `invalidField` if a digest is
    ///   malformed.
    public func interceptResponse(
        _ response: HTTPResponse,
        for request: URLRequest,
        context: InterceptorContext
    ) async throws -> HTTPResponse {
        guard request.httpMethod != "HEAD", ![204, 304].contains(response.status) else { return response }
        let isAccepted = response.isSuccessful && context.traits.acceptedStatuses.contains(response.status)
        let verification = ContentVerification(
            of: response,
            method: request.httpMethod ?? "GET",
            isRequired: isRequired && isAccepted
        )
        return try await verification.verified(response)
    }
}
