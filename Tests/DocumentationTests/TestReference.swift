import Foundation

/// A link from a document to a test, such as ``[`Suite.function`](../Tests/…/Suite.swift)``.
struct TestReference {
    let document: String
    let line: Int
    /// The path of the test's file, relative to the top of the repository.
    let path: String
    /// The test's name in the document, as `Suite.function`.
    let name: String

    /// Returns the links of a document that lead to tests.
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

    /// Returns the tests that a file declares, as `Suite.function`.
    ///
    /// A suite's declaration must start a line, and `@Test` must precede its function.
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
