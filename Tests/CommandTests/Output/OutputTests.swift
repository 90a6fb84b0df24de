import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@testable import jwt

@Suite("Progress of a batch", .computing)
struct ProgressLineTests {
    private let halfway = TransferProgress(
        state: .running,
        completedBytes: 1_500_000,
        totalBytes: 3_000_000,
        bytesPerSecond: 500_000
    )

    private func progress(_ label: String = "a.zip", columns: Int = 100) -> BatchProgress {
        BatchProgress(label, columns: columns, total: 1) { _ in }
    }

    @Test("Shows all known values in the line")
    func line() {
        let tail = " 50% 1.5 MB of 3.0 MB, 500.0 kB/s, 0:03 left"
        let half = String(repeating: "#", count: 14) + String(repeating: ".", count: 15)
        #expect(progress().line(halfway) == "a.zip [\(half)] \(tail)")
        let done = TransferProgress(state: .completed, completedBytes: 7, totalBytes: 7)
        #expect(progress().line(done).hasSuffix("] 100% 7 B, completed"))
        let slow = TransferProgress(state: .running, completedBytes: 0, totalBytes: 7_300_000, bytesPerSecond: 1000)
        #expect(progress().line(slow).hasSuffix("0% 0 B of 7.3 MB, 1.0 kB/s, 2:01:40 left"))
    }

    @Test("Keeps the line within the terminal's width", arguments: [1, 20, 40, 60, 80, 200])
    func width(columns: Int) {
        let label = String(repeating: "label ", count: 40)
        for shown in [
            halfway, TransferProgress(state: .waiting),
            TransferProgress(state: .running, completedBytes: .max, totalBytes: .max, bytesPerSecond: 1e300),
        ] {
            #expect(progress(label, columns: columns).line(shown).count < max(20, columns))
        }
    }

    @Test("Appears after a second, updates at most ten times per second, and ends the line")
    func rate() {
        let time = ManualTime()
        let lines = Mutex<[String]>([])
        var progress = BatchProgress("a", columns: 80, total: 200, timeSource: time.timeSource) { text in
            lines.withLock { $0.append(text) }
        }
        for count in 0..<200 {
            progress.move(to: count)
            time.advance(by: .milliseconds(10))
        }
        #expect(lines.withLock(\.count) == 10)
        progress.end()
        progress.end(isComplete: true)
        let all = lines.withLock { $0 }
        #expect(all.count == 11)
        #expect(all.allSatisfy { $0.hasPrefix("\r") && $0.contains("\u{1B}[K") })
        #expect(all.filter { $0.hasSuffix("failed\u{1B}[K\n") }.count == 1 && all.last?.hasSuffix("\n") == true)
    }

    @Test("Shows nothing of a short batch")
    func silence() {
        let lines = Mutex<[String]>([])
        var progress = BatchProgress("a", columns: 80, total: 2, timeSource: ManualTime().timeSource) { text in
            lines.withLock { $0.append(text) }
        }
        progress.move(to: 1)
        progress.end(isComplete: true)
        #expect(lines.withLock { $0 } == [])
    }
}

@Suite("Visible text", .limitedConcurrency)
struct VisibleTextTests {
    @Test(
        "Escapes characters that a terminal interprets or hides",
        .shows("X3"),
        arguments: [
            0x00, 0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0xAD, 0x34F, 0x600, 0x61C, 0x70F, 0x115F, 0x17B4, 0x180B, 0x180E,
            0x200B, 0x200F,
            0x2028, 0x2029, 0x202A, 0x202E, 0x2060, 0x2065, 0x2066, 0x206F, 0x3164, 0xFE00, 0xFE0F, 0xFEFF, 0xFFA0,
            0xFFF9, 0xFFFB,
            0xFFFF, 0x110BD, 0x13430, 0x1BCA0, 0x1D173, 0x1FFFE, 0xE0001, 0xE0020, 0xE007F, 0xE0100, 0xE01EF, 0x10FFFF,
        ] as [UInt32]
    )
    func hidden(value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        let text = "a\(Character(scalar))b"
        for escaped in [VisibleText.line(text), VisibleText.json(text)] {
            #expect(!escaped.unicodeScalars.contains(scalar))
            #expect(escaped.hasPrefix("a\\u") && escaped.hasSuffix("b"))
        }
    }

    @Test("Keeps visible characters")
    func shown() {
        let text = "aZ~ é e\u{301} ß 日本 \u{A0}\u{3000}\u{E000}😀 ∑ “x”"
        #expect(VisibleText.line(text) == text)
        #expect(VisibleText.json(text) == text)
    }

    @Test(
        "Uses JSON escapes, with surrogate pairs beyond U+FFFF",
        arguments: [
            ("\u{1B}", #"\u001b"#), ("\u{202E}", #"\u202e"#), ("\u{E0041}", #"\udb40\udc41"#),
            ("\u{10FFFF}", #"\udbff\udfff"#),
        ]
    )
    func escapes(text: String, escaped: String) {
        #expect(VisibleText.line("a\(text)b") == "a\(escaped)b")
        #expect(VisibleText.json("\"\(text)\"\n") == "\"\(escaped)\"\n")
    }

    @Test("Keeps line breaks in JSON, and escapes them in a line")
    func lineBreaks() {
        #expect(VisibleText.json("{\n}") == "{\n}")
        #expect(VisibleText.line("a\nb\r\n") == #"a\u000ab\u000d\u000a"#)
    }
}
