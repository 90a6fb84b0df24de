import Foundation

/// The checkout that these tests were built from.
enum Repository {
    static let top = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The files whose samples are compiled: README.md, Docs and the DocC articles.
    static let documentation: [MarkdownFile] = markdown(["README.md"] + paths(in: "Docs") + articles)

    /// Every Markdown file for readers, whose links must lead somewhere.
    static let pages: [MarkdownFile] =
        documentation
        + markdown(["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Vectors/README.md", "Benchmarks/README.md"])

    /// The text of a file, or `nil` if there is none.
    static func text(_ path: String) -> String? {
        try? String(contentsOf: top.appending(path: path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: top.appending(path: path).path)
    }

    /// The path from the top of what a link in a file names.
    static func path(_ target: String, from file: String) -> String {
        var parts = file.split(separator: "/").dropLast().map(String.init)
        for part in target.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
        }
        return parts.joined(separator: "/")
    }

    /// The paths of the files below a folder, in a stable order.
    static func paths(in folder: String) -> [String] {
        let found = FileManager.default.enumerator(atPath: top.appending(path: folder).path)
        return (found?.compactMap { $0 as? String } ?? []).map { "\(folder)/\($0)" }.sorted()
    }

    private static var articles: [String] {
        paths(in: "Sources").filter { $0.contains(".docc/") }
    }

    /// A file that is missing becomes one without content, which the tests then miss.
    private static func markdown(_ paths: [String]) -> [MarkdownFile] {
        paths.filter { $0.hasSuffix(".md") }.map { MarkdownFile(path: $0, text: text($0) ?? "") }
    }
}
