import Foundation
import Testing

@Suite("Docs/Conformance.md")
struct ConformanceDocumentTests {
    @Test("Each of the 59 modules has a test, and the test's file knows the module's name")
    func modules() throws {
        let path = "Docs/Conformance.md"
        let text = try #require(Repository.text(path))
        let references = Dictionary(
            grouping: TestReference.references(in: MarkdownFile(path: path, text: text)),
            by: \.line
        )
        var names: Set<Substring> = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let name = line.prefixMatch(of: /\| `([a-z0-9_-]+)` \|/)?.1 else { continue }
            names.insert(name)
            let reference = try #require(references[index + 1]?.first, "line \(index + 1): no test for \(name)")
            let source = try #require(Repository.text(reference.path))
            let pattern = try Regex("\"([a-zA-Z0-9_-]+, )*\(name)[\",: ]|, \(name)[:,]")
            #expect(source.contains(pattern), "line \(index + 1): \(reference.path) does not know \(name)")
        }
        #expect(names.count == 59)
    }
}
