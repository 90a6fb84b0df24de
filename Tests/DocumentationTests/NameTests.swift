import Foundation
import Testing

/// That the pages which say where a change goes name what there is.
@Suite("Names in pages for maintainers")
struct NameTests {
    /// What is declared anywhere in this package, and its targets.
    private static let known: Set<String> = {
        let sources = ["Sources", "Tests"].flatMap { Repository.paths(in: $0) }.filter { $0.hasSuffix(".swift") }
        var names: Set<String> = []
        for path in sources {
            // The word after a keyword; by octets, because the sources are long.
            var isDeclared = false
            for word in (Repository.text(path) ?? "").utf8.split(whereSeparator: { !isWord($0) }) {
                if isDeclared { names.insert(String(decoding: word, as: UTF8.self)) }
                isDeclared = keywords.contains(Array(word))
            }
        }
        let manifest = Repository.text("Package.swift") ?? ""
        return names.union(manifest.matches(of: /name: "(\w+)"/).map { String($0.1) })
    }()

    private static let keywords = Set(
        ["struct", "enum", "class", "actor", "protocol", "typealias", "case", "func", "var", "let"].map {
            Array($0.utf8)
        }
    )

    private static func isWord(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// What others have declared: Swift, Foundation, OpenSSL, and the environment.
    private static let foreign: Set<String> = [
        "Sendable", "Process", "Mutex", "JOSE_VECTORS_DIR", "Curl", "URLSession", "SSL_CTX",
    ]

    @Test(
        "Each type or member between backticks exists",
        arguments: [
            "CONTRIBUTING.md", "Docs/Architecture.md",
        ]
    )
    func exist(path: String) throws {
        let file = try #require(Repository.pages.first { $0.path == path })
        let names = file.codeSpans.compactMap { span -> (words: [String], line: Int)? in
            guard !span.text.hasSuffix(".swift"),
                let match = span.text.wholeMatch(of: /([A-Z]\w*(?:\.\w+)*)(?:\(.*\))?/)
            else { return nil }
            return (match.1.split(separator: ".").map(String.init), span.line)
        }
        #expect(names.count > 15)
        for (words, line) in names {
            for word in words where !Self.foreign.contains(word) {
                let isKnown = Self.known.contains(word)
                #expect(isKnown, "\(path):\(line): there is no \(word)")
            }
        }
    }
}
