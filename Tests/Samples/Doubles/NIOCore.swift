// A double of SwiftNIO 2 with the declarations that samples use. `.ci/samples` compiles
// them, and never runs it.

public struct ByteBuffer: Sendable {
    public init() {}

    public var readableBytesView: ByteBufferView { ByteBufferView() }
}

public struct ByteBufferView: RandomAccessCollection, Sendable {
    public var startIndex: Int { 0 }
    public var endIndex: Int { 0 }

    public subscript(position: Int) -> UInt8 { 0 }
}

extension AsyncSequence where Element == ByteBuffer {
    public func collect(upTo maxBytes: Int) async throws -> ByteBuffer { ByteBuffer() }
}

public final class EventLoopFuture<Value: Sendable>: Sendable {}
