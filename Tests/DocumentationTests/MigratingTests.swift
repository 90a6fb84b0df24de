import Foundation
import TestSupport
import Testing

/// Checks that the migration page names existing declarations.
@Suite("Docs/Migrating.md", .computing)
struct MigratingTests {
    private static let pages = ["Docs/Migrating.md", "Docs/MigratingFromAlicerce.md"]
    private static let rows = pages.flatMap { MigrationRow.rows(in: Repository.text($0) ?? "") }
    private static let declarations = PublicDeclarations(folders: [
        "Sources/Networking", "Sources/OAuth2", "Sources/ResourceServer", "Sources/SharedStores",
        "Sources/WorkloadIdentity", "Sources/TokenGeneration", "Sources/MockNetworking",
    ])

    @Test("Each name of this package exists and is public", .shows("2.1"))
    func targets() {
        #expect(!Self.rows.isEmpty)
        for row in Self.rows {
            for name in row.here where !Self.others.contains(name) {
                let exists = Self.declarations.contains(name)
                #expect(exists, "line \(row.line): missing public declaration `\(name)`")
            }
        }
    }

    @Test("Detects a name that doesn't exist")
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
        // The labels must match, too.
        let isLenient = Self.declarations.contains("NetworkClient.fetch(_:model:)")
        #expect(!isLenient)
    }

    /// The names in the right column that belong to Swift or Foundation.
    private static let others: Set = [
        "Data", "URLRequest", "Duration", "Void", "Int", "Encodable", "CancellationError", "async", "nil", "/", "alg",
        "+",
        "User-Agent",
    ]
}

/// A table row with the names of this package in it.
struct MigrationRow {
    let line: Int
    let here: [String]

    static func rows(in text: String) -> [Self] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("|"), cells.count == 2, cells[0] != "there", !cells[0].hasPrefix("---") else {
                return nil
            }
            return Self(line: index + 1, here: codeSpans(in: cells[1]))
        }
    }

    private static func codeSpans(in text: String) -> [String] {
        text.matches(of: /`([^`]+)`/).map { String($0.1) }
    }
}
