/// A version of three numbers.
public struct Version: Hashable, Sendable, LosslessStringConvertible, Comparable, Codable {
    /// The first number, for incompatible changes.
    public let major: Int
    /// The second number, for additions.
    public let minor: Int
    /// The third number, for fixes.
    public let increment: Int

    /// Unavailable: The third number is ``increment``.
    @available(*, unavailable, renamed: "increment")
    public var patch: Int { increment }

    /// Version 1.0.0.
    public static let one = Version(1, 0, 0)

    /// Creates a version from its numbers.
    public init(_ major: Int, _ minor: Int, _ increment: Int) {
        self.major = major
        self.minor = minor
        self.increment = increment
    }

    /// Parses a version such as `1.18.0`.
    ///
    /// The text must consist of exactly three numbers of ASCII digits, without signs, spaces or
    /// leading zeros. Anything else gives `nil`. ``init(lenient:)`` accepts more.
    ///
    /// - Parameter string: The text.
    public init?(string: String) {
        let parts = string.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let numbers = parts.compactMap { part -> Int? in
            guard part.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                part.count == 1 || part.first != UInt8(ascii: "0")
            else { return nil }
            return Int(Substring(part))
        }
        guard numbers.count == 3 else { return nil }
        self.init(numbers[0], numbers[1], numbers[2])
    }

    /// Parses a version such as `1.18.0`, as ``init(string:)`` does.
    public init?(_ description: String) {
        self.init(string: description)
    }

    /// Unavailable: The numbers have no labels.
    @available(*, unavailable, message: "The numbers have no labels: Version(1, 2, 3).")
    public init(major: Int, minor: Int, patch: Int) {
        self.init(major, minor, patch)
    }

    /// Parses a version leniently, for compatibility with other systems.
    ///
    /// Parts between dots that aren't numbers of ASCII digits are dropped, including empty parts
    /// and numbers with a sign. Three numbers must remain: `1..2.3`, `1.2.3.`, `01.2.3` and
    /// `1.2.beta.3` are versions, `1.2` and `1.2.3.4` aren't.
    ///
    /// - Parameter text: The text.
    public init?(lenient text: String) {
        let parts = text.split(separator: ".").filter { part in
            part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        let numbers = parts.compactMap { Int($0) }
        guard parts.count == 3, numbers.count == 3 else { return nil }
        self.init(numbers[0], numbers[1], numbers[2])
    }

    /// Parses the first three numbers of a Linux release such as `6.18.44-cloud-amd64` or, of WSL,
    /// `5.15.167.4-microsoft-standard`.
    init?(leadingPartOf text: String) {
        let numbers = text.prefix { $0 == "." || $0.isASCII && $0.isNumber }.split(separator: ".").prefix(3)
        self.init(string: numbers.joined(separator: "."))
    }

    /// The numbers, separated by dots.
    public var description: String { "\(major).\(minor).\(increment)" }

    /// Returns a Boolean value that indicates whether a version is older than another, comparing
    /// the first, then the second, then the third number.
    ///
    /// - Parameters:
    ///   - left: A version.
    ///   - right: Another version.
    /// - Returns: `true` if the left version is older.
    public static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor, left.increment) < (right.major, right.minor, right.increment)
    }

    /// Decodes a version from a single string.
    ///
    /// - Throws: `DecodingError.dataCorrupted` if the string isn't a version.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let version = Version(string: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "Incorrect Version Format: expected three numbers separated by dots"
            )
        }
        self = version
    }

    /// Encodes the version as a single string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
