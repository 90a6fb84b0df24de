extension HTTPDigest {
    /// A field that conveys digests.
    public enum Field: String, CaseIterable, Sendable {
        /// `Content-Digest`, for the content of the message, such as a part of a file
        /// ([RFC 9530 §2](https://www.rfc-editor.org/rfc/rfc9530#section-2)).
        case content = "Content-Digest"
        /// `Repr-Digest`, for the whole representation, such as the complete file
        /// ([RFC 9530 §3](https://www.rfc-editor.org/rfc/rfc9530#section-3)).
        case representation = "Repr-Digest"

        /// The field that asks for this field, such as `Want-Content-Digest`
        /// ([RFC 9530 §4](https://www.rfc-editor.org/rfc/rfc9530#section-4)).
        public var preferenceName: String { "Want-\(rawValue)" }
    }

    /// Reads a field of a message; returns `nil` if it's missing or has no supported algorithm.
    ///
    /// - Parameters:
    ///   - field: The field.
    ///   - headers: The header or trailer fields of the message.
    /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed.
    public init?(_ field: Field, in headers: HTTPHeaders) throws(NetworkError) {
        let lines = headers.values(for: field.rawValue)
        guard !lines.isEmpty else { return nil }
        do throws(NetworkError) {
            try self.init(parsing: lines)
        } catch {
            throw NetworkError(error.code, "\(field.rawValue): \(error.message)")
        }
    }
}

extension [HTTPDigest] {
    /// The algorithms that are needed to check all digests.
    var algorithms: [HTTPDigest.Algorithm] {
        HTTPDigest.Algorithm.allCases.filter { algorithm in contains { $0[algorithm] != nil } }
    }

    /// Returns whether all digests agree with one that was computed with ``algorithms`` or more.
    func allMatch(_ computed: HTTPDigest) -> Bool {
        allSatisfy { digest in digest.algorithms.allSatisfy { digest[$0] == computed[$0] } }
    }
}

extension [HTTPDigest.Field] {
    /// Reads the digests in some fields of a message.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidField` if one is malformed.
    func digests(in headers: HTTPHeaders) throws(NetworkError) -> [HTTPDigest] {
        var digests: [HTTPDigest] = []
        for field in self {
            if let digest = try HTTPDigest(field, in: headers) { digests.append(digest) }
        }
        return digests
    }
}
