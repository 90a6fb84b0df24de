import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Control of downloads", .limitedConcurrency, .tags(.concurrency))
struct DownloadControlTests {
    /// Stops the resource in the middle of its body until the gate opens.
    private func stop(_ bench: DownloadBench, after count: Int) -> ResponseGate {
        let gate = ResponseGate()
        let content = bench.resource.content
        bench.resource.change { state in
            state.lie = { response, request in
                guard request.headers["Range"] == nil else { return response }
                return .stream(headers: response.headers, length: content.count) { writer in
                    try await writer.write(content.prefix(count))
                    try await gate.wait()
                    try await writer.write(content.dropFirst(count))
                }
            }
        }
        return gate
    }

    private func wait(
        _ download: Download,
        until condition: @escaping @Sendable (TransferProgress) -> Bool
    ) async -> TransferProgress? {
        await download.progress.first { condition($0) }
    }

    @Test("A paused download resumes where it stopped")
    func pause() async throws {
        try await DownloadBench.with { bench async throws in
            let gate = stop(bench, after: 100_000)
            let client = bench.client()
            let download = client.download(bench.url, to: bench.target)
            let running = await wait(download) { $0.completedBytes == 100_000 }
            #expect(running?.state == .running && running?.totalBytes == 300_000)
            download.pause()
            let paused = await wait(download) { $0.state == .paused }
            #expect(paused?.completedBytes == 100_000)
            try await bench.server.waitForOpenConnections(atMost: 0)
            #expect(client.transfers.map(\.id) == [download.id])
            download.pause()
            download.resume()
            download.resume()
            let file = try await download.value
            #expect(file.resumedFrom == 100_000)
            #expect(bench.resource.ranges == [nil, "bytes=100000-"])
            #expect(try bench.isComplete)
            #expect(client.transfers.isEmpty)
            download.pause()
            #expect(download.currentProgress.state == .completed)
            gate.open()
        }
    }

