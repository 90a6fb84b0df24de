/// The status of a token in a status list ([Token Status List
/// §7](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-7)).
///
/// Any number from 0 to 255 is a status. Those without a name here are undefined, or have the
/// meaning that an application gives them.
public struct TokenStatus: RawRepresentable, Sendable, Hashable {
    /// The number in the status list.
    public let rawValue: UInt8

    /// Creates a status from its number.
    ///
    /// - Parameter rawValue: The number in the status list.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The token is valid, if its claims say so, too.
    public static let valid = Self(rawValue: 0x00)
    /// The token is revoked for good.
    public static let invalid = Self(rawValue: 0x01)
    /// The token is temporarily invalid.
    public static let suspended = Self(rawValue: 0x02)
}

extension TokenStatus: CustomStringConvertible {
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
