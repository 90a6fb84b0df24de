import Foundation
import Testing

/// A Markdown file of this repository, as far as the tests need it.
struct MarkdownFile: Sendable, CustomTestStringConvertible {
    /// The path from the repository's top.
    let path: String
    /// The fenced code blocks, in order.
    let blocks: [CodeBlock]
    /// The targets of links outside code, with their lines.
    let links: [Link]

    /// A fenced code block.
    struct CodeBlock: Sendable {
        /// What follows the opening fence, such as `swift`.
        let info: String
        /// The line of the opening fence, counted from 1.
        let line: Int
        /// The lines between the fences.
        let content: [String]
        /// Whether the closing fence is there.
        let isClosed: Bool
    }

    /// The target of a link or an image.
    struct Link: Sendable {
        let target: String
        let line: Int
    }

    var testDescription: String { path }

    init(path: String, text: String) {
        self.path = path
        var blocks: [CodeBlock] = []
        var links: [Link] = []
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
                links += Self.links(in: line).map { Link(target: $0, line: index + 1) }
            }
        }
        if let block = open {
            blocks.append(CodeBlock(info: block.info, line: block.line, content: block.content, isClosed: false))
        }
        self.blocks = blocks
        self.links = links
    }

    private static func links(in line: Substring) -> [String] {
        line.matches(of: /\]\(([^)\s]+)[^)]*\)/).map { String($0.1) }
    }
}
