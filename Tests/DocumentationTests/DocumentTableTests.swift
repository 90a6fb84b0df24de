import Foundation
import TestSupport
import Testing

/// Checks the tables in Docs whose rows must link to tests.
@Suite("Tables with tests", .computing)
struct DocumentTableTests {
    @Test("Each attack has a test", arguments: ["Docs/TokenAttacks.md", "Docs/ProtocolAttacks.md"])
    func attacks(page: String) throws {
        let rows = try rows(of: page).filter { $0.cells[0].wholeMatch(of: /[A-Z]\d+/) != nil }
        #expect(rows.count > 50)
        for row in rows { #expect(row.proofs > 0, "line \(row.line): missing test for \(row.cells[0])") }
    }

    @Test("Each row of Docs/Standards.md has a test or a link to the attacks")
    func standards() throws {
        let heads = ["section", "RFC", "specification"]
        let pages = ["Docs/Standards.md", "Docs/OAuthStandards.md", "Docs/HTTPStandards.md"]
        let rows = try pages.flatMap { try self.rows(of: $0) }.filter { !heads.contains($0.cells[0]) }
        for row in rows {
            let isElsewhere = row.cells.last?.contains("](TokenAttacks.md") == true
            #expect(row.proofs > 0 || isElsewhere, "line \(row.line): missing test for \(row.cells[0])")
        }
    }

    @Test("Each rule of Docs/RFC8725bis.md has a test, and each best practice has a rule")
    func bestPractices() throws {
        let rows = try rows(of: "Docs/RFC8725bis.md").filter { $0.cells[0] != "section" }
        for row in rows { #expect(row.proofs > 0, "line \(row.line): missing test for \(row.cells[0])") }
        let sections = Set(rows.map { $0.cells[0] })
        #expect(sections == Set((1...15).map { "§3.\($0)" }))
    }

    @Test("Each row of Docs/Features.md has a test or states that the feature is missing")
    func features() throws {
        let pages = ["Docs/Features.md", "Docs/Predecessors.md"]
        let rows = try pages.flatMap { try self.rows(of: $0) }.filter { $0.cells[0] != "#" }
        for row in rows {
            let says = row.cells.dropLast().last ?? ""
            #expect(row.proofs > 0 || says.hasPrefix("not here"), "line \(row.line): missing test for \(row.cells[0])")
        }
    }

    private struct Row {
        let line: Int
        let cells: [String]
        /// The number of linked tests.
        let proofs: Int
    }

    /// Returns the rows of all tables of a document, without the delimiter rows.
    private func rows(of path: String) throws -> [Row] {
        let text = try #require(Repository.text(path))
        let references = Dictionary(
            grouping: TestReference.references(in: MarkdownFile(path: path, text: text)),
            by: \.line
        )
        return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            guard line.hasPrefix("|"), !line.hasPrefix("|-") else { return nil }
            let cells = line.dropFirst().split(separator: "|", omittingEmptySubsequences: false).dropLast()
            return Row(
                line: index + 1,
                cells: cells.map { $0.trimmingCharacters(in: .whitespaces) },
                proofs: references[index + 1]?.count ?? 0
            )
        }
    }
}
