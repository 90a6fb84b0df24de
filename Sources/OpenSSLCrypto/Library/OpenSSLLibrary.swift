internal import COpenSSL
import Synchronization

package enum OpenSSLLibrary {
    private static let prepared: Void = {
        // Disables the exit handler, which frees OpenSSL's tables while other threads may still use
        // them and occasionally crashes an exiting process. The kernel reclaims the memory anyway.
        // The option only affects the first initialization in the process; later ones are harmless.
        // If initialization fails, the first real call reports the reason.
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_LOAD_CRYPTO_STRINGS), nil)
    }()

    /// Initializes OpenSSL once, without its exit handler.
    ///
    /// This module always calls it before using OpenSSL. A program that also uses OpenSSL through
    /// other libraries should call it at startup, so that this initialization comes first.
    package static func prepare() {
        prepared
    }

    package static func prepareAndClearErrors() {
        prepare()
        clearErrors()
    }

    /// The version of the library at run time, such as `OpenSSL 3.0.19 27 Jan 2026`.
    package static var version: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION) else { return "OpenSSL" }
        return unsafe String(cString: text)
    }

    /// The name of a function whose address identifies the loaded copy of the library.
    package static let tellingFunction = "SSL_CTX_new"

    /// Returns whether another library in this process uses the same OpenSSL for its TLS
    /// connections: `true` if nothing indicates a different copy.
    ///
    /// The other library describes its TLS library, such as `OpenSSL/3.0.19`, and knows the address
    /// of ``tellingFunction``; it's `nil` if unknown, as in a statically linked program.
    /// ``TLSHandshake/apply(to:)`` checks each connection again.
    package static func isShared(backend: String, functionAddress: UnsafeRawPointer?) -> Bool {
        guard let version = unsafe OpenSSL_version(OPENSSL_VERSION_STRING) else { return false }
        guard backend == "OpenSSL/" + (unsafe String(cString: version)) else { return false }
        guard let functionAddress = unsafe functionAddress else { return true }
        return unsafe functionAddress == COpenSSL_telling_function()
    }
}

extension RawSpan {
    @inline(__always)
    func withOctets<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeBytes { bytes throws(Failure) in
            try unsafe body(bytes.assumingMemoryBound(to: UInt8.self))
        }
    }

    /// Decodes an object, which the caller owns, with one of OpenSSL's `d2i` functions; `rest` is
    /// the number of bytes after it.
    func decoded(
        by decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
    ) -> (object: OpaquePointer?, rest: Int) {
        unsafe withOctets { octets in
            var next = octets.baseAddress
            let object = unsafe decode(&next, octets.count)
            guard let first = octets.baseAddress, let next = unsafe next else { return unsafe (object, 0) }
            return unsafe (object, octets.count - (next - first))
        }
    }
}

/// Bytes that an OpenSSL function can write.
protocol OpenSSLOutput {
    init<Failure: Error>(
        capacity: Int,
        initializingWith body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure)
}

extension [UInt8]: OpenSSLOutput {}

extension OpenSSLOutput {
    /// Returns `nil` if the OpenSSL function fails.
    ///
    /// The closure calls the function with a buffer, sets the size and returns `true` for success.
    @inline(__always)
    init?(maximumSize: Int, writtenBy write: (UnsafeMutablePointer<UInt8>?, inout Int) -> Bool) {
        var isWritten = false
        self.init(capacity: maximumSize) { output in isWritten = unsafe output.append(writtenBy: write) }
        if !isWritten { return nil }
    }

    /// Creates the DER encoding that one of OpenSSL's `i2d` functions writes.
    init?(encodedBy encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) {
        let maximumSize = Int(encode(nil))
        guard maximumSize > 0 else { return nil }
        unsafe self.init(maximumSize: maximumSize) { buffer, size in
            var start = unsafe buffer
            size = Int(unsafe encode(&start))
            return size > 0 && size <= maximumSize
        }
    }
}

extension SecretBytes: OpenSSLOutput {
    func withOctets<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withBytes { bytes throws(Failure) in try unsafe bytes.withOctets(body) }
    }

    /// Without a terminating zero.
    func withPassword<Result>(_ body: (UnsafePointer<CChar>?, Int32) -> Result) -> Result {
        withBytes { bytes in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe body(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
            }
        }
    }
}

extension Optional {
    @inline(__always)
    func orThrow(
        _ code: CryptoError.Code = .openSSL,
        failed function: StaticString,
        _ message: @autoclosure () -> String
    ) throws(CryptoError) -> Wrapped {
        guard let self else { throw CryptoError(code, failed: function, message()) }
        return self
    }
}

extension OutputSpan<UInt8> {
    /// Appends bytes that an OpenSSL function writes to an empty buffer.
    @inline(__always)
    fileprivate mutating func append(writtenBy write: (UnsafeMutablePointer<UInt8>?, inout Int) -> Bool) -> Bool {
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            var size = buffer.count
            let isWritten = unsafe write(buffer.baseAddress, &size)
            count = isWritten ? size : 0
            return isWritten
        }
    }
}

/// OpenSSL's objects for some keys, each created on its first use and then shared.
struct FetchedValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private final class Fetched: Sendable {
        let result: Result<Value, CryptoError>

        init(_ result: Result<Value, CryptoError>) { self.result = result }
    }

    private final class Slot: Sendable {
        let fetched = AtomicLazyReference<Fetched>()
    }

    private let slots: [Key: Slot]
    private let make: @Sendable (Key) throws(CryptoError) -> Value

    init(_ keys: [Key], make: @escaping @Sendable (Key) throws(CryptoError) -> Value) {
        slots = Dictionary(uniqueKeysWithValues: keys.map { ($0, Slot()) })
        self.make = make
    }

    subscript(key: Key) -> Value {
        get throws(CryptoError) {
            guard let slot = slots[key] else { throw CryptoError(.openSSL, "No object exists for \(key)") }
            if let fetched = slot.fetched.load() { return try fetched.result.get() }
            // Two threads may both create it; both then use the first one.
            let created = Fetched(Result { () throws(CryptoError) in try make(key) })
            return try slot.fetched.storeIfNil(created).result.get()
        }
    }
}
