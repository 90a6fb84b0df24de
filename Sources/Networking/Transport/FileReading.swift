import Dispatch
import Foundation
import Glibc

/// A file that is read part by part, on threads that may wait for a disk.
final class FileReading: Sendable {
    /// How much is read at once.
    static let partSize = 128 << 10

    private let name: String
    private let descriptor: Int32

    private init(name: String, descriptor: Int32) {
        self.name = name
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// What delivers a file's octets from its beginning to a length.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - length: How much is delivered; less if the file has become shorter.
    /// - Returns: The producer; it throws ``NetworkError`` with the code `invalidRequest` if the file can't be read.
    static func producer(_ url: URL, length: Int) -> HTTPBody.Producer {
        { deliver in
            let file = try await offLoading { try FileReading.open(url) }
            var position = 0
            while position < length {
                let (start, count) = (position, min(partSize, length - position))
                let part = try await offLoading { try file.read(count, at: start) }
                guard !part.isEmpty else { return }
                position += part.count
                try await deliver(part)
            }
        }
    }

    private static func open(_ url: URL) throws(NetworkError) -> FileReading {
        let descriptor = unsafe Glibc.open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(url.lastPathComponent) }
        return FileReading(name: url.lastPathComponent, descriptor: descriptor)
    }

    private func read(_ count: Int, at position: Int) throws(NetworkError) -> Data {
        var part = Data(count: count)
        let result = unsafe part.withUnsafeMutableBytes { buffer in
            while true {
                let result = unsafe pread(descriptor, buffer.baseAddress, count, off_t(position))
                if result >= 0 || errno != EINTR { return result }
            }
        }
        guard result >= 0 else { throw Self.failure(name) }
        return result == count ? part : part.prefix(result)
    }

    private static func failure(_ name: String) -> NetworkError {
        NetworkError(.invalidRequest, "the file “\(name)” can't be read (error \(errno))")
    }

    /// A disk may keep a thread waiting; those of Swift's tasks are too few for that.
    private static func offLoading<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try work() }) }
        }
    }
}
