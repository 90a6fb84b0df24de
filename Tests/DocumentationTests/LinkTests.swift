import Foundation
import Testing

@Suite("Links in Markdown files")
struct LinkTests {
    @Test("A link inside the repository leads to a file", arguments: Repository.pages)
    func files(file: MarkdownFile) {
        let folder = file.path.split(separator: "/").dropLast().joined(separator: "/")
        for link in file.links where !link.target.contains(":") {
            let path = String(link.target.prefix { $0 != "#" })
            if path.isEmpty { continue }
            #expect(
                Repository.exists(folder.isEmpty ? path : "\(folder)/\(path)"),
                "\(file.path):\(link.line): there is no \(path)"
            )
        }
    }

    @Test("A link to a part of a page leads to one of its headings", arguments: Repository.pages)
    func anchors(file: MarkdownFile) throws {
        for link in file.links where !link.target.contains(":") && link.target.contains("#") {
            let parts = link.target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let path = parts[0].isEmpty ? file.path : Repository.path(String(parts[0]), from: file.path)
            let text = try #require(Repository.text(path), "\(file.path):\(link.line): \(path) can't be read")
            #expect(
                MarkdownFile(path: path, text: text).anchors.contains(String(parts[1])),
                "\(file.path):\(link.line): \(path) has no heading “\(parts[1])”"
            )
        }
    }

    @Test("A path in a text is that of a file", arguments: Repository.pages)
    func paths(file: MarkdownFile) {
        // The changelog also names what there was once.
        for span in file.codeSpans where file.path != "CHANGELOG.md" {
            let words = span.text.split(separator: " ")
            guard let path = words.last, words.dropLast().allSatisfy({ ["bash", "sh"].contains($0) }),
                path.wholeMatch(of: /(Sources|Tests|Docs|Vectors|Benchmarks|\.ci)\/[\w.\/+-]*/) != nil
            else { continue }
            let places = [String(path), Repository.path(String(path), from: file.path)]
            #expect(places.contains(where: Repository.exists), "\(file.path):\(span.line): there is no \(path)")
        }
    }

    @Test("A link to elsewhere is secure, and one to an RFC leads to the one it names", arguments: Repository.pages)
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
        "The files that a visitor looks for have content",
        arguments: ["README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
    )
    func customaryFiles(path: String) throws {
        let text = try #require(Repository.text(path), "\(path) is missing")
        #expect(text.contains { !$0.isWhitespace })
    }
}
