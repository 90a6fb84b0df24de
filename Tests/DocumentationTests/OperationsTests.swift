import Foundation
import Testing

/// That the page for operators leaves no code, event or counter out, and names none that there is not.
@Suite("Docs/Operations.md")
struct OperationsTests {
    /// A heading of the page, and what its table has to have in the first column.
    struct Vocabulary: Sendable, CustomTestStringConvertible {
        let heading: String
        /// The file that declares the names.
        let path: String
        /// How a declaration begins, before its name.
        let beginning: String

        var testDescription: String { heading }
    }

    private static let vocabularies = [
        Vocabulary(
            heading: "### `OAuth2Error`",
            path: "Sources/OAuth2/Errors/OAuth2Error.swift",
            beginning: "        public static var "
        ),
        Vocabulary(
            heading: "### `NetworkError`",
            path: "Sources/Networking/Errors/NetworkError.swift",
            beginning: "        public static var "
        ),
        Vocabulary(
            heading: "### `AccessRefusal`",
            path: "Sources/ResourceServer/AccessRefusal.swift",
            beginning: "        public static var "
        ),
        Vocabulary(
            heading: "### `TokenError`",
            path: "Sources/TokenGeneration/TokenError.swift",
            beginning: "        public static var "
        ),
        Vocabulary(
            heading: "### `TrustConfigurationError`",
            path: "Sources/Networking/Trust/TrustConfigurationError.swift",
            beginning: "        public static var "
        ),
        Vocabulary(
            heading: "### `TLSFailure`",
            path: "Sources/Networking/Trust/TLSFailure.swift",
            beginning: "    case "
        ),
        Vocabulary(
            heading: "### Events of an authenticator",
            path: "Sources/OAuth2/Tokens/OAuth2Event.swift",
            beginning: "    case "
        ),
        Vocabulary(
            heading: "### Counters of an authenticator",
            path: "Sources/OAuth2/Tokens/OAuth2Event.swift",
            beginning: "    public var "
        ),
    ]

    @Test("Each name has a row, and each row is of a name", arguments: vocabularies)
    func complete(vocabulary: Vocabulary) throws {
        let source = try #require(Repository.text(vocabulary.path))
        let declared = source.split(separator: "\n").compactMap { line -> String? in
            guard line.hasPrefix(vocabulary.beginning) else { return nil }
            let name = line.dropFirst(vocabulary.beginning.count).prefix { $0.isLetter || $0.isNumber }
            return name.isEmpty ? nil : String(name)
        }
        let page = try #require(Repository.text("Docs/Operations.md"))
        let section = try #require(page.components(separatedBy: "\n\(vocabulary.heading)\n").dropFirst().first)
            .components(separatedBy: "\n#")[0]
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
            .flatMap { $0.split(separator: "|")[0].matches(of: /`(\w+)`/).map { String($0.1) } }
        #expect(declared.count > 5)
        #expect(rows.sorted() == declared.sorted(), "left: the page, right: \(vocabulary.path)")
    }
}
