import Foundation
import TestSupport
import Testing

/// Compares the tables for operators with the codes, events and counters in the sources.
@Suite("Docs/Observability.md and Docs/ErrorCodes.md", .computing)
struct OperationsTests {
    /// A table and the source file with the names that its first column must have.
    struct Vocabulary: Sendable, CustomTestStringConvertible {
        /// The page with the table.
        var page = "Docs/ErrorCodes.md"
        /// The heading above the table.
        let heading: String
        /// The file that declares the names.
        let path: String
        /// The text of a declaration before its name.
        var beginning = "        case "

        var testDescription: String { heading }
    }

    private static let vocabularies = [
        Vocabulary(
            heading: "### `OAuth2Error`",
            path: "Sources/OAuth2/Errors/OAuth2Error.swift"
        ),
        Vocabulary(
            heading: "### `NetworkError`",
            path: "Sources/Networking/Errors/NetworkError.swift"
        ),
        Vocabulary(
            heading: "### `AccessRefusal`",
            path: "Sources/ResourceServer/AccessRefusal.swift"
        ),
        Vocabulary(
            heading: "### `HTTPSignatureError`",
            path: "Sources/HTTPSignatures/HTTPSignatureError.swift"
        ),
        Vocabulary(
            heading: "### `WorkloadIdentityError`",
            path: "Sources/WorkloadIdentity/WorkloadIdentityError.swift"
        ),
        Vocabulary(
            heading: "### `TokenError`",
            path: "Sources/TokenGeneration/TokenError.swift"
        ),
        Vocabulary(
            heading: "### `TrustConfigurationError`",
            path: "Sources/Networking/Trust/TrustConfigurationError.swift"
        ),
        Vocabulary(
            heading: "### `TLSFailure`",
            path: "Sources/Networking/Trust/TLSFailure.swift",
            beginning: "    case "
        ),
        Vocabulary(
            page: "Docs/Observability.md",
            heading: "## Token events",
            path: "Sources/OAuth2/Tokens/OAuth2Event.swift",
            beginning: "    case "
        ),
        Vocabulary(
            page: "Docs/Observability.md",
            heading: "## Token counters",
            path: "Sources/OAuth2/Tokens/OAuth2Event.swift",
            beginning: "    public var "
        ),
    ]

    @Test("Each name has a row, and each row has a name", arguments: vocabularies)
    func complete(vocabulary: Vocabulary) throws {
        let file = try #require(Repository.text(vocabulary.path))
        let source = try #require(file.components(separatedBy: " enum Code: ").last)
        let declared = source.split(separator: "\n").compactMap { line -> String? in
            guard line.hasPrefix(vocabulary.beginning) else { return nil }
            let name = line.dropFirst(vocabulary.beginning.count).prefix { $0.isLetter || $0.isNumber }
            return name.isEmpty ? nil : String(name)
        }
        let page = try #require(Repository.text(vocabulary.page))
        let section = try #require(page.components(separatedBy: "\n\(vocabulary.heading)\n").dropFirst().first)
            .components(separatedBy: "\n#")[0]
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
            .flatMap { $0.split(separator: "|")[0].matches(of: /`(\w+)`/).map { String($0.1) } }
        #expect(declared.count > 5)
        #expect(rows.sorted() == declared.sorted(), "left: \(vocabulary.page), right: \(vocabulary.path)")
    }

    @Test("The metric of each token event is its case in snake case")
    func eventNames() throws {
        let page = try #require(Repository.text("Docs/Observability.md"))
        let section = try #require(page.components(separatedBy: "\n## Token events\n").dropFirst().first)
            .components(separatedBy: "\n## ")[0]
        let rows = section.matches(of: /(?m)^\| `(\w+)` \| `([\w.]+)` \|/)
        #expect(rows.count > 10)
        for row in rows {
            let snake = row.1.map { $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }.joined()
            #expect(row.2 == "oauth2.token.\(snake)")
        }
    }
}
