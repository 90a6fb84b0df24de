internal import COpenSSL

/// A fetched cipher implementation: the owner of an `EVP_CIPHER`.
// reason: the pointer is set once, and a fetched EVP_CIPHER never changes apart from its atomic
// reference count.
@safe final class Cipher: @unchecked Sendable {
    enum Name: String, CaseIterable {
        case aes128CBC = "AES-128-CBC"
        case aes192CBC = "AES-192-CBC"
        case aes256CBC = "AES-256-CBC"
        case aes128GCM = "AES-128-GCM"
        case aes192GCM = "AES-192-GCM"
        case aes256GCM = "AES-256-GCM"
        case aes128Wrap = "AES-128-WRAP"
        case aes192Wrap = "AES-192-WRAP"
        case aes256Wrap = "AES-256-WRAP"
    }

    let name: Name
    private let pointer: OpaquePointer

    static func fetched(_ name: Name) throws(CryptoError) -> Cipher {
        try ciphers[name]
    }

    private static let ciphers = FetchedValues(Name.allCases) { name throws(CryptoError) in try Cipher(name) }

    private init(_ name: Name) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let pointer = unsafe EVP_CIPHER_fetch(nil, name.rawValue, nil) else {
            throw CryptoError(failed: "EVP_CIPHER_fetch", "\(name.rawValue) isn't available")
        }
        unsafe self.pointer = pointer
        self.name = name
    }

    deinit {
        unsafe EVP_CIPHER_free(pointer)
    }

    var keySize: Int { unsafe Int(EVP_CIPHER_get_key_length(pointer)) }
    var vectorSize: Int { unsafe Int(EVP_CIPHER_get_iv_length(pointer)) }

    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(pointer)
    }
}

/// One encryption or decryption: the owner of an `EVP_CIPHER_CTX`.
@safe final class CipherContext {
    private let pointer: OpaquePointer

    /// The key must have the cipher's size, because OpenSSL would read beyond a shorter one; the
    /// vector is `nil` for a key wrap, which has a fixed one.
    init(_ cipher: Cipher, key: RawSpan, vector: [UInt8]?, isEncrypting: Bool) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        guard let pointer = unsafe EVP_CIPHER_CTX_new() else {
            throw CryptoError(failed: "EVP_CIPHER_CTX_new", "No memory")
        }
        unsafe self.pointer = pointer
        let name = cipher.name.rawValue
        guard key.byteCount == cipher.keySize else {
            throw CryptoError(
                .invalidArgument,
                "\(name) requires a key of \(cipher.keySize) bytes, not \(key.byteCount)"
            )
        }
        if let vector {
            guard vector.count == cipher.vectorSize else {
                throw CryptoError(
                    .invalidArgument,
                    "\(name) requires an initialization vector of \(cipher.vectorSize) bytes, not \(vector.count)"
                )
            }
        } else {
            unsafe EVP_CIPHER_CTX_set_flags(pointer, Int32(EVP_CIPHER_CTX_FLAG_WRAP_ALLOW))
        }
        let status = unsafe cipher.withPointer { cipher in
            unsafe key.withOctets { key in
                unsafe EVP_CipherInit_ex(pointer, cipher, nil, key.baseAddress, vector, isEncrypting ? 1 : 0)
            }
        }
        guard status == 1 else { throw CryptoError(failed: "EVP_CipherInit_ex", "\(name) isn't available") }
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(pointer)
    }

    func authenticate(_ context: RawSpan) -> Bool {
        guard !context.isEmpty else { return true }
        guard context.byteCount <= Int(Int32.max) else { return false }
        var count: Int32 = 0
        return unsafe context.withOctets { context in
            unsafe EVP_CipherUpdate(pointer, nil, &count, context.baseAddress, Int32(context.count)) == 1
        }
    }

    /// Appends the result to an output with room for the text and one more block of 16 bytes.
    ///
    /// A second call with the key wrap would make a second, separate wrap.
    @_lifetime(output: copy output)
    func update(_ text: RawSpan, into output: inout OutputSpan<UInt8>) -> Bool {
        guard !text.isEmpty else { return true }
        guard text.byteCount <= Int(Int32.max) - 16, output.freeCapacity >= text.byteCount else { return false }
        return unsafe text.withOctets { text in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                guard let start = unsafe buffer.baseAddress.map({ unsafe $0 + initializedCount }) else { return false }
                var count: Int32 = 0
                let status = unsafe EVP_CipherUpdate(pointer, start, &count, text.baseAddress, Int32(text.count))
                guard status == 1, count >= 0 else { return false }
                initializedCount += Int(count)
                return true
            }
        }
    }

    /// Appends the last block, if the mode has padding; `false` if the tag or padding isn't valid.
    func finish(into output: inout OutputSpan<UInt8>) -> Bool {
        guard var rest = finish(), rest.count <= output.freeCapacity else { return false }
        defer { rest.clear() }
        output.append(rest.span.octets)
        return true
    }

    /// Decrypts in place and returns the plaintext's size; `nil` if the tag or padding isn't valid.
    func decrypt(_ text: inout MutableSpan<UInt8>) -> Int? {
        guard text.count <= Int(Int32.max) - 16 else { return nil }
        var count: Int32 = 0
        let isUpdated = unsafe text.withUnsafeMutableBufferPointer { text in
            unsafe text.isEmpty
                || EVP_CipherUpdate(pointer, text.baseAddress, &count, text.baseAddress, Int32(text.count)) == 1
        }
        guard isUpdated, var rest = finish() else { return nil }
        defer { rest.clear() }
        guard count >= 0, Int(count) + rest.count <= text.count else { return nil }
        text.store(rest.span, at: Int(count))
        return Int(count) + rest.count
    }

    /// Returns the last block, if the mode has padding, or `nil` if the tag or padding isn't valid.
    private func finish() -> [UInt8]? {
        unsafe [UInt8](maximumSize: 16) { buffer, size in
            var count: Int32 = 0
            let status = unsafe EVP_CipherFinal_ex(pointer, buffer, &count)
            size = Int(count)
            return status == 1 && count >= 0
        }
    }

    func tag(count: Int) -> [UInt8]? {
        unsafe [UInt8](maximumSize: count) { buffer, size in
            size = count
            return unsafe EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_GET_TAG, Int32(count), buffer) == 1
        }
    }

    /// The caller must check the size: OpenSSL accepts a single byte.
    func setTag(_ tag: [UInt8]) -> Bool {
        var tag = tag
        return unsafe EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1
    }
}

extension [UInt8] {
    /// Overwrites the bytes, in a way that the compiler doesn't remove.
    package mutating func clear() {
        unsafe withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}

extension MutableSpan<UInt8> {
    mutating func clear() {
        unsafe withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}

extension OutputSpan<UInt8> {
    mutating func clear() {
        unsafe withUnsafeMutableBufferPointer { buffer, initializedCount in
            unsafe OPENSSL_cleanse(buffer.baseAddress, initializedCount)
            initializedCount = 0
        }
    }
}
