import Foundation
import TestSupport
import Testing

@Suite("Docs/FAPI.md", .computing)
struct FAPIDocumentTests {
    /// The functions of each suite in the test sources.
    private static let functions: [String: Set<String>] = {
        var functions: [String: Set<String>] = [:]
        for path in Repository.paths(in: "Tests") where path.hasSuffix(".swift") {
            let text = Repository.text(path) ?? ""
            let names = Set(text.matches(of: /func (\w+)\(/).map { String($0.1) })
            for type in text.matches(of: /struct (\w+) \{/) { functions[String(type.1), default: []].formUnion(names) }
        }
        return functions
    }()

    @Test("Each requirement names a test that exists")
    func tests() throws {
        let text = try #require(Repository.text("Docs/FAPI.md"))
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| §") }
        try #require(!rows.isEmpty)
        for row in rows {
            let named = row.matches(of: /`(\w+Tests)\.(\w+)`/)
            #expect(!named.isEmpty, "missing test: \(row)")
            for test in named {
                #expect(
                    Self.functions[String(test.1)]?.contains(String(test.2)) == true,
                    "unknown test \(test.1).\(test.2)"
                )
            }
        }
    }
}
