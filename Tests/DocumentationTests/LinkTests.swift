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

    @Test(
        "The files that a visitor looks for have content",
        arguments: ["README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
    )
    func customaryFiles(path: String) throws {
        let text = try #require(Repository.text(path), "\(path) is missing")
        #expect(text.contains { !$0.isWhitespace })
    }
}
