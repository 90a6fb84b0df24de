import Foundation

/// A link in a document to the test that proves what stands there: ``[`Suite.function`](../Tests/…/Suite.swift)``.
struct TestReference {
    let document: String
    let line: Int
    /// The path of the test's file from the top.
    let path: String
    /// `Suite.function`, as the document writes it.
    let name: String

    /// The references of a document, and nothing for links to other places than tests.
    static func references(in file: MarkdownFile) -> [Self] {
        file.links.compactMap { link in
            let path = Repository.path(String(link.target.prefix { $0 != "#" }), from: file.path)
            guard path.hasPrefix("Tests/"), path.hasSuffix(".swift"), !link.target.contains("://") else { return nil }
            return Self(
                document: file.path,
                line: link.line,
                path: path,
                name: link.text.trimmingCharacters(in: ["`"])
            )
        }
    }

    /// The tests that a file declares, as `Suite.function`: a suite begins a line, and an attribute stands before its function.
    static func tests(in source: String) -> Set<String> {
        var suite = ""
        var isTest = false
        var names: Set<String> = []
        for line in source.split(separator: "\n") {
            if line.first.map({ $0.isLetter || $0 == "@" }) == true,
                let match = line.firstMatch(of: /\b(?:struct|enum|class|actor|extension) (\w+)/)
            {
                suite = String(match.1)
            }
            if line.contains("@Test") { isTest = true }
            guard isTest, let match = line.firstMatch(of: /\bfunc (\w+)\(/) else { continue }
            names.insert(suite.isEmpty ? String(match.1) : "\(suite).\(match.1)")
            isTest = false
        }
        return names
    }
}
