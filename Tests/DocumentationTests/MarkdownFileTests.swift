import TestSupport
import Testing

@Suite("MarkdownFile", .computing)
struct MarkdownFileTests {
    @Test("Finds code blocks with info string, line and content, and ignores links in them")
    func blocks() throws {
        let file = MarkdownFile(
            path: "a.md",
            text: """
                See [one](b.md#x) and [two](https://example.com).
                ```swift
                let link = "[three](c.md)"

                    indented
                ```
                ````sh
                ```
                ````
                """
        )
        #expect(file.blocks.map(\.info) == ["swift", "sh"])
        #expect(file.blocks.map(\.line) == [2, 7])
        #expect(file.blocks.map(\.isClosed) == [true, true])
        #expect(file.blocks.map(\.content) == [["let link = \"[three](c.md)\"", "", "    indented"], ["```"]])
        #expect(file.links.map(\.target) == ["b.md#x", "https://example.com"])
        #expect(file.links.map(\.line) == [1, 1])
    }

    @Test("Derives anchors from headings and numbers repeated ones")
    func anchors() {
        let file = MarkdownFile(
            path: "a.md",
            text: """
                # STRV's `RetryConfiguration`, in one line
                ## Errors
                ```text
                # no heading
                ```
                ## Errors
                #hashtag
                """
        )
        #expect(file.anchors == ["strvs-retryconfiguration-in-one-line", "errors", "errors-1"])
    }

    @Test("Finds text between backticks outside code blocks")
    func codeSpans() {
        let file = MarkdownFile(path: "a.md", text: "a `b` and [`C.d`](e.swift)\n```sh\n`f`\n```\n`g`")
        #expect(file.codeSpans.map(\.text) == ["b", "C.d", "g"])
        #expect(file.codeSpans.map(\.line) == [1, 1, 5])
        #expect(file.links.map(\.text) == ["`C.d`"])
    }

    @Test("Reports a block without a closing fence")
    func unclosed() {
        let file = MarkdownFile(path: "a.md", text: "```swift\nlet one = 1")
        #expect(file.blocks.map(\.isClosed) == [false])
    }
}
