/// Secret bytes: key material or a password.
///
/// The single copy in memory is excluded from core dumps and cleared when the last reference is
/// released. Two values compare in constant time, and descriptions, dumps and mirrors don't show
/// the contents.
package struct SecretBytes: Sendable {
    private let storage: Storage

    /// Copies bytes; the caller must clear the source.
    package init(copying bytes: RawSpan) {
        storage = Storage(capacity: bytes.byteCount)
        storage.fill { output in output.append(bytes) }
    }

    /// Creates a value in place, without another copy, from bytes that a closure appends.
    ///
    /// Appending more than `capacity` bytes traps.
    init<Failure: Error>(
        capacity: Int,
        initializingWith body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        storage = Storage(capacity: capacity)
        try storage.fill(body)
    }

    /// The number of bytes.
    package var count: Int { storage.count }

    /// A Boolean value that indicates whether all bytes are zero, in a time that depends only on
    /// the size.
    package var isZero: Bool {
        withBytes { bytes in
            var sum: UInt8 = 0
            for offset in bytes.byteOffsets { sum |= bytes[offset] }
            return sum == 0
        }
    }

    /// Calls a closure with the bytes; the closure must not store copies that outlive this value.
    package func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withBytes(body)
    }
}

extension SecretBytes: Equatable {
    /// Compares two secrets in a time that depends only on their lengths.
    package static func == (left: Self, right: Self) -> Bool {
        left.withBytes { leftBytes in
            right.withBytes { rightBytes in ConstantTime.areEqual(leftBytes, rightBytes) }
        }
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A fixed text that reveals nothing, not even the length.
    package var description: String { "SecretBytes(redacted)" }
    /// A fixed text that reveals nothing, not even the length.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretBytes {
    /// The owner of the memory.
    // reason: filled once by the initializer that creates it, before it's shared; read-only
    // afterwards.
    @safe private final class Storage: @unchecked Sendable {
        private let memory: UnsafeMutableBufferPointer<UInt8>
        private(set) var count = 0

        init(capacity: Int) {
            // At least one byte, so that the address is never null. Null has another meaning in
            // some OpenSSL functions.
            unsafe memory = SecretMemory.allocate(max(capacity, 1))
        }

        deinit {
            unsafe SecretMemory.deallocate(memory)
        }

        func fill<Failure: Error>(
            _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
        ) throws(Failure) {
            var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
            try body(&output)
            count = unsafe output.finalize(for: memory)
        }

        func withBytes<Result, Failure: Error>(
            _ body: (RawSpan) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            try body(
                unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
            )
        }
    }
}
