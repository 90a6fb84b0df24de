import Foundation
import Testing

/// That the code of the tutorial for DocC is the code that is compiled and run here.
@Suite("Tutorial: its files")
struct TutorialTests {
    private static let folder = "Sources/OAuth2/Documentation.docc/Tutorial"

    /// The names of the files that steps show, in their order: `ReportsAPI-1.swift`.
    private static let steps: [String] = (Repository.text("\(folder)/AServiceClientStepByStep.tutorial") ?? "")
        .matches(of: /@Code\(name: "[\w.]+", file: ([\w.-]+)\)/).map { String($0.1) }

    private static func lines(_ path: String) throws -> [Substring] {
        try #require(Repository.text(path), "there is no \(path)").split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
    }

    @Test("Each step shows a file that is there, and each file is shown once")
    func complete() throws {
        let files = Repository.paths(in: Self.folder).filter { $0.hasSuffix(".swift") }
        #expect(Self.steps.map { "\(Self.folder)/\($0)" }.sorted() == files)
        #expect(files.count == 9)
    }

    @Test(
        "A step goes on where the one before has stopped, and the last one is compiled and run",
        arguments: [
            "ReportsAPI", "ReportsClient", "ReportsClientTests",
        ]
    )
    func code(name: String) throws {
        let versions = Self.steps.filter { $0.wholeMatch(of: /(\w+)-\d\.swift/)?.1 == Substring(name) }
        let texts = try versions.map { version in
            // The tests of the tutorial's package import it; here everything is one module.
            try Self.lines("\(Self.folder)/\(version)").filter { $0 != "@testable import Dashboard" }
        }
        for (earlier, later) in zip(texts, texts.dropFirst()) {
            #expect(later.starts(with: earlier.dropLast()) && later.count > earlier.count)
        }
        // Members of other modules need their import here, which packages have to ask for.
        let compiled = try Self.lines("Tests/DocumentationTests/Snippets/Tutorial/\(name).swift")
            .filter { name != "ReportsClientTests" || $0 != "import Networking" }
        let last = try #require(texts.last)
        #expect(last.filter { !$0.isEmpty } == compiled.filter { !$0.isEmpty })
    }

    @Test("Its Package.swift names products of this package, and the modules that its code imports")
    func package() throws {
        let manifest = try #require(Repository.text("Package.swift"))
        let text = try Self.lines("\(Self.folder)/Package-2.swift").joined(separator: "\n")
        let products = Set(
            text.matches(of: /\.product\(name: "(\w+)", package: "swift-authenticated-client"\)/).map(\.1)
        )
        for product in products { #expect(manifest.contains(".library(name: \"\(product)\"")) }
        let imports = try Self.steps.filter { !$0.hasPrefix("Package") }.flatMap {
            try Self.lines("\(Self.folder)/\($0)")
        }
        .compactMap { $0.wholeMatch(of: /(?:@testable )?import (\w+)/)?.1 }
        let own: Set<Substring> = ["Dashboard", "Foundation", "Testing"]
        #expect(Set(imports).subtracting(own) == products)
        // The second step adds lines, and a comma before them.
        let versions = try ["Package-1.swift", "Package-2.swift"].map { file in
            try Self.lines("\(Self.folder)/\(file)").map { $0.hasSuffix(",") ? $0.dropLast() : $0 }
        }
        var rest = versions[1][...]
        for line in versions[0] {
            let place = try #require(rest.firstIndex(of: line), "\(line)")
            rest = rest[(place + 1)...]
        }
    }
}
