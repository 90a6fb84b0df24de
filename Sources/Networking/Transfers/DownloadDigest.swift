public import Foundation

/// The expected digest of a download.
@nonexhaustive
public enum DownloadDigest: Sendable, Hashable {
    /// The digests that the server offers, if any: `Repr-Digest` for the whole file, and
    /// `Content-Digest` for each response ([RFC 9530](https://www.rfc-editor.org/rfc/rfc9530)).
    ///
    /// Each SHA-256 or SHA-512 digest has to match. Other algorithms are ignored.
    case offered
    /// The digests that the server offers, of which one for the whole file is required.
    ///
    /// The download asks for it with `Want-Repr-Digest`.
    case required
    /// No digest, which disables the check.
    case unchecked

    /// A digest of the file that's known in advance.
    case known(HTTPDigest)

    /// Returns a digest that's known in advance.
    ///
    /// - Parameter digest: The 32 bytes of the SHA-256 hash. With any other length, every download
    ///   fails.
    /// - Returns: The digest.
    public static func sha256(_ digest: Data) -> Self {
        known(HTTPDigest([.sha256: digest]))
    }

    /// Returns a digest that's known in advance, in the format of the `sha256sum` command.
    ///
    /// - Parameter hexadecimal: The 64 hexadecimal digits of the SHA-256 hash, in either case.
    /// - Returns: The digest.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` for any other text.
    public static func sha256(hexadecimal: String) throws(NetworkError) -> Self {
        let digits = hexadecimal.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 64, hexadecimal.utf8.count == 64 else {
            throw NetworkError(.invalidRequest, "a SHA-256 hash must have 64 hexadecimal digits")
        }
        return sha256(Data(stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }))
    }

    /// A Boolean value that indicates whether the server's digests are verified.
    var usesOffers: Bool { self == .offered || self == .required }
}

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
