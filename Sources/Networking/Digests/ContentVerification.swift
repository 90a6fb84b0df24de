import Foundation

/// The comparison of a response's content with digests.
struct ContentVerification: Sendable {
    /// The fields of the response that are about its content.
    private let fields: [HTTPDigest.Field]
    private let isRequired: Bool

    /// Creates a verification of a response's own digests, with the method of its request.
    init(of response: HTTPTransportResponse, method: HTTPMethod, isRequired: Bool) {
        // A 206 has a part of the representation. A response to an unsafe method without content
        // can have the digest of the changed resource (RFC 9530 §3.1).
        let isWhole = response.status != 206 && (method == .get || response.mayHaveContent)
        fields = isWhole ? [.content, .representation] : [.content]
        self.isRequired = isRequired
    }

    /// Verifies a response that is in memory, or returns one whose stream throws at its end if it
    /// doesn't have the digests.
    ///
    /// - Throws: ``NetworkError`` with the code `digestMismatch`, `digestMissing`,
    ///   `digestUnverifiable` if the content was decoded, or `invalidField` if a digest is
    ///   malformed.
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
        response.stream = HTTPResponseBody(
            source: VerifiedBody(body, hasher: try HTTPDigest.Hasher(algorithms)) { computed, trailers in
                let digests = try early.isEmpty ? fields.digests(in: trailers) : early
                guard !digests.isEmpty else { return try unlessRequired(()) }
                try Self.check(digests, computed)
            }
        )
        return response
    }

    /// Returns whether the trailer fields will have a digest
    /// ([RFC 9110 §6.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-6.6.2)).
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
    /// A Boolean value that indicates whether the response has content, as far as is known.
    fileprivate var mayHaveContent: Bool {
        stream == nil ? !body.isEmpty : headers["Content-Length"].flatMap { Int($0) } != 0
    }
}
