public import Foundation
internal import OpenSSLCrypto

/// The expected digest of a download.
public struct DownloadDigest: Sendable, Hashable {
    enum Wrapped: Sendable, Hashable {
        case offered
        case none
        case known(FileDigest)
    }

    let wrapped: Wrapped

    /// The digest that the server sends in `Repr-Digest`
    /// ([RFC 9530 §3](https://www.rfc-editor.org/rfc/rfc9530#section-3)) or in the older `Digest`
    /// ([RFC 3230 §4.3.2](https://www.rfc-editor.org/rfc/rfc3230#section-4.3.2)), if it's SHA-256
    /// or SHA-512.
    public static let offered = Self(wrapped: .offered)
    /// No digest, which disables the check.
    public static let unchecked = Self(wrapped: .none)

    /// Returns a digest that's known in advance.
    ///
    /// - Parameter digest: The 32 bytes of the SHA-256 hash. With any other length, every download
    ///   fails.
    /// - Returns: The digest.
    public static func sha256(_ digest: Data) -> Self {
        Self(wrapped: .known(FileDigest(function: .sha256, octets: Array(digest))))
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

    /// Returns the digest to compare with, if there is one.
    func expected(_ headers: HTTPHeaders) -> FileDigest? {
        switch wrapped {
        case .none: nil
        case .known(let digest): digest
        case .offered: FileDigest(headers)
        }
    }
}

/// The digest of a whole file.
struct FileDigest: Sendable, Hashable {
    let function: HashFunction
    let octets: [UInt8]

    init(function: HashFunction, octets: [UInt8]) {
        self.function = function
        self.octets = octets
    }

    /// Returns the strongest supported digest in a response's header, or `nil` without one.
    init?(_ headers: HTTPHeaders) {
        let offers =
            headers.values(for: "Repr-Digest").flatMap { Self.digests($0, opening: ":", closing: ":") }
            + headers.values(for: "Digest").flatMap { Self.digests($0, opening: "", closing: "") }
        guard let best = offers.first(where: { $0.function == .sha512 }) ?? offers.first else { return nil }
        self = best
    }

    /// Returns whether a file has this digest.
    func matches(_ file: PartFile) throws -> Bool {
        let state = try HashState(function)
        var (position, count) = (0, file.count)
        while count > 0 {
            let part = try file.read(min(count, 1 << 20), at: position)
            guard !part.isEmpty else { return false }
            try Array(part).withBytes { bytes throws(CryptoError) in try state.update(bytes) }
            position += part.count
            count -= part.count
        }
        return try state.finish() == octets
    }

    /// Parses members such as `sha-256=:base64:` or `SHA-256=base64`, and skips those that it
    /// doesn't support.
    private static func digests(_ field: String, opening: String, closing: String) -> [FileDigest] {
        field.asciiOnly.split(separator: ",").compactMap { member in
            let member = member.trimmingCharacters(in: .whitespaces)
            guard let sign = member.firstIndex(of: "="), let function = function(member[..<sign].lowercased()) else {
                return nil
            }
            let value = member[member.index(after: sign)...]
            guard value.hasPrefix(opening), value.hasSuffix(closing), value.count >= opening.count + closing.count,
                let octets = Data(base64Encoded: String(value.dropFirst(opening.count).dropLast(closing.count))),
                octets.count == function.digestSize
            else { return nil }
            return FileDigest(function: function, octets: Array(octets))
        }
    }

    private static func function(_ name: String) -> HashFunction? {
        switch name {
        case "sha-256": .sha256
        case "sha-512": .sha512
        default: nil
        }
    }
}
