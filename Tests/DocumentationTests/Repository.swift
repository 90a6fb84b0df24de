import Foundation

/// The checkout that the tests were built from.
enum Repository {
    static let top = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The files with compiled samples: README.md, Docs and the DocC articles.
    static let documentation: [MarkdownFile] = markdown(["README.md"] + paths(in: "Docs") + articles)

    /// Every Markdown file for readers. Their links are tested.
    static let pages: [MarkdownFile] =
        documentation
        + markdown([
            "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Vectors/README.md", "Benchmarks/README.md",
            "Integrations/README.md", "Examples/README.md",
        ])

    /// Returns the text of a file, or `nil` if it can't be read.
    static func text(_ path: String) -> String? {
        try? String(contentsOf: top.appending(path: path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: top.appending(path: path).path)
    }

    /// Returns the path of a link's target, relative to the top of the repository.
    static func path(_ target: String, from file: String) -> String {
        var parts = file.split(separator: "/").dropLast().map(String.init)
        for part in target.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
        }
        return parts.joined(separator: "/")
    }

    /// Returns the paths of all files below a folder, in a stable order.
    static func paths(in folder: String) -> [String] {
        let found = FileManager.default.enumerator(atPath: top.appending(path: folder).path)
        return (found?.compactMap { $0 as? String } ?? []).map { "\(folder)/\($0)" }.sorted()
    }

    private static var articles: [String] {
        paths(in: "Sources").filter { $0.contains(".docc/") }
    }

    /// Returns the Markdown files. A missing file has no content, so that the tests fail on it.
    private static func markdown(_ paths: [String]) -> [MarkdownFile] {
        paths.filter { $0.hasSuffix(".md") }.map { MarkdownFile(path: $0, text: text($0) ?? "") }
    }
}
