import Foundation
import Testing

/// That the page about migrating leaves no name out, and leads to names that exist.
@Suite("Docs/Migrating.md")
struct MigratingTests {
    private static let page = Repository.text("Docs/Migrating.md") ?? ""
    private static let rows = MigrationRow.rows(in: page)
    private static let declarations = PublicDeclarations(folders: [
        "Sources/Networking", "Sources/OAuth2", "Sources/TokenGeneration", "Sources/MockNetworking",
    ])

    @Test("Each public name of the source documents is there", arguments: SourceDocument.all)
    func names(document: SourceDocument) {
        let section = MigrationRow.rows(in: Self.page.section(titled: document.section))
        let there = Set(section.flatMap(\.there))
        for name in document.names {
            #expect(there.contains(name), "`\(name)` of \(document) is in no row of “\(document.section)”")
        }
    }

    @Test("Each name of ours exists and is public")
    func targets() {
        #expect(Self.rows.count > 80)
        for row in Self.rows {
            for name in row.here where !Self.others.contains(name) {
                let exists = Self.declarations.contains(name)
                #expect(exists, "line \(row.line): there is no public `\(name)`")
            }
        }
    }

    @Test("Each row has a name on the left and an answer on the right")
    func completeness() {
        for row in Self.rows {
            #expect(!row.there.isEmpty, "line \(row.line): no name of theirs")
            #expect(row.answer.count > 3, "line \(row.line): no answer")
        }
    }

    @Test("A name that does not exist is noticed")
    func invented() {
        for name in ["Inventor", "NetworkClient.invent(_:)", "NetworkError.Code.invented", "HTTPEndpoint.invented"] {
            let exists = Self.declarations.contains(name)
            #expect(!exists, "\(name)")
        }
        for name in [
            "NetworkClient", "NetworkClient.fetch(_:decoding:)", "NetworkError.Code.noData", "HTTPEndpoint.query",
        ] {
            let exists = Self.declarations.contains(name)
            #expect(exists, "\(name)")
        }
        // The right name with the wrong labels is as wrong.
        let isLenient = Self.declarations.contains("NetworkClient.fetch(_:model:)")
        #expect(!isLenient)
    }

    /// Names on the right that are Swift's or Foundation's.
    private static let others: Set = [
        "Data", "URLRequest", "Duration", "Void", "Int", "Encodable", "async", "nil", "/", "alg", "+", "User-Agent",
    ]
}

/// A row of a table: what stands on the left, and what on the right.
struct MigrationRow {
    let line: Int
    let there: [String]
    let here: [String]
    let answer: String

    static func rows(in text: String) -> [Self] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("|"), cells.count == 2, cells[0] != "there", !cells[0].hasPrefix("---") else {
                return nil
            }
            return Self(
                line: index + 1,
                there: codeSpans(in: cells[0]),
                here: codeSpans(in: cells[1]),
                answer: cells[1]
            )
        }
    }

    private static func codeSpans(in text: String) -> [String] {
        text.matches(of: /`([^`]+)`/).map { String($0.1) }
    }
}

extension String {
    /// What follows a heading of the second level, up to the next one.
    fileprivate func section(titled title: String) -> String {
        guard let start = range(of: "\n## \(title)\n")?.upperBound else { return "" }
        return String(self[start...].prefix(upTo: self[start...].range(of: "\n## ")?.lowerBound ?? endIndex))
    }
}
