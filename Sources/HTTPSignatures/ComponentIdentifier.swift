package import Networking

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
public struct ComponentIdentifier: Sendable, ExpressibleByStringLiteral, Hashable, CustomStringConvertible {
    /// The name of the field or the derived component.
    public let name: String
    package private(set) var parameters: StructuredField.Parameters

    /// Creates an identifier without parameters.
    ///
    /// Nothing is checked here; building a ``SignatureBase`` rejects an invalid identifier.
    ///
    /// - Parameter name: The lowercase name of a field, or the name of a derived component with its
    ///   `@`.
    public init(_ name: String) { self.init(name, parameters: StructuredField.Parameters()) }

    package init(_ name: String, parameters: StructuredField.Parameters) {
        self.name = name
        self.parameters = parameters
    }

    private func adding(_ key: String, _ value: StructuredField.BareItem = .boolean(true)) -> Self {
        var identifier = self
        identifier.parameters[key] = value
        return identifier
    }

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

    /// Creates an identifier without parameters.
    ///
    /// - Parameter value: The name.
    public init(stringLiteral value: String) { self.init(value) }

    /// Returns whether two identifiers have the same name and, in any order, the same parameters.
    public static func == (left: Self, right: Self) -> Bool {
        left.name.utf8.count == right.name.utf8.count && left.name.utf8.elementsEqual(right.name.utf8)
            && (left.parameters == right.parameters || left.hasParameters(of: right))
    }

    /// Hashes the name and the parameters, independently of their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        guard !parameters.isEmpty else { return }
        let hasKey = parameters["key"] != nil
        hasher.combine(
            parameters.reduce(0) { hash, parameter in
                guard !hasKey || parameter.key != "sf" else { return hash }
                var hasher = Hasher()
                hasher.combine(parameter.key)
                hasher.combine(parameter.value)
                return hash ^ hasher.finalize()
            }
        )
    }

    /// A key makes `sf` meaningless.
    private func hasParameters(of other: Self) -> Bool {
        let (hasKey, otherHasKey) = (parameters["key"] != nil, other.parameters["key"] != nil)
        guard hasKey == otherHasKey else { return false }
        func count(_ parameters: StructuredField.Parameters) -> Int {
            parameters.count - (hasKey && parameters["sf"] != nil ? 1 : 0)
        }
        return count(parameters) == count(other.parameters)
            && parameters.allSatisfy { hasKey && $0.key == "sf" || other.parameters[$0.key] == $0.value }
    }

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

    /// Rejects an item that isn't a string as `malformedSignature`.
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

    private static let derivedNames: Set = [
        "@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path", "@query", "@query-param",
        "@status",
    ]

    package var isDerived: Bool { name.utf8.first == UInt8(ascii: "@") }

    /// Leaves the message of `invalidComponent` to the caller.
    package func validate() throws(HTTPSignatureError) {
        guard !name.utf8.elementsEqual("@signature-params".utf8) else {
            throw invalid("is always the last line of the signature base and can't be covered")
        }
        if isDerived {
            guard Self.derivedNames.contains(name) else { throw invalid("isn't a known derived component") }
        } else {
            guard HTTPSyntax.isToken(name) else { throw invalid("isn't the name of a field") }
            guard !name.utf8.contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) else {
                throw invalid("must be in lowercase")
            }
        }
        for (key, value) in parameters { try validate(key, value) }
        guard name != "@query-param" || parameters["name"] != nil else { throw invalid("needs the parameter “name”") }
        guard !has("bs") || !has("sf") && parameters["key"] == nil else {
            throw invalid("combines “bs” with “sf” or “key”")
        }
    }

    private func validate(_ key: String, _ value: StructuredField.BareItem) throws(HTTPSignatureError) {
        let isKnown =
            switch key {
            case "req": true
            case "sf", "bs", "tr", "key": !isDerived
            case "name": name == "@query-param"
            default: false
            }
        guard isKnown else { throw invalid("has a parameter that is unknown or doesn't apply to it") }
        switch (key, value) {
        case ("key", .string), ("name", .string), ("req", .boolean(true)), ("sf", .boolean(true)),
            ("bs", .boolean(true)), ("tr", .boolean(true)):
            break
        default: throw invalid("has a parameter with the wrong type of value")
        }
    }

    func invalid(_ reason: String) -> HTTPSignatureError {
        HTTPSignatureError(.invalidComponent, "the component \(shown) \(reason)")
    }

    var shown: String {
        let text = description
        return text.utf8.count <= 96 ? text : String(text.prefix(95)) + "…"
    }
}

/// The type of a structured field, which its specification defines
/// ([RFC 9651 §2](https://www.rfc-editor.org/rfc/rfc9651#section-2)).
///
/// The canonical form of a field depends on its type, so components with `sf` or `key` need it.
@nonexhaustive
public enum StructuredFieldType: Hashable, Sendable {
    /// A single value.
    case item
    /// A list.
    case list
    /// A dictionary.
    case dictionary

    /// [IANA's fields](https://www.iana.org/assignments/http-fields), and those of the profiles.
    static let known: [String: Self] = [
        "accept-ch": .list, "accept-signature": .dictionary, "available-dictionary": .item,
        "cache-group-invalidation": .list, "cache-groups": .list, "cache-status": .list, "capsule-protocol": .item,
        "cdn-cache-control": .dictionary, "client-cert": .item, "client-cert-chain": .list,
        "content-digest": .dictionary, "cross-origin-embedder-policy": .item,
        "cross-origin-embedder-policy-report-only": .item, "cross-origin-opener-policy": .item,
        "cross-origin-opener-policy-report-only": .item, "deprecation": .item, "dictionary-id": .item,
        "idempotency-key": .item, "no-vary-search": .dictionary, "origin-agent-cluster": .item,
        "permissions-policy": .dictionary, "priority": .dictionary, "proxy-status": .list, "ratelimit": .list,
        "ratelimit-policy": .list, "reporting-endpoints": .dictionary, "repr-digest": .dictionary,
        "sec-ch-ua": .list, "sec-ch-ua-mobile": .item, "sec-ch-ua-platform": .item, "sec-gpc": .item,
        "signature": .dictionary, "signature-agent": .dictionary, "signature-input": .dictionary,
        "use-as-dictionary": .dictionary, "want-content-digest": .dictionary, "want-repr-digest": .dictionary,
    ]

    /// Parses a field of this type and serializes it in its canonical form.
    func canonical(_ lines: [String]) throws(NetworkError) -> String {
        switch self {
        case .item: try StructuredField.Item(parsing: lines).serialized()
        case .list: try StructuredField.List(parsing: lines).serialized()
        case .dictionary: try StructuredField.Dictionary(parsing: lines).serialized()
        }
    }
}
