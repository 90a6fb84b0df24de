import Foundation
import TestSupport
import Testing

/// Checks the code blocks of the pages. `.ci/samples` compiles those with the info string `swift`.
@Suite("Samples in README.md, Docs and DocC articles", .computing)
struct SampleTests {
    /// The allowed info strings. `swift package` marks an excerpt of a user's Package.swift.
    private static let infoStrings: Set = ["swift", "swift package", "sh", "json", "http", "text", "console"]

    @Test("Each fence is closed and has a known info string", .shows("1.44"), arguments: Repository.documentation)
    func fences(file: MarkdownFile) {
        for block in file.blocks {
            #expect(block.isClosed, "\(file.path):\(block.line): missing closing fence")
            #expect(
                Self.infoStrings.contains(block.info),
                "\(file.path):\(block.line): unknown info string “\(block.info)”. Use one of \(Self.infoStrings.sorted())."
            )
        }
    }

    @Test(
        "Excerpts of a user's Package.swift name this package and its products",
        .shows("3.1"),
        arguments: Repository.documentation
    )
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

    private static let examples = ["reports-service", "vapid-push", "vectors"].map { "Examples/\($0)/Package.swift" }

    @Test(
        "Each dependency on this package or its integrations has one form",
        arguments: Repository.pages.map(\.path) + examples
    )
    func dependencies(path: String) throws {
        let text = try #require(Repository.text(path)).filter { !$0.isWhitespace }
        let allowed = ["", "-integrations"].flatMap { name in
            let url = "url:\"https://git.example.com/swift-authenticated-client\(name).git\""
            // A page explains the package's trait, and Getting started begins with a clone.
            return ["\(url),.upToNextMinor(from:\"0.1.0\"))", "path:\"../swift-authenticated-client\")"]
        }
        for match in text.matches(of: /\.package\(/) {
            let dependency = text[match.range.upperBound...]
            guard dependency.prefix(90).contains("swift-authenticated-client") || dependency.hasPrefix("url:…") else {
                continue
            }
            #expect(allowed.contains { dependency.hasPrefix($0) }, "\(path): \(dependency.prefix(120))")
        }
        #expect(path.hasSuffix("GettingStarted.md") || !text.contains(".package(path:"))
    }
}
