import Foundation
import TestSupport
import Testing

@Suite("Links in Markdown files", .computing)
struct LinkTests {
    @Test("Relative links lead to a file", arguments: Repository.pages)
    func files(file: MarkdownFile) {
        let folder = file.path.split(separator: "/").dropLast().joined(separator: "/")
        for link in file.links where !link.target.contains(":") {
            let path = String(link.target.prefix { $0 != "#" })
            if path.isEmpty { continue }
            #expect(
                Repository.exists(folder.isEmpty ? path : "\(folder)/\(path)"),
                "\(file.path):\(link.line): missing file \(path)"
            )
        }
    }

    @Test("Anchors lead to a heading", arguments: Repository.pages)
    func anchors(file: MarkdownFile) throws {
        for link in file.links where !link.target.contains(":") && link.target.contains("#") {
            let parts = link.target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let path = parts[0].isEmpty ? file.path : Repository.path(String(parts[0]), from: file.path)
            let text = try #require(Repository.text(path), "\(file.path):\(link.line): can't read \(path)")
            #expect(
                MarkdownFile(path: path, text: text).anchors.contains(String(parts[1])),
                "\(file.path):\(link.line): missing anchor “\(parts[1])” in \(path)"
            )
        }
    }

    @Test("Paths in code spans lead to a file", arguments: Repository.pages)
    func paths(file: MarkdownFile) {
        // The changelog also names removed files.
        for span in file.codeSpans where file.path != "CHANGELOG.md" {
            let words = span.text.split(separator: " ")
            guard let path = words.last, words.dropLast().allSatisfy({ ["bash", "sh"].contains($0) }),
                path.wholeMatch(of: /(Sources|Tests|Docs|Vectors|Benchmarks|\.ci)\/[\w.\/+-]*/) != nil
            else { continue }
            let places = [String(path), Repository.path(String(path), from: file.path)]
            #expect(places.contains(where: Repository.exists), "\(file.path):\(span.line): missing file \(path)")
        }
    }

    @Test("External links use https, and RFC links lead to the RFC they name", arguments: Repository.pages)
    func elsewhere(file: MarkdownFile) {
        for link in file.links where link.target.contains("://") {
            #expect(link.target.hasPrefix("https://"), "\(file.path):\(link.line): \(link.target)")
            guard let named = link.text.firstMatch(of: /RFC (\d+)/)?.1 else { continue }
            #expect(
                link.target.wholeMatch(of: /https:\/\/www\.rfc-editor\.org\/rfc\/rfc(\d+)(#[\w.-]+)?/)?.1 == named,
                "\(file.path):\(link.line): “\(link.text)” leads to \(link.target)"
            )
        }
    }

    @Test(
        "The customary files have content",
        arguments: ["README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
    )
    func customaryFiles(path: String) throws {
        let text = try #require(Repository.text(path), "\(path) is missing")
        #expect(text.contains { !$0.isWhitespace })
    }
}
