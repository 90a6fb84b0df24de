import Foundation
import TestSupport
import Testing

/// Checks the files of the DocC tutorial. `.ci/samples` compiles the last version of each.
@Suite("Tutorial files", .computing)
struct TutorialTests {
    private static let folder = "Sources/OAuth2/Documentation.docc/Tutorial"

    /// The names of the files that the steps show, in order, such as `ReportsAPI-1.swift`.
    private static let steps: [String] = (Repository.text("\(folder)/AServiceClientStepByStep.tutorial") ?? "")
        .matches(of: /@Code\(name: "[\w.]+", file: ([\w.-]+)\)/).map { String($0.1) }

    private static func lines(_ path: String) throws -> [Substring] {
        try #require(Repository.text(path), "missing file \(path)").split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
    }

    @Test("Each step shows an existing file, and each file is shown once")
    func complete() throws {
        let files = Repository.paths(in: Self.folder).filter { $0.hasSuffix(".swift") }
        #expect(Self.steps.map { "\(Self.folder)/\($0)" }.sorted() == files)
        #expect(files.count == 9)
    }

    @Test(
        "Each step continues the previous one",
        arguments: ["ReportsAPI", "ReportsClient", "ReportsClientTests"]
    )
    func code(name: String) throws {
        let versions = Self.steps.filter { $0.wholeMatch(of: /(\w+)-\d\.swift/)?.1 == Substring(name) }
        let texts = try versions.map { try Self.lines("\(Self.folder)/\($0)") }
        #expect(!texts.isEmpty)
        for (earlier, later) in zip(texts, texts.dropFirst()) {
            #expect(later.starts(with: earlier.dropLast()) && later.count > earlier.count)
        }
    }

    @Test("Its Package.swift names products of this package that match the imports")
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
