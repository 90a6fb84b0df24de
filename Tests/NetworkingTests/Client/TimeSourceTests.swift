import Networking
import TestSupport
import Testing

@Suite("TimeSource", .limitedConcurrency)
struct TimeSourceTests {
    @Test(
        "The system's sleep accepts every duration, and ends with its task",
        arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) + .seconds(Int64.max)]
    )
    func longest(_ duration: Duration) async {
        let sleep = Task { try await TimeSource.system.sleep(duration) }
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
    }
}
