import Foundation

extension HTTPResponse {
    /// The digests of the whole file in the header fields, or else in the trailer fields, of which
    /// that of the representation is the first.
    ///
    /// The content of a 200 is the whole file, so its `Content-Digest` counts, too. If the content
    /// was decoded, the digests are about other bytes than the file's.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidField` if a digest is malformed.
    var offeredDigests: [HTTPDigest] {
        get throws(NetworkError) {
            let fields: [HTTPDigest.Field] = status == 200 ? [.representation, .content] : [.representation]
            let digests = try fields.digests(in: headers)
            return try digests.isEmpty ? fields.digests(in: trailers) : digests
        }
    }
}

extension PartFile {
    /// Returns the digest of a range of the file, or of an incomplete range if the file shrank.
    func digest(by algorithms: [HTTPDigest.Algorithm], in range: Range<Int>) throws -> HTTPDigest {
        let hasher = try HTTPDigest.Hasher(algorithms)
        var position = range.lowerBound
        while position < range.upperBound {
            let part = try read(min(range.upperBound - position, 1 << 20), at: position)
            guard !part.isEmpty else { break }
            try hasher.update(part)
            position += part.count
        }
        return try hasher.finish()
    }
}
