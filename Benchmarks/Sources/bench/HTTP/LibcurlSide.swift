import CFloor
import Foundation
import Networking

/// libcurl in C: the floor of a client that uses it.
struct LibcurlSide: ~Copyable {
    private let client: OpaquePointer

    /// Creates as many transfers as tasks.
    ///
    /// - Throws: `UsageError` without libcurl.
    init(_ url: URL, _ headers: HTTPHeaders, tasks: Int) throws {
        let lines = headers.map { strdup("\($0.name): \($0.value)") }
        defer { lines.forEach { free($0) } }
        let fields = lines.map { UnsafePointer($0) }
        let client = floor_client_create(
            url.absoluteString,
            fields,
            Int32(fields.count),
            Int32(tasks),
            PrivateTrust.file?.path
        )
        guard let client else { throw UsageError(text: "bench: libcurl.so.4 can't be loaded.") }
        self.client = client
    }

    deinit {
        floor_client_free(client)
    }

    /// Sends requests with all transfers for a duration.
    ///
    /// - Returns: The requests per second of CPU time.
    func run(nanoseconds: UInt64) throws -> Double {
        let processor = CPUClock.now
        let count = floor_client_run(client, nanoseconds, HTTPSide.bodySize)
        guard count > 0 else { throw UsageError(text: "bench: Unexpected response to libcurl in C.") }
        return Double(count) * 1e9 / Double(CPUClock.now - processor)
    }
}
