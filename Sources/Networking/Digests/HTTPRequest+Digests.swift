import Foundation

extension HTTPRequest {
    /// A Boolean value that indicates whether the request has a digest to compare the body with.
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
    /// Returns a body that fails at its end unless it has the given digests.
    ///
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
