/// The directives of a message's `Cache-Control` fields
/// ([RFC 9111 §5.2](https://www.rfc-editor.org/rfc/rfc9111#section-5.2)).
///
/// Of two readings, the stricter one applies: contradictory or invalid numbers don't make a
/// response fresh, and a field that isn't a list of directives forbids storing.
struct CacheDirectives {
    /// A number of seconds in a directive.
    enum Seconds: Equatable {
        case absent, invalid
        case value(Int)

        /// The number, or `nil` without a valid one.
        var interval: Double? { if case .value(let seconds) = self { Double(seconds) } else { nil } }
    }

    /// The largest number of seconds; larger ones mean the same
    /// ([RFC 9111 §1.2.2](https://www.rfc-editor.org/rfc/rfc9111#section-1.2.2)).
    static let maximumSeconds = 1 << 31

    private static let maximumLength = 4_096
    private static let maximumCount = 64

    /// The arguments of each directive, `nil` for a directive without one, by lowercase name.
    private var arguments: [String: [String?]] = [:]
    /// A Boolean value that indicates whether a field isn't a list of directives, or is too long.
    private(set) var isMalformed = false

    /// Creates the directives of all fields of a message.
    init(_ fields: [String]) {
        isMalformed = !read(fields)
    }

    private mutating func read(_ fields: [String]) -> Bool {
        var (length, count) = (0, 0)
        for field in fields {
            length += field.utf8.count
            guard length <= Self.maximumLength, let members = Self.members(of: field.asciiOnly) else { return false }
            count += members.count
            guard count <= Self.maximumCount, members.allSatisfy({ add($0) }) else { return false }
        }
        return true
    }

    /// Returns whether a directive is present, with or without an argument.
    func contains(_ name: String) -> Bool { arguments[name] != nil }

    /// Returns whether a directive is present at least once without an argument.
    func containsUnqualified(_ name: String) -> Bool { arguments[name]?.contains(nil) ?? false }

    /// Returns the number of seconds of a directive; `invalid` if several contradict each other.
    func seconds(_ name: String) -> Seconds {
        guard let all = arguments[name] else { return .absent }
        let numbers = Set(all.map { $0.flatMap(Self.seconds) })
        guard numbers.count == 1, let number = numbers.first ?? nil else { return .invalid }
        return .value(number)
    }

    /// Parses a number of seconds, limited to ``maximumSeconds``.
    ///
    /// A sender must not quote the number, but a recipient accepts it.
    static func seconds(_ text: String) -> Int? {
        var digits = text.utf8[...]
        if digits.count >= 2, digits.first == UInt8(ascii: "\""), digits.last == UInt8(ascii: "\"") {
            digits = digits.dropFirst().dropLast()
        }
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { min($0 * 10 + Int($1 & 0x0F), maximumSeconds) }
    }

    /// Returns the members of a comma-separated list; `nil` if a quotation mark has no counterpart.
    static func members(of field: String) -> [Substring]? {
        var members: [Substring] = []
        var (start, isQuoted, isEscaped) = (field.startIndex, false, false)
        for index in field.utf8.indices {
            let byte = field.utf8[index]
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if isQuoted {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: ",") {
                members.append(field[start..<index].trimmingHTTPWhitespace)
                start = field.utf8.index(after: index)
            }
        }
        guard !isQuoted else { return nil }
        members.append(field[start...].trimmingHTTPWhitespace)
        return members.filter { !$0.isEmpty }
    }

    /// Adds a member; returns `false` if it isn't a directive.
    private mutating func add(_ member: Substring) -> Bool {
        let parts = member.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = Substring(parts[0])
        let trimmed = name.trimmingHTTPWhitespace
        guard HTTPSyntax.isToken(trimmed) else { return false }
        // White space around the equals sign makes the argument invalid.
        let argument = parts.count == 1 ? nil : name.utf8.count == trimmed.utf8.count ? String(Substring(parts[1])) : ""
        arguments[trimmed.lowercased(), default: []].append(argument)
        return true
    }
}
