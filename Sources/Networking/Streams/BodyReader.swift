/// A reader of a response's body that keeps one part and a position in it.
struct BodyReader {
    private var body: HTTPResponseBody?
    private(set) var part: [UInt8] = []
    /// The position of the next unread byte in the part.
    var index = 0

    /// A Boolean value that indicates whether there is a body to read.
    var isOpen: Bool { body != nil }

    /// Creates a reader; without a body, it's closed.
    init(_ body: HTTPResponseBody? = nil) {
        self.body = body
    }

    /// Receives the next part; returns `false` at the end of the body.
    mutating func advance() async throws -> Bool {
        var parts = body?.makeAsyncIterator()
        guard let next = try await parts?.next() else { return false }
        part = Array(next)
        index = 0
        return true
    }

    /// Ends the transfer, even if the caller still has the response.
    mutating func close() {
        body?.cancel()
        self = Self()
    }
}
