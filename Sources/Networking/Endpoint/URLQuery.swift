/// The query of an endpoint, or the fields of a form: names and values, in order.
///
/// ```swift
/// let query: URLQuery = ["page": 2, "q": text, "sort": optional, "id": [1, 2, 3]]
/// ```
///
/// `nil` is left out and an array repeats the name. Names and values are text, never taken for percent-encoded: everything
/// but letters, digits and `-._~` is escaped, so that no value can add a parameter, and a `+` stays a `+`.
public struct URLQuery: Sendable, Hashable {
    enum Content: Sendable, Hashable {
        case text(String)
        /// Items whose separating commas stay bare.
        case list([String])
        case encoded(String)
        /// Only the name, without `=`.
        case absent
    }

    private(set) var items: [(name: String, value: Content)] = []

    /// Makes an empty query.
    public init() {}

    /// Whether there is nothing in it.
    public var isEmpty: Bool { items.isEmpty }

    /// Adds a parameter after the others.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value; `nil` adds nothing, an array adds one parameter for each element.
    public mutating func append(_ name: String, _ value: (any URLQueryValue)?) {
        value?.append(to: &self, name: name)
    }

    /// Adds a name without a value and without `=`, as some APIs have them.
    ///
    /// - Parameter name: The name.
    public mutating func appendName(_ name: String) {
        items.append((name, .absent))
    }

    mutating func append(_ name: String, value: Content) {
        items.append((name, value))
    }

    /// Elements separated by commas in one parameter, as in `id=1,2,3`; commas in elements are escaped.
    ///
    /// - Parameter elements: The elements; with none the parameter is left out.
    /// - Returns: The value.
    public static func commaSeparated(_ elements: [some URLQueryValue]) -> URLQueryList {
        URLQueryList(style: .commaSeparated, elements: elements)
    }

    /// Elements in parameters whose name has brackets, as in `id[]=1&id[]=2`; the brackets are escaped.
    ///
    /// - Parameter elements: The elements; with none the parameter is left out.
    /// - Returns: The value.
    public static func bracketed(_ elements: [some URLQueryValue]) -> URLQueryList {
        URLQueryList(style: .bracketed, elements: elements)
    }

    /// A value that is percent-encoded already and passes as it is.
    ///
    /// Making the request fails with ``NetworkError/Code/invalidRequest`` if it has a character that a query can't have.
    ///
    /// - Parameter value: The encoded value. A `&` in it begins another parameter.
    /// - Returns: The value.
    public static func percentEncoded(_ value: String) -> URLQueryRawValue {
        URLQueryRawValue(encoded: value)
    }

    /// The query, percent-encoded, without the question mark.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if a value that is said to be encoded is not.
    func encoded() throws(NetworkError) -> String {
        try encoded { PercentEncoding.encode($0) }
    }

    /// The fields in the format `application/x-www-form-urlencoded`.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if a value that is said to be encoded is not.
    func formEncoded() throws(NetworkError) -> String {
        try encoded { FormURLEncoded.encode($0) }
    }

    private func encoded(_ encode: (String) -> String) throws(NetworkError) -> String {
        var pairs: [String] = []
        for (name, value) in items {
            let name = encode(name)
            switch value {
            case .text(let text): pairs.append("\(name)=\(encode(text))")
            case .list(let elements): pairs.append("\(name)=\(elements.map(encode).joined(separator: ","))")
            case .absent: pairs.append(name)
            case .encoded(let text):
                guard PercentEncoding.isEncoded(text, allowing: PercentEncoding.isQueryCharacter) else {
                    throw NetworkError(
                        .invalidRequest,
                        "the value of “\(name)” is said to be percent-encoded, but has a character that must be, or a "
                            + "malformed escape"
                    )
                }
                pairs.append("\(name)=\(text)")
            }
        }
        return pairs.joined(separator: "&")
    }

    /// Whether two queries have the same parameters in the same order.
    ///
    /// - Parameters:
    ///   - left: One query.
    ///   - right: The other.
    /// - Returns: Whether they are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.items.elementsEqual(right.items) { $0.name == $1.name && $0.value == $1.value }
    }

    /// Feeds the parameters into a hasher.
    ///
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) {
        for item in items {
            hasher.combine(item.name)
            hasher.combine(item.value)
        }
    }
}

extension URLQuery: ExpressibleByDictionaryLiteral {
    /// Makes a query of a literal, in its order; a name may be repeated.
    ///
    /// - Parameter elements: Names and values.
    public init(dictionaryLiteral elements: (String, (any URLQueryValue)?)...) {
        for (name, value) in elements { append(name, value) }
    }
}
