import Foundation
import TestSupport
import Testing

@testable import jwt

@Suite("CommandWords", .computing)
struct CommandWordsTests {
    /// The sources of the package without those of the command, with each long text on one line.
    private static let sources: String = {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let texts = (files?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" && !$0.path.contains("/Sources/jwt/") }
            .compactMap { try? String(contentsOf: $0, encoding: .utf8) }
        return texts.joined(separator: "\n").replacing(#/"\s*\+ "/#, with: "").replacing(#/\\\n\s*/#, with: "")
    }()

    /// The words of the table as they are in a source: also without the beginning of a sentence
    /// whose end is another text.
    private static func spellings(of words: String) -> [String] {
        [words, words.replacing(#/^[,;] (or )?raise |^raise /#, with: "")]
    }

    @Test("Each text that the command replaces is one of the package", arguments: CommandWords.words.map(\.key))
    func words(text: String) {
        #expect(Self.spellings(of: text).contains { Self.sources.contains($0) })
    }

    @Test("No text that replaces another one is replaced again, or names a part of the package")
    func replacements() {
        for (_, text) in CommandWords.words {
            #expect(CommandWords.plain(text) == text)
            #expect(!text.contains("`") && text.firstMatch(of: /[a-z][A-Z]/) == nil, "\(text)")
        }
    }
}
