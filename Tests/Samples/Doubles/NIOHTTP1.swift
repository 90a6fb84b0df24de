// A double of SwiftNIO 2 with the declarations that samples use. `.ci/samples` compiles
// them, and never runs it.

public enum HTTPMethod: Hashable, Sendable {
    public var rawValue: String { "" }
}

public struct HTTPHeaders: ExpressibleByDictionaryLiteral, RandomAccessCollection, Sendable {
    public init(_ headers: [(String, String)] = []) {}

    public init(dictionaryLiteral elements: (String, String)...) {}

    public var startIndex: Int { 0 }
    public var endIndex: Int { 0 }

    public subscript(position: Int) -> (name: String, value: String) { ("", "") }
}

public enum HTTPResponseStatus: Sendable {
    case ok
    case notFound

    public init(statusCode: Int, reasonPhrase: String = "") { self = .ok }
}
