import CCurl
import Foundation
import Glibc

/// A file that is read in parts.
final class FileReading: Sendable {
    /// The number of bytes to read at once.
    static let partSize = 128 << 10

    private let name: String
    private let descriptor: Int32
    private let blocks = BlockPool(blockSize: partSize)

    private init(name: String, descriptor: Int32) {
        self.name = name
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Creates a producer that delivers a file's bytes from the start, fewer if the file has
    /// shrunk.
    ///
    /// It throws ``NetworkError`` with the code `invalidRequest` if the file can't be read.
    static func producer(_ url: URL, length: Int) -> HTTPBody.Producer {
        { deliver in
            try await offloading { try await FileReading.open(url).deliver(from: 0, to: length, deliver) }
        }
    }

    /// Reads and delivers a range part by part on a thread that may block on disk I/O.
    func deliver(from start: Int, to end: Int, _ deliver: (Data) async throws -> Void) async throws {
        var position = start
        while position < end {
            let part = try read(min(Self.partSize, end - position), at: position)
            guard !part.isEmpty else { return }
            position += part.count
            try await deliver(part)
        }
    }

    /// Reads bytes that are already in memory, on any thread, and returns their number.
    ///
    /// It's 0 if reading needs the disk, the file system can't tell, or the file has ended.
    func readHeld(into buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Int {
        max(0, unsafe ccurl_read_held(descriptor, buffer.baseAddress, buffer.count, Int64(position)))
    }

    /// Opens a file on a thread that may block on disk I/O.
    static func open(_ url: URL) throws(NetworkError) -> FileReading {
        let descriptor = unsafe Glibc.open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(url.lastPathComponent) }
        return FileReading(name: url.lastPathComponent, descriptor: descriptor)
    }

    private func read(_ count: Int, at position: Int) throws(NetworkError) -> Data {
        let block = blocks.block()
        while true {
            let result = unsafe pread(descriptor, block.memory, count, off_t(position))
            if result >= 0 { return block.data(count: result) }
            if errno != EINTR { throw Self.failure(name) }
        }
    }

    private static func failure(_ name: String) -> NetworkError {
        NetworkError(.invalidRequest, "the file “\(name)” can't be read (error \(errno))")
    }
}