    @Test("Pausing and resuming at once, many times, loses nothing")
    func flicker() async throws {
        try await DownloadBench.with { bench async throws in
            let download = bench.client().download(bench.url, to: bench.target)
            for _ in 0..<50 {
                download.pause()
                await Task.yield()
                download.resume()
            }
            #expect(try await download.value.length == 300_000)
            #expect(try bench.isComplete)
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Canceling returns resume data for another download, even at another URL", .shows("4.34"))
    func resumeData() async throws {
        try await DownloadBench.with { bench async throws in
            let gate = stop(bench, after: 100_000)
            let download = bench.client().download(bench.url, to: bench.target)
            _ = await wait(download) { $0.completedBytes == 100_000 }
            await download.cancel()
            let data = try #require(download.resumeData)
            #expect(data.completedBytes == 100_000 && data.totalBytes == 300_000)
            await #expect(throws: CancellationError.self) { try await download.value }
            #expect(download.currentProgress.state == .cancelled)
            await download.cancel()
            #expect(download.resumeData == data)

            let stored = try JSONDecoder().decode(Download.ResumeData.self, from: JSONEncoder().encode(data))
            bench.server.on(.get, "/signed") { bench.resource.respond(to: $0) }
            let file = try await bench.client()
                .download(
                    bench.server.url(for: "/signed?key=2"),
                    to: bench.target,
                    resumeData: stored
                ).value
            #expect(file.resumedFrom == 100_000)
            #expect(bench.names == ["target.bin"])
            gate.open()
        }
    }

    @Test("Resume data can be discarded, and is valid only in its folder")
    func discardedData() async throws {
        try await DownloadBench.with { bench async throws in
            let gate = stop(bench, after: 100_000)
            let download = bench.client().download(bench.url, to: bench.target)
            _ = await wait(download) { $0.completedBytes == 100_000 }
            await download.cancel()
            let data = try #require(download.resumeData)
            let elsewhere = FileManager.default.temporaryDirectory.appending(path: "elsewhere")
            let options = DownloadOptions(resumeData: data)
            await expectFailure(.invalidRequest) {
                _ = try await bench.client().download(bench.url, to: elsewhere, options: options).value
            }
            #expect(bench.names.count == 2)
            data.discard()
            #expect(bench.names.isEmpty)
            gate.open()
        }
    }

    @Test("Cancels a paused download")
    func cancelPaused() async throws {
        try await DownloadBench.with { bench async throws in
            let gate = stop(bench, after: 100_000)
            let client = bench.client()
            let download = client.download(bench.url, to: bench.target)
            _ = await wait(download) { $0.completedBytes == 100_000 }
            download.pause()
            _ = await wait(download) { $0.state == .paused }
            await download.cancel()
            #expect(download.resumeData?.completedBytes == 100_000)
            #expect(client.transfers.isEmpty)
            download.resume()
            #expect(download.currentProgress.state == .cancelled)
            gate.open()
        }
    }

    @Test("A transport's cancellation handler can read the download's progress")
    func progressInHandler() async throws {
        try await DownloadBench.with { bench async throws in
            let transport = WaitingTransport()
            let download = NetworkClient(transport: transport).download(bench.url, to: bench.target)
            transport.state.withLock { $0.download = download }
            #expect(try await eventually { transport.state.withLock(\.isSending) })
            await download.cancel()
            #expect(transport.state.withLock { $0.seen } == [.running])
            transport.state.withLock { $0.download = nil }
        }
    }

    @Test("Releasing the handle cancels the download and keeps the part")
    func dropped() async throws {
        try await DownloadBench.with { bench async throws in
            let gate = stop(bench, after: 100_000)
            let client = bench.client()
            do {
                let download = client.download(bench.url, to: bench.target)
                _ = await wait(download) { $0.completedBytes == 100_000 }
            }
            try await bench.server.waitForOpenConnections(atMost: 0)
            #expect(client.transfers.isEmpty)
            gate.open()
            // The next download must wait until the other has released the file.
            while true {
                let error = await failure { _ = try await bench.download() }
                guard error?.code == .transferInProgress else { break }
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(bench.resource.ranges == [nil, "bytes=100000-"])
        }
    }

    @Test("Awaiting the value or the progress keeps a download alive")
    func kept() async throws {
        try await DownloadBench.with { bench async throws in
            #expect(try await bench.download().length == 300_000)
            var last: TransferProgress?
            for await progress in bench.client().download(bench.url, to: bench.folder.appending(path: "b")).progress {
                last = progress
            }
            #expect(last?.state == .completed)
            #expect(bench.names == ["b", "target.bin"])
        }
    }

    @Test("Canceling an awaiting task cancels the download")
    func cancelledWaiter() async throws {
        try await DownloadBench.with { bench async throws in
            let gate = stop(bench, after: 100_000)
            let download = bench.client().download(bench.url, to: bench.target)
            _ = await wait(download) { $0.completedBytes == 100_000 }
            let waiter = Task { try await download.value }
            waiter.cancel()
            await #expect(throws: CancellationError.self) { try await waiter.value }
            #expect(download.currentProgress.state == .cancelled)
            gate.open()
        }
    }

    @Test("Limits the number of running downloads, and starts them in order")
    func limit() async throws {
        try await DownloadBench.with { bench async throws in
            let gate = ResponseGate()
            bench.resource.change { $0.lie = { response, _ in response.gated(by: gate) } }
            let client = bench.client(maximumTransfers: 2)
            let downloads = (0..<6).map { client.download(bench.url, to: bench.folder.appending(path: "\($0)")) }
            #expect(client.transfers.map(\.id) == downloads.map(\.id))
            try await gate.waitForWaiters(count: 2)
            #expect(downloads.map(\.currentProgress.state).filter { $0 == .running }.count == 2)
            // A waiting download can be canceled, and a running one gives up its turn when it's
            // paused.
            await downloads[5].cancel()
            let running = try #require(downloads.first { $0.currentProgress.state == .running })
            running.pause()
            _ = await wait(running) { $0.state == .paused }
            try await bench.server.waitForRequests(count: 3)
            gate.open()
            running.resume()
            for download in downloads.dropLast() { #expect(try await download.value.length == 300_000) }
            await #expect(throws: CancellationError.self) { try await downloads[5].value }
            #expect(client.transfers.isEmpty)
            #expect(bench.names.joined() == "01234")
        }
    }

    @Test("A slow reader of the progress blocks nothing, and gets the newest progress")
    func slowWatcher() async throws {
        try await DownloadBench.with(RangedResource.octets(4 << 20)) { bench async throws in
            let download = bench.client().download(bench.url, to: bench.target)
            var slow = download.progress.makeAsyncIterator()
            let first = await slow.next()
            #expect(first?.state.isFinal == false)
            _ = try await download.value
            let newest = await slow.next()
            #expect(newest?.state == .completed && newest?.completedBytes == 4 << 20)
            #expect(await slow.next() == nil)
            var late = download.progress.makeAsyncIterator()
            #expect(await late.next() == newest)
            #expect(await late.next() == nil)
        }
    }

    @Test("The progress never decreases, and ends at the total", .shows("P10", "4.33"))
    func monotonous() async throws {
        try await DownloadBench.with(RangedResource.octets(2 << 20)) { bench async throws in
            bench.resource.change { $0.cuts = [700_000] }
            let download = bench.client(retries: 1).download(bench.url, to: bench.target)
            var (last, isMonotonous) = (0, true)
            for await progress in download.progress {
                isMonotonous = isMonotonous && progress.completedBytes >= last
                last = progress.completedBytes
            }
            #expect(isMonotonous && last == 2 << 20)
        }
    }
}

private final class WaitingTransport: HTTPTransport {
    struct State {
        var download: Download?
        var isSending = false
        var seen: [TransferProgress.State] = []
    }

    let state = Mutex(State())

    func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        try await withTaskCancellationHandler {
            state.withLock { $0.isSending = true }
            try await Task.sleep(for: .seconds(300))
        } onCancel: {
            let download = state.withLock(\.download)
            if let phase = download?.currentProgress.state { state.withLock { $0.seen.append(phase) } }
        }
        throw CancellationError()
    }
}
