import Foundation

/// An interceptor that adds `Content-Digest` to requests, and `Repr-Digest` if requested
/// ([RFC 9530](https://www.rfc-editor.org/rfc/rfc9530)).
///
/// ```swift
/// let client = NetworkClient(interceptors: [DigestSender()])
/// ```
///
/// Pass it before the interceptors that sign the request.
///
/// A request that has the field keeps it. The client compares the body with each digest in a
/// request, while it's sent if it's a file or a stream, and never completes a request whose digest
/// is wrong; see ``NetworkError/Code/digestMismatch``.
///
/// A file or replayable stream is read twice. For a body that can be sent only once, give the
/// digest in a header field of the request. A request without content doesn't get a digest, except
/// that the methods `POST`, `PUT` and `PATCH` send the one of zero bytes.
public struct DigestSender: WireInterceptor {
    private let fields: [HTTPDigest.Field]
    private let algorithm: HTTPDigest.Algorithm

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - fields: The fields to send. The default is `Content-Digest`. A request with a
    ///     `Content-Range` doesn't get a `Repr-Digest`, because its body is only a part.
    ///   - algorithm: The hash algorithm. The default is SHA-256.
    public init(_ fields: [HTTPDigest.Field] = [.content], algorithm: HTTPDigest.Algorithm = .sha256) {
        self.fields = fields
        self.algorithm = algorithm
    }

    /// Adds the digests of the body.
    ///
    /// - Throws: ``NetworkError`` with the code `bodyNotReplayable` if the body can be read only
    ///   once and has no digest, `invalidField` if its digest is malformed, or an error of reading
    ///   the body.
    public func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
        guard request.body.contentLength != 0 || request.method.anticipatesContent else {
            return try await next(request)
        }
        var request = request
        let isPartial = request.headers["Content-Range"] != nil
        let headers = request.headers
        var digest: HTTPDigest?
        for field in fields where field == .content || !isPartial {
            guard try HTTPDigest(field, in: headers) == nil else { continue }
            if digest == nil { digest = try await self.digest(of: request.body) }
            request.headers[field.rawValue] = digest?.fieldValue
        }
        return try await next(request)
    }

    private func digest(of body: HTTPBody) async throws -> HTTPDigest {
        guard body.isReplayable else {
            throw NetworkError(
                .bodyNotReplayable,
                "the body can be read only once; set its Content-Digest in the request's header fields"
            )
        }
        let hasher = try HTTPDigest.Hasher([algorithm])
        try await body.hash(hasher)
        return try hasher.finish()
    }
}

extension HTTPBody {
    /// The maximum size to hash on the threads that all tasks share, which takes a millisecond.
    static let longestHashedAtOnce = 1 << 20

    /// Adds the bytes to a hasher, on a thread that may block unless they are few.
    func hash(_ hasher: HTTPDigest.Hasher) async throws {
        if let contentLength, contentLength <= Self.longestHashedAtOnce, case .data(let data) = source {
            return try hasher.update(data)
        }
        try await offloading { try await read { part in try hasher.update(part) } }
    }
}
