import Foundation
import TestSupport
import Testing

@Suite("Links to tests", .computing)
struct TestReferenceTests {
    @Test("The linked file contains the named test", arguments: Repository.pages)
    func exist(file: MarkdownFile) throws {
        let references = Dictionary(grouping: TestReference.references(in: file), by: \.path)
        for (path, references) in references {
            let source = try #require(Repository.text(path), "\(file.path):\(references[0].line): missing file \(path)")
            let tests = TestReference.tests(in: source)
            for reference in references {
                #expect(
                    tests.contains(reference.name),
                    "\(file.path):\(reference.line): missing test “\(reference.name)” in \(path)"
                )
            }
        }
    }

    @Test("Finds suites and their tests in a source file")
    func reading() {
        let source = """
            @Suite("One") struct OneTests {
                @Test("a") func a() {}
                @Test(
                    "b",
                    arguments: [1]
                )
                func b(value: Int) { func inner() {} }
                func helper() {}
                struct Nested {}
            }
            extension TwoTests {
                @Test func c() async throws {}
            }
            """
        #expect(TestReference.tests(in: source) == ["OneTests.a", "OneTests.b", "TwoTests.c"])
    }

    @Test("Finds links to tests and ignores other links")
    func links() {
        let file = MarkdownFile(
            path: "Docs/A.md",
            text:
                "[`OneTests.a`](../Tests/X/OneTests.swift), [A](../Sources/A.swift), [x](https://a.example/Tests/b.swift)"
        )
        let references = TestReference.references(in: file)
        #expect(references.map(\.name) == ["OneTests.a"])
        #expect(references.map(\.path) == ["Tests/X/OneTests.swift"])
    }
}
