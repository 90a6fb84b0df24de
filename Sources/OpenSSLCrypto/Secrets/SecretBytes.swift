/// Octets that must not be seen: key material or a password.
///
/// The one copy in memory is left out of core dumps and cleared when the last reference goes, two values compare in constant time, and no
/// description, dump or mirror shows the contents.
package struct SecretBytes: Sendable {
    private let storage: Storage

    /// Copies octets; the source is the caller's to clear.
    ///
    /// - Parameter bytes: The octets to keep.
    package init(copying bytes: RawSpan) {
        storage = Storage(capacity: bytes.byteCount)
        storage.fill { output in
            for offset in bytes.byteOffsets {
                output.append(bytes[offset])
            }
        }
    }

    /// Makes a value in place, so that no other copy of it exists.
    ///
    /// - Parameters:
    ///   - capacity: How many octets there may be; appending more is a programming error and traps.
    ///   - body: Appends the octets.
    /// - Throws: What `body` throws.
    init<Failure: Error>(
        capacity: Int,
        initializingWith body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        storage = Storage(capacity: capacity)
        try storage.fill(body)
    }

    /// The number of octets.
    package var count: Int { storage.count }

    /// Lends the octets for the time of a call.
    ///
    /// - Parameter body: Receives the octets; it must not copy them to where they outlive this value.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withBytes(body)
    }
}

extension SecretBytes: Equatable {
    /// Whether two secrets are equal, in a time that depends on their lengths only.
    package static func == (left: Self, right: Self) -> Bool {
        left.withBytes { leftBytes in
            right.withBytes { rightBytes in ConstantTime.areEqual(leftBytes, rightBytes) }
        }
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A fixed text that tells nothing, not even the length.
    package var description: String { "SecretBytes(redacted)" }
    /// A fixed text that tells nothing, not even the length.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretBytes {
    /// Owns the memory.
    // reason: filled once by the initializer that makes it and before anyone else can see it, then only read.
    @safe private final class Storage: @unchecked Sendable {
        private let memory: UnsafeMutableBufferPointer<UInt8>
        private(set) var count = 0

        init(capacity: Int) {
            // At least one octet, so that the address is never null: some of OpenSSL takes null to mean something else.
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
