import Foundation

/// The JSON values of a response, decoded while they're received.
///
/// A slow reader slows the server down, and at most one value is in memory. To end the transfer,
/// leave the loop or cancel the task.
public struct JSONValues<Value: Decodable & SendableMetatype>: AsyncSequence, Sendable {
    /// A decoded value.
    public typealias Element = Value

    enum Source: Sendable {
        case body(HTTPResponseBody)
        case resource(Resource, NetworkClient)
    }

    let source: Source
    let splitter: JSONSplitter
    let decoder: JSONDecoder

    /// Creates an iterator, which sends the request when it's first used.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(source: source, splitter: splitter, decoder: decoder)
    }

    /// An iterator over the values.
    public struct Iterator: AsyncIteratorProtocol {
        /// The source to open; `nil` once it's open.
        fileprivate var source: Source?
        fileprivate var reader = BodyReader()
        fileprivate var splitter: JSONSplitter
        fileprivate let decoder: JSONDecoder
        /// The number of values so far, including those that couldn't be decoded.
        fileprivate var count = 0
        fileprivate var hasEnded = false

        /// Waits for the next value.
        ///
        /// - Returns: The value, or `nil` at the end of the stream.
        /// - Throws: ``ServerError`` or ``NetworkError`` if the request fails. ``NetworkError``
        ///   with the code `decoding` for a value that is malformed, incomplete or of another type,
        ///   and `bodyTooLarge` for one that is too large; the message has the value's index,
        ///   counted from 0. After a value that couldn't be decoded, the next call continues with
        ///   the next value, as it does after a defect in a text sequence. After any other error,
        ///   such as `CancellationError`, the stream has ended.
        public mutating func next() async throws -> Value? {
            guard !hasEnded else { return nil }
            let bytes: [UInt8]
            do {
                guard let next = try await nextBytes() else {
                    end()
                    return nil
                }
                bytes = next
            } catch let failure as JSONSplitter.Failure {
                defer { count += 1 }
                if !failure.isRecoverable(splitter.framing) { end() }
                throw failure.networkError(index: count)
            } catch {
                end()
                throw error
            }
            defer { count += 1 }
            do {
                return try decoder.decode(Value.self, from: Data(bytes))
            } catch {
                throw NetworkError(
                    .decoding,
                    "the value at index \(count) of the stream couldn't be decoded as \(Value.self)",
                    cause: DecodingFailure(error)
                )
            }
        }

        private mutating func nextBytes() async throws -> [UInt8]? {
            switch source.take() {
            case nil: break
            case .body(let body): reader = BodyReader(body)
            case .resource(let resource, let client):
                let accept = splitter.framing.accept
                let loop = AttemptLoop(client: client, resource: resource, delivery: .endless)
                let response = try await loop.run {
                    var base = try await resource.makeBase()
                    base.headers.setDefault("Accept", accept)
                    return base
                }
                guard response.status != 204, response.status != 205 else { return nil }
                reader = BodyReader(response.stream)
            }
            while true {
                if let value = try splitter.next(in: reader.part, from: &reader.index) { return value }
                guard try await reader.advance() else { return try splitter.finish() }
            }
        }

        private mutating func end() {
            hasEnded = true
            reader.close()
        }
    }
}

extension JSONSplitter.Failure {
    /// Returns the error to throw, which names the value by its index.
    fileprivate func networkError(index: Int) -> NetworkError {
        switch self {
        case .tooLarge(let size):
            NetworkError(
                .bodyTooLarge,
                "the value at index \(index) of the stream is larger than \(size) bytes; raise maximumValueSize"
            )
        case .incomplete: .malformed("the stream ended before or within the value at index \(index)")
        case .truncated: .malformed("the value at index \(index) of the stream is truncated")
        case .misplaced: .malformed("the stream isn't framed as expected before the value at index \(index)")
        }
    }
}

extension NetworkError {
    fileprivate static func malformed(_ message: String) -> Self {
        let context = DecodingError.Context(codingPath: [], debugDescription: message)
        return Self(.decoding, message, cause: DecodingFailure(DecodingError.dataCorrupted(context)))
    }
}
