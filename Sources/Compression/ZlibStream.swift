internal import CZlib

/// Compression with the system's zlib ([RFC 1950](https://www.rfc-editor.org/rfc/rfc1950)).
package enum ZlibStream {
    package enum Failure: Error {
        /// The system has no zlib, or memory runs out.
        case unavailable
        /// The data isn't one complete zlib stream, or other data follows it.
        case malformed
        case tooLarge
    }

    /// The size of the parts; zlib keeps the preceding 32 KiB itself.
    private static let partSize = 64 << 10

    /// Decompresses one zlib stream with nothing after it, and allocates memory only for what was
    /// decompressed.
    package static func decompress(_ input: [UInt8], maximumSize: Int) throws(Failure) -> [UInt8] {
        let decompressor = try Decompressor()
        var output: [UInt8] = []
        var part = [UInt8](repeating: 0, count: partSize)
        var position = 0
        while true {
            let step = decompressor.step(input, from: position, into: &part)
            position += step.taken
            guard step.given <= maximumSize - output.count else { throw .tooLarge }
            output.append(contentsOf: part[..<step.given])
            switch step.result {
            case CZLIB_END:
                guard position == input.count else { throw .malformed }
                return output
            case CZLIB_MORE:
                // Without progress, the stream is truncated.
                guard step.taken > 0 || step.given > 0 else { throw .malformed }
            default:
                throw .malformed
            }
        }
    }

    /// Compresses data as small as zlib can, with the same result for the same data.
    package static func compress(_ input: [UInt8]) throws(Failure) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: czlib_compressed_bound(input.count))
        let count = unsafe input.withUnsafeBufferPointer { input in
            unsafe output.withUnsafeMutableBufferPointer { output in
                unsafe czlib_compress(
                    CZLIB_ZLIB,
                    CZLIB_BEST_LEVEL,
                    input.baseAddress,
                    input.count,
                    output.baseAddress,
                    output.count
                )
            }
        }
        guard count > 0 else { throw .unavailable }
        output.removeSubrange(count...)
        return output
    }
}

@safe private final class Decompressor {
    private let pointer: OpaquePointer

    init() throws(ZlibStream.Failure) {
        guard let pointer = unsafe czlib_decompressor_make(CZLIB_ZLIB) else { throw .unavailable }
        unsafe self.pointer = pointer
    }

    deinit { unsafe czlib_decompressor_free(pointer) }

    /// Decompresses as much of the input as fits into a buffer.
    func step(_ input: [UInt8], from position: Int, into part: inout [UInt8]) -> (result: Int, taken: Int, given: Int) {
        var (taken, given) = (0, 0)
        let result = unsafe input.withUnsafeBufferPointer { input in
            unsafe part.withUnsafeMutableBufferPointer { part in
                unsafe czlib_decompress(
                    pointer,
                    input.baseAddress.map { unsafe $0 + position },
                    input.count - position,
                    &taken,
                    part.baseAddress,
                    part.count,
                    &given
                )
            }
        }
        return (Int(result), taken, given)
    }
}
