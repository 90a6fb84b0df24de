import Foundation
import Testing

/// That the tables of Docs which promise a proof for each row have it.
@Suite("Tables with proofs")
struct DocumentTableTests {
    @Test("Each attack in Docs/Security.md has a number of its own and a test that shows what happens")
    func attacks() throws {
        let rows = try rows(of: "Docs/Security.md").filter { $0.cells[0].wholeMatch(of: /[A-Z]\d+/) != nil }
        #expect(rows.count > 100)
        #expect(Set(rows.map { $0.cells[0] }).count == rows.count)
        for row in rows { #expect(row.proofs > 0, "line \(row.line): no test for \(row.cells[0])") }
    }

    @Test("Each row of Docs/Standards.md has a test, and where it is")
    func standards() throws {
        let heads = ["section", "RFC", "specification"]
        let rows = try rows(of: "Docs/Standards.md").filter { !heads.contains($0.cells[0]) }
        #expect(rows.count > 100)
        for row in rows {
            let isElsewhere = row.cells.last?.contains("](Security.md") == true
            #expect(row.proofs > 0 || isElsewhere, "line \(row.line): no test for \(row.cells[0])")
        }
    }

    @Test("Each row of the source documents and of peers is in Docs/Features.md, with a test or what is missing")
    func features() throws {
        let rows = try rows(of: "Docs/Features.md").filter { $0.cells[0] != "#" }
        let documents = [("0", 29), ("1", 45), ("2", 23), ("3", 34), ("4", 42)].flatMap { document, count in
            (1...count).map { "\(document).\($0)" }
        }
        let peers = [("J", 26), ("C", 28), ("O", 25)].flatMap { peer, count in (1...count).map { "\(peer)\($0)" } }
        #expect(rows.map { $0.cells[0] }.sorted() == (documents + peers + ["3.19b", "4.14b"]).sorted())
        for row in rows {
            let says = row.cells.dropLast().last ?? ""
            #expect(row.proofs > 0 || says.hasPrefix("not here"), "line \(row.line): no test for \(row.cells[0])")
        }
    }

    @Test("Each RFC that the sources cite is in Docs/Standards.md")
    func cited() throws {
        let page = try #require(Repository.text("Docs/Standards.md"))
        let known = Set(page.matches(of: /RFC (\d{4})/).map { String($0.1) })
        for path in Repository.paths(in: "Sources") where path.hasSuffix(".swift") || path.hasSuffix(".h") {
            for number in Self.cited(in: Repository.text(path) ?? "") {
                #expect(known.contains(number), "\(path) cites RFC \(number), which Docs/Standards.md does not have")
            }
        }
    }

    @Test("Citations are found wherever they stand")
    func citations() {
        #expect(Self.cited(in: "/// RFC 7515 §4, ([RFC 9110](https://a)\nRFC 1 RFC") == ["7515", "9110"])
    }

    private struct Row {
        let line: Int
        let cells: [String]
        /// How many tests it links to.
        let proofs: Int
    }

    /// The rows of all tables of a document, without those between head and body.
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

    /// The numbers of four digits that follow “RFC ”; by octets, because the sources are long.
    private static func cited(in text: String) -> Set<String> {
        let octets = Array(text.utf8)
        let mark = Array("RFC ".utf8)
        var numbers: Set<String> = []
        for start in octets.indices.dropLast(7) where octets[start] == mark[0] {
            guard octets[start..<start + 4].elementsEqual(mark) else { continue }
            let digits = octets[(start + 4)..<(start + 8)]
            if digits.allSatisfy({ (48...57).contains($0) }) { numbers.insert(String(decoding: digits, as: UTF8.self)) }
        }
        return numbers
    }
}
