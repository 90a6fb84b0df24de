internal import Compression

/// The statuses of many tokens, by index ([Token Status List
/// §4](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-4)).
///
/// ```swift
/// var list = try StatusList(count: 1_000_000)
/// try list.set(.invalid, at: 4_711)
/// ```
///
/// An issuer assigns each token a different index of a list, at random so that the index tells
/// nothing about the token.
public struct StatusList: Sendable, Hashable {
    /// The number of bits of each status.
    public enum Bits: Int, Sendable, Hashable, CaseIterable {
        /// One bit: valid or invalid.
        case one = 1
        /// Two bits: also suspended, and one status that the application defines.
        case two = 2
        /// Four bits: the statuses 0 to 15.
        case four = 4
        /// Eight bits: the statuses 0 to 255.
        case eight = 8
    }

    /// The number of bits of each status.
    public let bits: Bits
    private(set) var bytes: [UInt8]

    /// Creates a list with the same status for all tokens.
    ///
    /// - Parameters:
    ///   - count: The number of statuses. It's rounded up to whole bytes.
    ///   - bits: The number of bits of each status. The default is one.
    ///   - status: The status of all tokens. The default is valid.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if the count isn't positive or
    ///   exceeds 2³¹, or if the status needs more bits.
    public init(count: Int, bits: Bits = .one, filledWith status: TokenStatus = .valid) throws(TokenError) {
        guard (1...1 << 31).contains(count) else {
            throw TokenError(.unencodableContent, "a status list has 1 to 2,147,483,648 statuses")
        }
        try bits.check(status)
        let perByte = 8 / bits.rawValue
        let byte = (0..<perByte).reduce(0) { $0 | status.rawValue << UInt8($1 * bits.rawValue) }
        self.bits = bits
        bytes = [UInt8](repeating: byte, count: (count + perByte - 1) / perByte)
    }

    init(bits: Bits, bytes: [UInt8]) {
        self.bits = bits
        self.bytes = bytes
    }

    /// The number of statuses, a multiple of those in one byte.
    public var count: Int { bytes.count * (8 / bits.rawValue) }

    /// Accesses the status at an index.
    ///
    /// - Parameter index: The index of a token.
    /// - Returns: The status, or `nil` if the list has no such index.
    public subscript(index: Int) -> TokenStatus? {
        guard let place = place(of: index) else { return nil }
        return TokenStatus(rawValue: bytes[place.byte] >> place.shift & bits.mask)
    }

    /// Changes the status at an index.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - index: The index of a token.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if the list has no such index or
    ///   the status needs more bits.
    public mutating func set(_ status: TokenStatus, at index: Int) throws(TokenError) {
        try bits.check(status)
        guard let place = place(of: index) else {
            throw TokenError(
                .unencodableContent,
                "the index \(index) isn't in the status list; its indices are 0 to \(count - 1)"
            )
        }
        bytes[place.byte] = bytes[place.byte] & ~(bits.mask << place.shift) | status.rawValue << place.shift
    }

    private func place(of index: Int) -> (byte: Int, shift: UInt8)? {
        guard index >= 0, index < count else { return nil }
        let perByte = 8 / bits.rawValue
        return (index / perByte, UInt8(index % perByte * bits.rawValue))
    }

    /// Creates a list from its JSON form
    /// ([§4.2](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-4.2)).
    ///
    /// - Parameters:
    ///   - json: The object, such as the claim `status_list` of a status list token.
    ///   - maximumSize: The maximum size of the decompressed list in bytes. The default is 4 MiB,
    ///     which has 33,554,432 statuses of one bit. A malicious list can expand a thousandfold
    ///     when decompressed; so does an honest list without revoked tokens.
    /// - Throws: ``TokenError`` with the code `malformedClaim` if `bits` isn't 1, 2, 4 or 8, or
    ///   `lst` isn't the base64url of one complete zlib stream that isn't empty; `tooLarge` if the
    ///   decompressed list exceeds the maximum size; `unsupportedAlgorithm` if the system has no
    ///   zlib.
    public init(json: JSONObject, maximumSize: Int = 4_194_304) throws(TokenError) {
        guard let bits = json["bits"]?.number?.integer.flatMap(Bits.init(rawValue:)) else {
            throw TokenError(.malformedClaim, "“bits” of the status list must be 1, 2, 4 or 8")
        }
        guard let text = json["lst"]?.string else {
            throw TokenError(.malformedClaim, "“lst” of the status list must be a string")
        }
        if let uri = json["aggregation_uri"], uri.string == nil {
            throw TokenError(.malformedClaim, "“aggregation_uri” of the status list must be a string")
        }
        let compressed: [UInt8]
        do throws(TokenError) {
            compressed = try Base64URL.decode(text)
        } catch {
            throw TokenError(.malformedClaim, "“lst” of the status list isn't base64url", cause: error)
        }
        let bytes: [UInt8]
        do throws(ZlibStream.Failure) {
            bytes = try ZlibStream.decompress(compressed, maximumSize: maximumSize)
        } catch {
            throw TokenError(decompressing: error, maximumSize: maximumSize)
        }
        guard !bytes.isEmpty else { throw TokenError(.malformedClaim, "the status list is empty") }
        self.init(bits: bits, bytes: bytes)
    }

    /// Returns the JSON form of the list, compressed with zlib's best level.
    ///
    /// - Returns: The object, with `bits` and `lst`.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` if the system has no zlib.
    public func json() throws(TokenError) -> JSONObject {
        let compressed: [UInt8]
        do throws(ZlibStream.Failure) {
            compressed = try ZlibStream.compress(bytes)
        } catch {
            throw TokenError(decompressing: error, maximumSize: 0)
        }
        return ["bits": .number(JSONNumber(bits.rawValue)), "lst": .base64URL(compressed)]
    }
}

extension StatusList.Bits {
    fileprivate var mask: UInt8 { UInt8(1 << rawValue - 1) }

    fileprivate func check(_ status: TokenStatus) throws(TokenError) {
        guard status.rawValue <= mask else {
            throw TokenError(
                .unencodableContent,
                "the status \(status) needs more than the \(rawValue) bits of the status list; use a list with more"
            )
        }
    }
}

extension TokenError {
    fileprivate init(decompressing failure: ZlibStream.Failure, maximumSize: Int) {
        switch failure {
        case .unavailable:
            self.init(.unsupportedAlgorithm, "status lists need zlib (libz.so.1); install it")
        case .malformed:
            self.init(.malformedClaim, "“lst” of the status list isn't one complete zlib stream")
        case .tooLarge:
            self.init(.tooLarge, "the decompressed status list has more than \(maximumSize) bytes")
        }
    }
}

/// The status of a token in a status list ([Token Status List
/// §7](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-7)).
///
/// Any number from 0 to 255 is a status. Those without a name here are undefined, or have the
/// meaning that an application gives them.
public struct TokenStatus: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number in the status list.
    public let rawValue: UInt8

    /// Creates a status from its number.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The token is valid, if its claims say so, too.
    public static let valid = Self(rawValue: 0x00)
    /// The token is revoked for good.
    public static let invalid = Self(rawValue: 0x01)
    /// The token is temporarily invalid.
    public static let suspended = Self(rawValue: 0x02)

    /// The registered name in lower case, or the number: `valid`, `invalid`, `suspended`, `0x03`.
    public var description: String {
        switch self {
        case .valid: return "valid"
        case .invalid: return "invalid"
        case .suspended: return "suspended"
        default:
            let digits = String(rawValue, radix: 16, uppercase: true)
            return "0x\(digits.utf8.count == 1 ? "0" : "")\(digits)"
        }
    }
}
