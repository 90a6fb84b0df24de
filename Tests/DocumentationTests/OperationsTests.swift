import Foundation
import TestSupport
import Testing

/// Compares the tables for operators with the codes, events and counters in the sources.
@Suite("Docs/Observability.md and Docs/ErrorCodes.md", .computing)
struct OperationsTests {
    /// A table and the public type with the names that its first column must have.
    struct Vocabulary: Sendable, CustomTestStringConvertible {
        /// The page with the table.
        var page = "Docs/ErrorCodes.md"
        /// The heading above the table.
        let heading: String
        /// The name of the type.
        let type: String
        /// The text of a declaration before its name.
        var beginning = "        case "

        /// The names of the codes of an error.
        static func codes(_ type: String) -> Self { Self(heading: "### `\(type)`", type: type) }

        var testDescription: String { heading }

        /// The source of the type, without what follows in its file.
        func source() throws -> String {
            for path in Repository.paths(in: "Sources") where path.hasSuffix(".swift") {
                let text = try #require(Repository.text(path))
                guard let start = text.range(of: "\npublic (struct|enum) \(type)\\b", options: .regularExpression)
                else {
                    continue
                }
                return text[start.lowerBound...].components(separatedBy: "\n}\n")[0]
            }
            throw CocoaError(.fileNoSuchFile, userInfo: ["type": type])
        }
    }

    private static let vocabularies: [Vocabulary] = [
        .codes("OAuth2Error"),
        .codes("NetworkError"),
        .codes("AccessRefusal"),
        .codes("HTTPSignatureError"),
        .codes("WorkloadIdentityError"),
        .codes("TokenError"),
        .codes("TrustConfigurationError"),
        Vocabulary(heading: "### `TLSFailure`", type: "TLSFailure", beginning: "    case "),
        Vocabulary(
            page: "Docs/Observability.md",
            heading: "## Token events",
            type: "OAuth2Event",
            beginning: "    case "
        ),
        Vocabulary(
            page: "Docs/Observability.md",
            heading: "## Token counters",
            type: "OAuth2Counters",
            beginning: "    public var "
        ),
    ]

    @Test("Each name has a row, and each row has a name", arguments: vocabularies)
    func complete(vocabulary: Vocabulary) throws {
        let source = try #require(try vocabulary.source().components(separatedBy: " enum Code: ").last)
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
        #expect(rows.sorted() == declared.sorted(), "left: \(vocabulary.page), right: \(vocabulary.type)")
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
