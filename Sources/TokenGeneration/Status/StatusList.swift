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
    /// The statuses, from the least significant bits of each byte to the most significant ones.
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

    /// Creates a list from its bytes.
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
}

extension StatusList.Bits {
    /// The bits of one status at the low end of a byte.
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
