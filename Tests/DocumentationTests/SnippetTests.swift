import Foundation
import Testing

@Suite("Samples in README.md, Docs and DocC articles")
struct SnippetTests {
    /// The allowed info strings. `swift package` marks an excerpt of a user's Package.swift.
    private static let infoStrings: Set = ["swift", "swift package", "sh", "json", "http", "text", "console"]

    /// The files whose lines are compiled: here, or with the package `Integrations`.
    private static let sources: [[String]] = ["Tests/DocumentationTests/Snippets", "Integrations/Tests"]
        .flatMap(Repository.paths(in:))
        .filter { $0.hasSuffix(".swift") }
        .compactMap { Repository.text($0).map { significantLines(of: $0) } }

    @Test("Each fence is closed and has a known info string", arguments: Repository.documentation)
    func fences(file: MarkdownFile) {
        for block in file.blocks {
            #expect(block.isClosed, "\(file.path):\(block.line): missing closing fence")
            #expect(
                Self.infoStrings.contains(block.info),
                "\(file.path):\(block.line): unknown info string “\(block.info)”. Use one of \(Self.infoStrings.sorted())."
            )
        }
    }

    @Test("Each Swift sample appears, line by line, in a compiled file", arguments: Repository.documentation)
    func compiled(file: MarkdownFile) {
        for block in file.blocks where block.info == "swift" {
            let lines = Self.significantLines(of: block.content.joined(separator: "\n"))
            let imports = lines.filter { $0.hasPrefix("import ") }
            let code = lines.filter { !$0.hasPrefix("import ") }
            let isThere = Self.sources.contains { source in
                imports.allSatisfy(source.contains) && (code.isEmpty || source.firstRange(of: code) != nil)
            }
            #expect(
                isThere,
                """
                \(file.path):\(block.line): This sample isn't compiled. Copy it, with its imports, to a function or test \
                in Tests/DocumentationTests/Snippets.
                """
            )
        }
    }

    @Test("Excerpts of a user's Package.swift name this package and its products", arguments: Repository.documentation)
    func packageExcerpts(file: MarkdownFile) throws {
        let manifest = try #require(Repository.text("Package.swift"))
        for block in file.blocks where block.info == "swift package" {
            let text = block.content.joined(separator: "\n")
            let products = text.matches(of: /\.product\(name: "([^"]+)", package: "([^"]+)"\)/)
            #expect(
                !products.isEmpty || text.contains("swift-authenticated-client"),
                "\(file.path):\(block.line): the excerpt doesn't name this package"
            )
            for product in products {
                #expect(
                    manifest.contains(".library(name: \"\(product.1)\"") && product.2 == "swift-authenticated-client",
                    "\(file.path):\(block.line): unknown product \(product.1) of package \(product.2)"
                )
            }
        }
    }

    /// Returns the lines without indentation and without empty lines.
    private static func significantLines(of text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
