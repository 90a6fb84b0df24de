internal import OpenSSLCrypto

/// The path of a claim: the names and indices that lead to it from the top of a claims set.
///
/// ```swift
/// let paths: [ClaimPath] = [
///     "given_name",
///     ["address", "locality"],
///     ["nationalities", .everyElement],
/// ]
/// ```
///
/// Names are compared code point by code point.
public struct ClaimPath: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    CustomStringConvertible
{
    /// A step of a path.
    public struct Element: Sendable, Hashable {
        enum Wrapped: Sendable, Hashable {
            case name(ByteComparedString)
            case index(Int)
            case everyElement
        }

        let wrapped: Wrapped

        /// A member of an object.
        ///
        /// - Parameter name: The member's name.
        /// - Returns: The step.
        public static func name(_ name: String) -> Element { Element(wrapped: .name(ByteComparedString(name))) }

        /// An element of an array.
        ///
        /// - Parameter index: The element's index, from 0.
        /// - Returns: The step.
        public static func index(_ index: Int) -> Element { Element(wrapped: .index(index)) }

        /// Every element of an array.
        public static let everyElement = Element(wrapped: .everyElement)
    }

    package let elements: [Element]

    /// Creates a path.
    ///
    /// - Parameter elements: The steps, from the outermost claim. A path without steps leads to no
    ///   claim.
    public init(_ elements: [Element]) {
        self.elements = elements
    }

    /// Without ``Element/everyElement``.
    func resolved(in claims: JSONObject) -> [ClaimPath] {
        guard !elements.isEmpty else { return [] }
        var found: [(path: [Element], value: JSONValue)] = [([], .object(claims))]
        for element in elements {
            var next: [(path: [Element], value: JSONValue)] = []
            for (path, value) in found {
                switch (element.wrapped, value) {
                case (.name(let name), .object(let object)):
                    if let member = object[name.text] { next.append((path + [element], member)) }
                case (.index(let index), .array(let array)):
                    if array.indices.contains(index) { next.append((path + [element], array[index])) }
                case (.everyElement, .array(let array)):
                    for (index, member) in array.enumerated() { next.append((path + [.index(index)], member)) }
                default: break
                }
            }
            found = next
        }
        return found.map { ClaimPath($0.path) }
    }

    /// A claims path pointer of OpenID for Verifiable Presentations 1.0, §7, with `null` for every
    /// element.
    package var pointer: JSONValue {
        .array(
            elements.map { element in
                switch element.wrapped {
                case .name(let name): .string(name.text)
                case .index(let index): .number(JSONNumber(index))
                case .everyElement: .null
                }
            }
        )
    }

    /// Returns `nil` if the value isn't a claims path pointer.
    package init?(pointer: JSONValue) {
        guard let array = pointer.array, !array.isEmpty else { return nil }
        var elements: [Element] = []
        for value in array {
            switch value {
            case .string(let name): elements.append(.name(name))
            case .null: elements.append(.everyElement)
            case .number(let number):
                guard let index = number.integer, index >= 0 else { return nil }
                elements.append(.index(index))
            default: return nil
            }
        }
        self.init(elements)
    }

    func isPrefix(of other: ClaimPath) -> Bool { other.elements.starts(with: elements) }

    var missing: TokenError {
        TokenError(.missingClaim, "the token has no claim at the path \(TokenError.shown(description))")
    }

    /// Creates the path of a claim at the top.
    ///
    /// - Parameter value: The claim's name.
    public init(stringLiteral value: String) {
        self.init([.name(value)])
    }

    /// Creates a path from its steps.
    ///
    /// - Parameter elements: The steps, from the outermost claim.
    public init(arrayLiteral elements: Element...) {
        self.init(elements)
    }

    /// The path in readable form, such as `addresses[0].locality`.
    public var description: String {
        var text = ""
        for element in elements {
            switch element.wrapped {
            case .name(let name): text += text.isEmpty ? name.text : ".\(name.text)"
            case .index(let index): text += "[\(index)]"
            case .everyElement: text += "[*]"
            }
        }
        return text
    }
}

extension ClaimPath.Element: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    /// Creates a step to a member of an object.
    ///
    /// - Parameter value: The member's name.
    public init(stringLiteral value: String) {
        self = .name(value)
    }

    /// Creates a step to an element of an array.
    ///
    /// - Parameter value: The element's index, from 0.
    public init(integerLiteral value: Int) {
        self = .index(value)
    }
}
