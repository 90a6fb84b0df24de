import Foundation

/// The digests of a whole file that a response offers.
struct OfferedDigest {
    /// The digests, of which the one of the representation is the first.
    let digests: [HTTPDigest]
    /// A Boolean value that indicates whether the file has the bytes that the digests are about.
    ///
    /// It's `false` if the response's content was decoded.
    let isVerifiable: Bool

    /// Reads the header fields of a response, or else its trailer fields; returns `nil` without a
    /// digest of the whole file.
    ///
    /// The content of a 200 is the whole file, so its `Content-Digest` counts, too.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidField` if a digest is malformed.
    init?(_ response: HTTPResponse) throws(NetworkError) {
        let names: [HTTPDigest.Field] = response.status == 200 ? [.representation, .content] : [.representation]
        var digests = try names.digests(in: response.headers)
        if digests.isEmpty { digests = try names.digests(in: response.trailers) }
        guard !digests.isEmpty else { return nil }
        self.digests = digests
        isVerifiable = !response.isDecoded
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
