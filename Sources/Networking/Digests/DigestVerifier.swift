/// An interceptor that asks for digests and verifies those of responses
/// ([RFC 9530](https://www.rfc-editor.org/rfc/rfc9530)).
///
/// ```swift
/// let client = NetworkClient(interceptors: [cache, DigestVerifier(isRequired: true)])
/// ```
///
/// No cache and no earlier interceptor gets a response before it's verified.
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
public struct DigestVerifier: WireInterceptor {
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

    /// Asks for a digest of content without a coding, in the fields that the request doesn't have,
    /// and verifies the response or lets its stream verify it at the end.
    ///
    /// - Throws: ``NetworkError`` with the code `digestMismatch`, `digestMissing`,
    ///   `digestUnverifiable` if the content was decoded, or `invalidField` if a digest is
    ///   malformed.
    public func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
        var request = request
        let wanted = preferences.fieldValue
        if !wanted.isEmpty { request.headers.setDefault(HTTPDigest.Field.content.preferenceName, wanted) }
        request.headers.setDefault("Accept-Encoding", "identity")
        let response = try await next(request)
        // The content of a redirect may be missing.
        guard request.method != .head, ![204, 304].contains(response.status), !response.isCut else { return response }
        let isAccepted =
            (200...299).contains(response.status)
            && next.context.traits.acceptedStatuses.contains(response.status)
        let verification = ContentVerification(
            of: response,
            method: request.method,
            isRequired: isRequired && isAccepted
        )
        return try await verification.verified(response)
    }
}
