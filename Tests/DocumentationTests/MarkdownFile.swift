import Foundation
import Testing

/// A Markdown file of the repository, with the parts that the tests check.
struct MarkdownFile: Sendable, CustomTestStringConvertible {
    /// The path relative to the top of the repository.
    let path: String
    /// The fenced code blocks, in order.
    let blocks: [CodeBlock]
    /// The links outside code blocks.
    let links: [Link]
    /// The anchors of the headings, such as `token-lifecycle`.
    let anchors: Set<String>
    /// The text between backticks outside code blocks.
    let codeSpans: [CodeSpan]

    /// A fenced code block.
    struct CodeBlock: Sendable {
        /// The text after the opening fence, such as `swift`.
        let info: String
        /// The line of the opening fence, starting at 1.
        let line: Int
        /// The lines between the fences.
        let content: [String]
        /// A Boolean value that indicates whether the block has a closing fence.
        let isClosed: Bool
    }

    /// A link or an image.
    struct Link: Sendable {
        let text: String
        let target: String
        let line: Int
    }

    /// Text between backticks.
    struct CodeSpan: Sendable {
        let text: String
        let line: Int
    }

    var testDescription: String { path }

    init(path: String, text: String) {
        self.path = path
        var blocks: [CodeBlock] = []
        var links: [Link] = []
        var headings: [String] = []
        var codeSpans: [CodeSpan] = []
        var open: (info: String, line: Int, fence: String, content: [String])?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if var block = open {
                if trimmed == block.fence {
                    blocks.append(
                        CodeBlock(info: block.info, line: block.line, content: block.content, isClosed: true)
                    )
                    open = nil
                } else {
                    block.content.append(String(line))
                    open = block
                }
            } else if trimmed.hasPrefix("```") {
                let fence = String(trimmed.prefix { $0 == "`" })
                let info = trimmed.dropFirst(fence.count).trimmingCharacters(in: .whitespaces)
                open = (info, index + 1, fence, [])
            } else {
                links += line.matches(of: /\[([^\[\]]*)\]\(([^)\s]+)[^)]*\)/).map {
                    Link(text: String($0.1), target: String($0.2), line: index + 1)
                }
                codeSpans += line.matches(of: /`([^`]+)`/).map { CodeSpan(text: String($0.1), line: index + 1) }
                if let heading = line.prefixMatch(of: /#{1,6} +(.*)/) { headings.append(String(heading.1)) }
            }
        }
        if let block = open {
            blocks.append(CodeBlock(info: block.info, line: block.line, content: block.content, isClosed: false))
        }
        self.blocks = blocks
        self.links = links
        self.codeSpans = codeSpans
        anchors = Self.anchors(of: headings)
    }

    /// Returns the anchors that hosting sites derive from headings: lower-case letters, hyphens for
    /// spaces, no other punctuation, and a number for a repeated heading.
    private static func anchors(of headings: [String]) -> Set<String> {
        var counts: [String: Int] = [:]
        return Set(
            headings.map { heading in
                let anchor = String(
                    heading.lowercased().compactMap { character in
                        if character == " " { return "-" }
                        return character.isLetter || character.isNumber || "-_".contains(character) ? character : nil
                    }
                )
                defer { counts[anchor, default: 0] += 1 }
                return counts[anchor].map { "\(anchor)-\($0)" } ?? anchor
            }
        )
    }
}
