public import Foundation

/// The expected digest of a download.
public struct DownloadDigest: Sendable, Hashable {
    private enum Wrapped: Sendable, Hashable {
        case offered(isRequired: Bool)
        case none
        case known(HTTPDigest)
    }

    private let wrapped: Wrapped

    /// The digests that the server offers, if any: `Repr-Digest` for the whole file, and
    /// `Content-Digest` for each response ([RFC 9530](https://www.rfc-editor.org/rfc/rfc9530)).
    ///
    /// Each SHA-256 or SHA-512 digest has to match. Other algorithms are ignored.
    public static let offered = Self(wrapped: .offered(isRequired: false))
    /// The digests that the server offers, of which one for the whole file is required.
    ///
    /// The download asks for it with `Want-Repr-Digest`.
    public static let required = Self(wrapped: .offered(isRequired: true))
    /// No digest, which disables the check.
    public static let unchecked = Self(wrapped: .none)

    /// Returns a digest that's known in advance.
    ///
    /// - Parameter digest: The digest of the file.
    /// - Returns: The digest.
    public static func known(_ digest: HTTPDigest) -> Self {
        Self(wrapped: .known(digest))
    }

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
    var usesOffers: Bool {
        if case .offered = wrapped { true } else { false }
    }

    /// A Boolean value that indicates whether the server must offer a digest of the whole file.
    var isOfferRequired: Bool { wrapped == .offered(isRequired: true) }

    /// The digest that doesn't come from the server, if any.
    var known: HTTPDigest? {
        if case .known(let digest) = wrapped { digest } else { nil }
    }
}
