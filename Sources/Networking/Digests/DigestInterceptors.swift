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

struct ContentVerification: Sendable {
    private let fields: [HTTPDigest.Field]
    private let isRequired: Bool

    init(of response: HTTPTransportResponse, method: HTTPMethod, isRequired: Bool) {
        // A 206 has a part of the representation. A response to an unsafe method without content
        // can have the digest of the changed resource (RFC 9530 §3.1).
        let isWhole = response.status != 206 && (method == .get || response.mayHaveContent)
        fields = isWhole ? [.content, .representation] : [.content]
        self.isRequired = isRequired
    }

    /// Returns a stream that throws at its end if the response isn't in memory.
    func verified(_ response: HTTPTransportResponse) async throws -> HTTPTransportResponse {
        let early = try fields.digests(in: response.headers)
        guard let body = response.stream else {
            let digests = try early.isEmpty ? fields.digests(in: response.trailers) : early
            guard !digests.isEmpty else { return try unlessRequired(response) }
            try checkCoding(of: response)
            let hasher = try HTTPDigest.Hasher(digests.algorithms)
            try await HTTPBody.data(response.body).hash(hasher)
            try Self.check(digests, try hasher.finish())
            return response
        }
        // The trailer fields, which arrive after the content, may have any algorithm.
        guard !early.isEmpty || isRequired || announcesDigest(response.headers) else { return response }
        try checkCoding(of: response)
        let algorithms = early.isEmpty ? HTTPDigest.Algorithm.allCases : early.algorithms
        var response = response
        let hasher = try HTTPDigest.Hasher(algorithms)
        response.stream = HTTPResponseBody { deliver in
            for try await part in body {
                try hasher.update(part)
                try await deliver(part)
            }
            let digests = try early.isEmpty ? fields.digests(in: body.trailers) : early
            guard !digests.isEmpty else { return try unlessRequired(body.trailers) }
            try Self.check(digests, try hasher.finish())
            return body.trailers
        }
        return response
    }

    /// [RFC 9110 §6.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-6.6.2).
    private func announcesDigest(_ headers: HTTPHeaders) -> Bool {
        headers.values(for: "Trailer").contains { value in
            value.asciiOnly.split(separator: ",").contains { announced in
                fields.contains { $0.rawValue.equalsIgnoringASCIICase(announced.trimmingHTTPWhitespace) }
            }
        }
    }

    private func unlessRequired<Value>(_ value: Value) throws(NetworkError) -> Value {
        guard isRequired else { return value }
        throw NetworkError(
            .digestMissing,
            "the response has no SHA-256 or SHA-512 digest, which is required; don't use its content"
        )
    }

    private func checkCoding(of response: HTTPTransportResponse) throws(NetworkError) {
        guard response.isDecoded else { return }
        throw NetworkError(
            .digestUnverifiable,
            "the response's digest is about its coded content, which was decoded; "
                + "send “Accept-Encoding: identity” or disable decodesContent"
        )
    }

    private static func check(_ digests: [HTTPDigest], _ computed: HTTPDigest) throws(NetworkError) {
        guard !digests.allMatch(computed) else { return }
        throw NetworkError(.digestMismatch, "the response's content doesn't match its digest; don't use it")
    }
}

extension HTTPTransportResponse {
    /// The value is `true` if the length isn't known.
    fileprivate var mayHaveContent: Bool {
        stream == nil ? !body.isEmpty : headers["Content-Length"].flatMap { Int($0) } != 0
    }
}

extension HTTPRequest {
    var hasDigest: Bool { HTTPDigest.Field.allCases.contains { headers[$0.rawValue] != nil } }

    /// Compares the body with the request's digests, now or while it's sent, so that no request
    /// with a wrong one is ever complete.
    ///
    /// - Throws: ``NetworkError`` with the code `digestMismatch` if a body in memory has another
    ///   digest, or `invalidField` if a digest is malformed.
    mutating func enforceDigests() async throws {
        let digests = try claimedDigests
        guard !digests.isEmpty else { return }
        let hasher = try HTTPDigest.Hasher(digests.algorithms)
        switch body.source {
        case .file(let url, let length) where length > 0:
            body = .checking(FileReading.producer(url, length: length), length: length, isReplayable: true, digests)
            return
        case .stream(let length, let isReplayable, let producer) where !isEmptyStream:
            body = .checking(producer, length: length, isReplayable: isReplayable, digests)
            return
        case .data: try await body.hash(hasher)
        case .none, .file, .stream: break
        }
        guard digests.allMatch(try hasher.finish()) else {
            throw NetworkError(
                .digestMismatch,
                "the request's body doesn't match its digest; nothing was sent. Remove the digest or correct the body"
            )
        }
    }

    private var claimedDigests: [HTTPDigest] {
        get throws(NetworkError) {
            // Of a part or without content, `Repr-Digest` is about other bytes.
            let isWhole = body.contentLength != 0 && Self.partialFields.allSatisfy { headers[$0] == nil }
            return try (isWhole ? [.content, .representation] : [.content]).digests(in: headers)
        }
    }

    /// The fields of requests that send a part of a representation: a range, or a part of a
    /// resumable upload (draft-ietf-httpbis-resumable-upload).
    private static let partialFields = ["Content-Range", "Upload-Complete", "Upload-Offset"]

    /// A Boolean value that indicates whether transports send an empty body instead of the stream.
    private var isEmptyStream: Bool { body.contentLength ?? headers["Content-Length"].flatMap { Int($0) } == 0 }
}

extension HTTPBody {
    /// The transports don't complete a request whose producer fails.
    fileprivate static func checking(
        _ producer: @escaping Producer,
        length: Int?,
        isReplayable: Bool,
        _ digests: [HTTPDigest]
    ) -> Self {
        Self(length: length, isReplayable: isReplayable) { deliver in
            let hasher = try HTTPDigest.Hasher(digests.algorithms)
            try await producer { part in
                try hasher.update(part)
                try await deliver(part)
            }
            guard digests.allMatch(try hasher.finish()) else {
                throw NetworkError(
                    .digestMismatch,
                    "the request's body doesn't match its digest, and the request was aborted before its end"
                )
            }
        }
    }
}
