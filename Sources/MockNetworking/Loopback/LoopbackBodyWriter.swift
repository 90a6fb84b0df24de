public import Foundation
import Synchronization

/// A writer for the body of a streamed response.
public final class LoopbackBodyWriter: Sendable {
    private let channel: ResponseChannel
    private let isChunked: Bool
    private let octets = Mutex(0)

    init(channel: ResponseChannel, isChunked: Bool) {
        self.channel = channel
        self.isChunked = isChunked
    }

    /// The number of bytes written so far.
    var octetCount: Int { octets.withLock { $0 } }

    /// Writes a part of the body, as one chunk if the body is chunked, and waits until the kernel
    /// has accepted it.
    ///
    /// An empty part writes nothing.
    ///
    /// - Parameter bytes: The part.
    /// - Throws: ``MockError`` with the code `connectionClosed` if the client or the server closed
    ///   the connection.
    public func write(_ bytes: Data) async throws {
        guard !bytes.isEmpty else { return }
        octets.withLock { $0 += bytes.count }
        guard isChunked else { return try await channel.send(bytes) }
        var chunk = Data("\(String(bytes.count, radix: 16))\r\n".utf8)
        chunk.append(bytes)
        chunk.append(contentsOf: "\r\n".utf8)
        try await channel.send(chunk)
    }

    /// Writes a part of the body as UTF-8 text.
    ///
    /// - Parameter text: The part.
    /// - Throws: ``MockError`` with the code `connectionClosed` if the client or the server closed
    ///   the connection.
    public func write(_ text: String) async throws {
        try await write(Data(text.utf8))
    }
}
