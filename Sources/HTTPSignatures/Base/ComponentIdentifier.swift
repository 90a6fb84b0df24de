public import Networking

/// The identifier of a message component that a signature covers: a name with parameters
/// ([RFC 9421 §2](https://www.rfc-editor.org/rfc/rfc9421#section-2)).
///
/// ```swift
/// let components: [ComponentIdentifier] = [
///     .method, .targetURI, "content-digest",
///     ComponentIdentifier("priority").member("u"),
/// ]
/// ```
///
/// A name that begins with `@` is a derived component; any other is the lowercase name of a field.
/// The order of the parameters is kept, but doesn't distinguish identifiers.
public struct ComponentIdentifier: Sendable {
    /// The name of the field or the derived component.
    public let name: String
    /// The parameters, in order.
    public private(set) var parameters: StructuredField.Parameters

    /// Creates an identifier.
    ///
    /// Nothing is checked here; building a ``SignatureBase`` rejects an invalid identifier.
    ///
    /// - Parameters:
    ///   - name: The lowercase name of a field, or the name of a derived component with its `@`.
    ///   - parameters: The parameters, in order. The default is empty.
    public init(_ name: String, parameters: StructuredField.Parameters = StructuredField.Parameters()) {
        self.name = name
        self.parameters = parameters
    }

    private func adding(_ key: String, _ value: StructuredField.BareItem = .boolean(true)) -> Self {
        var identifier = self
        identifier.parameters[key] = value
        return identifier
    }
}

extension ComponentIdentifier {
    /// The method of a request ([§2.2.1](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.1)).
    public static let method = Self("@method")
    /// The target URI of a request
    /// ([§2.2.2](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.2)).
    public static let targetURI = Self("@target-uri")
    /// The host and port of a request
    /// ([§2.2.3](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.3)).
    public static let authority = Self("@authority")
    /// The scheme of a request ([§2.2.4](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.4)).
    public static let scheme = Self("@scheme")
    /// The request target in the request line
    /// ([§2.2.5](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.5)).
    ///
    /// Only HTTP/1.1 has a request line; prefer ``path`` and ``query``.
    public static let requestTarget = Self("@request-target")
    /// The path of a request ([§2.2.6](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.6)).
    public static let path = Self("@path")
    /// The query of a request, with its question mark
    /// ([§2.2.7](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.7)).
    public static let query = Self("@query")
    /// The status code of a response
    /// ([§2.2.9](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.9)).
    public static let status = Self("@status")

    /// Returns a parameter in the query of a request
    /// ([§2.2.8](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.8)).
    ///
    /// - Parameter name: The name, decoded. A name that occurs more than once can't be covered.
    /// - Returns: The identifier.
    public static func queryParameter(_ name: String) -> Self {
        Self("@query-param").adding("name", .string(QueryParameters.encoded(Array(name.utf8))))
    }

    /// The component of the request that caused a response, as its signature identifies it
    /// ([§2.4](https://www.rfc-editor.org/rfc/rfc9421#section-2.4)).
    public var ofRequest: Self { adding("req") }
    /// The field in its canonical form as a structured field
    /// ([§2.1.1](https://www.rfc-editor.org/rfc/rfc9421#section-2.1.1)).
    public var structured: Self { adding("sf") }
    /// The field's lines, each as a byte sequence
    /// ([§2.1.3](https://www.rfc-editor.org/rfc/rfc9421#section-2.1.3)).
    public var binary: Self { adding("bs") }
    /// The trailer field of the same name
    /// ([§2.1.4](https://www.rfc-editor.org/rfc/rfc9421#section-2.1.4)).
    public var trailer: Self { adding("tr") }

    /// Returns a member of a field that is a dictionary
    /// ([§2.1.2](https://www.rfc-editor.org/rfc/rfc9421#section-2.1.2)).
    ///
    /// - Parameter key: The member's key.
    /// - Returns: The identifier.
    public func member(_ key: String) -> Self { adding("key", .string(key)) }
}

extension ComponentIdentifier: ExpressibleByStringLiteral {
    /// Creates an identifier without parameters.
    ///
    /// - Parameter value: The name.
    public init(stringLiteral value: String) { self.init(value) }
}

extension ComponentIdentifier: Hashable {
    /// Returns whether two identifiers have the same name and, in any order, the same parameters.
    public static func == (left: Self, right: Self) -> Bool {
        left.name.utf8.count == right.name.utf8.count && left.name.utf8.elementsEqual(right.name.utf8)
            && (left.parameters == right.parameters || left.meaning == right.meaning)
    }

    /// Hashes the name and the parameters that select a part of the component.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        guard !parameters.isEmpty else { return }
        hasher.combine(parameters["key"])
        hasher.combine(parameters["name"])
    }

    /// The parameters without their order, and without `sf` where `key` implies it.
    private var meaning: [String: StructuredField.BareItem] {
        var meaning = Dictionary(parameters.map { ($0.key, $0.value) }) { _, last in last }
        if meaning["key"] != nil { meaning["sf"] = nil }
        return meaning
    }
}

extension ComponentIdentifier: CustomStringConvertible {
    /// The identifier as in a signature base, such as `"content-digest";req`.
    public var description: String { (try? item.serialized()) ?? "an invalid component identifier" }

    /// Appends the serialized form of a valid identifier, whose name needs no escapes.
    func append(to octets: inout [UInt8]) {
        guard parameters.isEmpty else { return octets.append(contentsOf: description.utf8) }
        octets.append(UInt8(ascii: "\""))
        octets.append(contentsOf: name.utf8)
        octets.append(UInt8(ascii: "\""))
    }

    var item: StructuredField.Item { StructuredField.Item(.string(name), parameters: parameters) }

    /// Creates an identifier from an item of an inner list.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `malformedSignature` if the item isn't a
    ///   string.
    init(_ item: StructuredField.Item) throws(HTTPSignatureError) {
        guard case .string(let name) = item.value else {
            throw HTTPSignatureError(.malformedSignature, "a covered component isn't a string")
        }
        self.init(name, parameters: item.parameters)
    }

    /// Returns whether the identifier has a parameter that is a Boolean flag.
    package func has(_ flag: String) -> Bool { !parameters.isEmpty && parameters[flag] == .boolean(true) }

    /// The key of the dictionary's member, or the encoded name of the query parameter.
    package func text(of key: String) -> String? {
        if !parameters.isEmpty, case .string(let text) = parameters[key] { text } else { nil }
    }
}
