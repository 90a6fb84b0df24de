import Foundation
import TestSupport
import Testing

/// Compares the rows of the pages with the tests and scripts that show them.
@Suite("Rows of the pages and their tests", .computing)
struct RowTests {
    private static let rows = Repository.pages.flatMap { Row.rows(of: $0.path, text: Repository.text($0.path) ?? "") }

    /// The files that show each row. This file has samples.
    private static let files: [String: [String]] = Repository.paths(in: "Tests")
        .filter { !$0.hasSuffix("/RowTests.swift") }
        .reduce(into: [:]) { files, path in
            for name in Row.shown(in: Repository.text(path) ?? "") { files[name, default: []].append(path) }
        }

    @Test("Each row is unique and has a test, and each test shows existing rows")
    func complete() {
        #expect(Self.rows.count > 1_000)
        let problems = Row.problems(rows: Self.rows, files: Self.files)
        #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
    }

    @Test("Pages name no test functions and no files with tests", arguments: Repository.pages)
    func references(file: MarkdownFile) {
        for reference in Row.references(in: file) { Issue.record("\(file.path): \(reference)") }
    }

    @Test("Detects a row without a test, a repeated row, and a test of an unknown row")
    func planted() {
        let rows = Row.rows(
            of: "Docs/A.md",
            text: """
                | row | attack |
                |---|---|
                | A1 | one |
                | A2 | two |
                | A1 | three |
                | A3 | not here: too large |
                """
        )
        #expect(
            Row.problems(rows: rows, files: ["A1": ["a.swift"], "A9": ["b.swift"]]) == [
                "Docs/A.md:4: no test shows A2", "Docs/A.md:5: repeats A1", "b.swift: no page has the row A9",
            ]
        )
        #expect(Row.problems(rows: Array(rows.prefix(1)), files: ["A1": ["a.swift", "b.swift"]]).isEmpty)
    }

    @Test("Reads the first cells of tables with the column “row”")
    func reading() {
        let rows = Row.rows(
            of: "Docs/A.md",
            text: """
                | row | here |
                |---|---|
                | [RFC 1](https://www.rfc-editor.org/rfc/rfc1) §2, [RFC 3](https://www.rfc-editor.org/rfc/rfc3) (own) | a |
                | `happy-path` | a \\| b |

                | topic | row |
                |---|---|
                | A1 | a |
                """
        )
        #expect(rows.map(\.name) == ["RFC 1 §2, RFC 3 (own)", "happy-path"])
        #expect(rows.map(\.line) == [3, 4])
    }

    @Test("Reads the rows of traits and comments")
    func traits() {
        let source = """
            #!/bin/sh
            # shows: A1
            // shows: RFC 1 §2, RFC 3
            @Test(
                "a (b)",
                .shows(
                    "B1",
                    "RFC 1 §2 (own)"
                ),
                arguments: ["C1"]
            )
            @Test("c", .shows("D1")) func c() { print("E1") }
            """
        #expect(Row.shown(in: source) == ["B1", "RFC 1 §2 (own)", "D1", "A1", "RFC 1 §2, RFC 3"])
    }

    @Test("Detects names of test functions and of their files, but not of suites and other files")
    func planting() {
        let file = MarkdownFile(
            path: "Docs/A.md",
            text: """
                [a](../Tests/X/OneTests.swift), `TwoTests.two`, `bash Tests/Fuzz/run`, `Tests/Samples/Given.swift`
                and the suite `OneTests`
                """
        )
        #expect(Row.references(in: file) == ["../Tests/X/OneTests.swift", "TwoTests.two"])
    }
}

/// A row of a table whose first column is `row`.
private struct Row {
    let page: String
    let line: Int
    /// The text of the first cell, without links and backquotes.
    let name: String
    /// A Boolean value that indicates whether a cell says “not here”.
    let isMissing: Bool

    /// Returns the rows of a page's tables.
    static func rows(of page: String, text: String) -> [Self] {
        var isTable = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            guard line.hasPrefix("|"), !line.hasPrefix("| row |") else {
                isTable = line.hasPrefix("|")
                return nil
            }
            guard isTable, !line.hasPrefix("|-") else { return nil }
            let cell = line.dropFirst().prefix { $0 != "|" }
            let name = String(cell).replacing(/\[([^\[\]]*)\]\([^)]*\)/) { $0.1 }.replacing("`", with: "")
            return Self(
                page: page,
                line: index + 1,
                name: name.trimmingCharacters(in: .whitespaces),
                isMissing: line.contains("| not here")
            )
        }
    }

    /// Returns the rows that a file shows: the arguments of `.shows(…)`, and lines such as
    /// `# shows: A1`.
    static func shown(in source: String) -> [String] {
        var names: [String] = []
        for call in source.components(separatedBy: ".shows(").dropFirst() {
            for (index, piece) in call.components(separatedBy: "\"").enumerated() {
                if index.isMultiple(of: 2) {
                    if piece.contains(")") { break }
                } else {
                    names.append(piece)
                }
            }
        }
        for mark in ["\n# shows: ", "\n// shows: "] {
            names += source.components(separatedBy: mark).dropFirst().map { String($0.prefix { $0 != "\n" }) }
        }
        return names
    }

    /// Returns the problems of the rows and of the files that show them, in a stable order.
    static func problems(rows: [Self], files: [String: [String]]) -> [String] {
        var known: Set<String> = []
        var problems: [String] = []
        for row in rows {
            if !known.insert(row.name).inserted {
                problems.append("\(row.page):\(row.line): repeats \(row.name)")
            } else if !row.isMissing, files[row.name] == nil {
                problems.append("\(row.page):\(row.line): no test shows \(row.name)")
            }
        }
        for name in files.keys.sorted() where !known.contains(name) {
            problems += Set(files[name] ?? []).sorted().map { "\($0): no page has the row \(name)" }
        }
        return problems
    }

    /// Returns the links and code spans that name a test function or a file with tests.
    static func references(in file: MarkdownFile) -> [String] {
        file.links.map(\.target).filter {
            Repository.path($0, from: file.path).wholeMatch(of: /Tests\/.*Tests\.swift(#.*)?/) != nil
        } + file.codeSpans.map(\.text).filter { $0.contains(/\w+Tests\.\w+/) }
    }
}
