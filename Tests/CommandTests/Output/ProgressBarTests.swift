import Foundation
import MockNetworking
import Networking
import Synchronization
import Testing

@testable import jwt

@Suite("ProgressBar")
struct ProgressBarTests {
    private let halfway = TransferProgress(
        state: .running,
        completedBytes: 1_500_000,
        totalBytes: 3_000_000,
        bytesPerSecond: 500_000
    )

    private func bar(_ label: String = "a.zip", columns: Int = 100) -> ProgressBar {
        ProgressBar(label, columns: columns, write: nil)
    }

    @Test("Shows all known values in the line")
    func line() {
        let tail = " 50% 1.5 MB of 3.0 MB, 500.0 kB/s, 0:03 left"
        let half = String(repeating: "#", count: 14) + String(repeating: ".", count: 15)
        #expect(bar().line(halfway) == "a.zip [\(half)] \(tail)")
        #expect(bar().line(TransferProgress(state: .running, completedBytes: 999)) == "a.zip 999 B")
        #expect(bar().line(TransferProgress(state: .paused, completedBytes: 1000)) == "a.zip 1.0 kB, paused")
        let done = TransferProgress(state: .completed, completedBytes: 7, totalBytes: 7)
        #expect(bar().line(done).hasSuffix("] 100% 7 B, completed"))
        let slow = TransferProgress(state: .running, completedBytes: 0, totalBytes: 7_300_000, bytesPerSecond: 1000)
        #expect(bar().line(slow).hasSuffix("0% 0 B of 7.3 MB, 1.0 kB/s, 2:01:40 left"))
    }

    @Test("Keeps the line within the terminal's width", arguments: [1, 20, 40, 60, 80, 200])
    func width(columns: Int) {
        let label = String(repeating: "label ", count: 40)
        for progress in [
            halfway, TransferProgress(state: .waiting),
            TransferProgress(state: .running, completedBytes: .max, totalBytes: .max, bytesPerSecond: 1e300),
        ] {
            #expect(bar(label, columns: columns).line(progress).count < max(20, columns))
        }
    }

    @Test("Removes control characters from the label")
    func label() {
        let line = bar("a\u{1B}[2Jb\r\nc\u{7}").line(TransferProgress(state: .running))
        #expect(line == "a[2Jbc 0 B")
    }

    @Test("Updates at most ten times per second, and ends the line with the transfer")
    func rate() {
        let time = ManualTime()
        let lines = Mutex<[String]>([])
        let bar = ProgressBar("a", columns: 80, timeSource: time.timeSource) { text in
            lines.withLock { $0.append(text) }
        }
        for _ in 0..<100 {
            bar.show(halfway)
            time.advance(by: .milliseconds(10))
        }
        #expect(lines.withLock(\.count) == 10)
        bar.show(TransferProgress(state: .failed, completedBytes: 1))
        bar.show(halfway)
        let all = lines.withLock { $0 }
        #expect(all.count == 11)
        #expect(all.allSatisfy { $0.hasPrefix("\r") && $0.contains("\u{1B}[K") })
        #expect(all.filter { $0.hasSuffix("\n") } == ["\ra 1 B, failed\u{1B}[K\n"])
    }

    @Test("Writes nothing without a terminal")
    func silence() {
        // The bar has no output. The calls must not fail.
        bar().show(halfway)
        bar().show(TransferProgress(state: .completed))
    }
}
