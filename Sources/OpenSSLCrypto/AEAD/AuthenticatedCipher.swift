/// A cipher that encrypts and authenticates
/// ([RFC 7518 §5.1](https://www.rfc-editor.org/rfc/rfc7518#section-5.1)).
///
/// Each encryption uses a new random initialization vector. In Galois/Counter Mode, don't encrypt
/// more than 2³² messages with one key: beyond that, random vectors may repeat.
package struct AuthenticatedCipher: Sendable, Hashable, CaseIterable {
    package let keySize: Int
    package let vectorSize: Int
    package let tagSize: Int

    private let cipher: Cipher.Name
    /// For the HMAC in CBC mode; `nil` in Galois/Counter Mode.
    private let hash: HashFunction?

    /// AES in Galois/Counter Mode ([NIST SP 800-38D](https://doi.org/10.6028/NIST.SP.800-38D)) with
    /// 96-bit initialization vectors and 128-bit tags, or, with a hash function, in CBC mode,
    /// authenticated with HMAC ([RFC 7518
    /// §5.2](https://www.rfc-editor.org/rfc/rfc7518#section-5.2)).
    private init(_ cipher: Cipher.Name, _ hash: HashFunction? = nil, keySize: Int) {
        self.cipher = cipher
        self.hash = hash
        self.keySize = keySize
        vectorSize = hash == nil ? 12 : 16
        tagSize = hash == nil ? 16 : keySize / 2
    }

    package static let aes128CBCHMACSHA256 = Self(.aes128CBC, .sha256, keySize: 32)
    package static let aes192CBCHMACSHA384 = Self(.aes192CBC, .sha384, keySize: 48)
    package static let aes256CBCHMACSHA512 = Self(.aes256CBC, .sha512, keySize: 64)
    package static let aes128GCM = Self(.aes128GCM, keySize: 16)
    package static let aes192GCM = Self(.aes192GCM, keySize: 24)
    package static let aes256GCM = Self(.aes256GCM, keySize: 32)

    package static let allCases: [Self] = [
        .aes128CBCHMACSHA256, .aes192CBCHMACSHA384, .aes256CBCHMACSHA512, .aes128GCM, .aes192GCM, .aes256GCM,
    ]

    package struct Sealed: Sendable, Equatable {
        package var vector: [UInt8]
        package var ciphertext: [UInt8]
        package var tag: [UInt8]

        package init(vector: [UInt8], ciphertext: [UInt8], tag: [UInt8]) {
            self.vector = vector
            self.ciphertext = ciphertext
            self.tag = tag
        }
    }

    /// The vector must be unique for the key; by default, it's random.
    ///
    /// A key that doesn't have ``keySize`` bytes, and a message of 2 GiB or more, are an
    /// `invalidArgument`.
    package func seal(
        _ plaintext: RawSpan,
        authenticating context: RawSpan,
        key: SecretBytes,
        vector: [UInt8]? = nil
    ) throws(CryptoError) -> Sealed {
        let vector = if let vector { vector } else { try SecureRandom.bytes(count: vectorSize) }
        var tag: [UInt8] = []
        let ciphertext = try [UInt8](capacity: ciphertextSize(plaintext.byteCount)) { output throws(CryptoError) in
            tag = try seal(plaintext, authenticating: context, key: key, vector: vector, into: &output)
        }
        return Sealed(vector: vector, ciphertext: ciphertext, tag: tag)
    }

    /// Appends the ciphertext to a buffer with room for it, and returns the tag.
    @_lifetime(output: copy output)
    package func seal(
        _ plaintext: RawSpan,
        authenticating context: RawSpan,
        key: SecretBytes,
        vector: [UInt8],
        into output: inout OutputSpan<UInt8>
    ) throws(CryptoError) -> [UInt8] {
        try check(key)
        guard plaintext.byteCount <= Self.maximumSize else {
            throw CryptoError(.invalidArgument, "The message has more than \(Self.maximumSize) bytes")
        }
        let start = output.count
        return try key.withBytes { key throws(CryptoError) in
            let operation = try operation(key, vector, isEncrypting: true)
            guard hash != nil || operation.authenticate(context), operation.update(plaintext, into: &output),
                operation.finish(into: &output)
            else {
                throw CryptoError(failed: "EVP_EncryptUpdate", "\(cipher.rawValue) encryption failed")
            }
            guard output.count == start + ciphertextSize(plaintext.byteCount) else {
                throw CryptoError(.openSSL, "The ciphertext has an unexpected size")
            }
            if let hash {
                return try tag(context, vector, output.span.octets.extracting(droppingFirst: start), hash, key)
            }
            return try operation.tag(count: tagSize)
                .orThrow(failed: "EVP_CIPHER_CTX_ctrl", "\(cipher.rawValue) encryption failed")
        }
    }

    package func ciphertextSize(_ plaintextSize: Int) -> Int {
        hash == nil ? plaintextSize : plaintextSize / 16 * 16 + 16
    }

    /// Returns `nil` if the ciphertext, the tag, the context or the key differs, or if the vector
    /// or the tag has another size.
    ///
    /// The tag is compared before anything else is derived from the ciphertext's contents, and no
    /// part of the plaintext survives a failure. A key of another size is an `invalidArgument`.
    package func open(
        _ sealed: Sealed,
        authenticating context: RawSpan,
        key: SecretBytes
    ) throws(CryptoError) -> [UInt8]? {
        var text = sealed.ciphertext
        var bytes = text.mutableSpan
        let size = try open(&bytes, vector: sealed.vector, tag: sealed.tag, authenticating: context, key: key)
        guard let size else { return nil }
        text.removeLast(text.count - size)
        return text
    }

    package func openSecret(
        _ sealed: Sealed,
        authenticating context: RawSpan,
        key: SecretBytes
    ) throws(CryptoError) -> SecretBytes? {
        var size: Int?
        let secret = try SecretBytes(capacity: sealed.ciphertext.count) { output throws(CryptoError) in
            output.append(sealed.ciphertext.span.octets)
            var bytes = output.mutableSpan
            size = try open(&bytes, vector: sealed.vector, tag: sealed.tag, authenticating: context, key: key)
            output.removeLast(output.count - (size ?? 0))
        }
        return size == nil ? nil : secret
    }

    /// Decrypts in place and returns the size of the plaintext; after a failure, the content is
    /// undefined, but not the plaintext.
    @_lifetime(text: copy text)
    package func open(
        _ text: inout MutableSpan<UInt8>,
        vector: [UInt8],
        tag: [UInt8],
        authenticating context: RawSpan,
        key: SecretBytes
    ) throws(CryptoError) -> Int? {
        try check(key)
        guard vector.count == vectorSize, tag.count == tagSize, text.count <= Self.maximumSize else { return nil }
        let size = try key.withBytes { key throws(CryptoError) -> Int? in
            if let hash {
                // Nothing is decrypted before the tags are compared, so that the padding can't
                // reveal anything.
                let expected = try self.tag(context, vector, text.span.octets, hash, key)
                let isAuthentic = expected.withBytes { expected in
                    tag.withBytes { ConstantTime.areEqual($0, expected) }
                }
                guard isAuthentic else { return nil }
            }
            let operation = try operation(key, vector, isEncrypting: false)
            guard hash != nil || operation.setTag(tag) && operation.authenticate(context) else {
                throw CryptoError(failed: "EVP_DecryptUpdate", "\(cipher.rawValue) decryption failed")
            }
            return operation.decrypt(&text)
        }
        // OpenSSL writes the text before it compares the tags of Galois/Counter Mode.
        if size == nil {
            text.clear()
            OpenSSLLibrary.clearErrors()
        }
        return size
    }

    private func check(_ key: SecretBytes) throws(CryptoError) {
        guard key.count == keySize else {
            throw CryptoError(.invalidArgument, "The cipher requires a key of \(keySize) bytes, not \(key.count)")
        }
    }

    /// In CBC mode, the second half of the key is the AES key.
    private func operation(
        _ key: RawSpan,
        _ vector: [UInt8],
        isEncrypting: Bool
    ) throws(CryptoError) -> CipherContext {
        let key = hash == nil ? key : key.extracting(droppingFirst: key.byteCount / 2)
        return try CipherContext(Cipher.fetched(cipher), key: key, vector: vector, isEncrypting: isEncrypting)
    }

    /// The first half of the HMAC over the context, the vector, the ciphertext and the size of the
    /// context; the first half of the key is the HMAC key.
    private func tag(
        _ context: RawSpan,
        _ vector: [UInt8],
        _ ciphertext: RawSpan,
        _ hash: HashFunction,
        _ key: RawSpan
    ) throws(CryptoError) -> [UInt8] {
        let key = key.extracting(first: key.byteCount / 2)
        // The size in bits, as 64 bits: a smaller type would let an attacker move bytes between the
        // context and the ciphertext.
        let bitCount = UInt64(context.byteCount) * 8
        let size = (0..<8).map { UInt8(truncatingIfNeeded: bitCount >> UInt64(56 - 8 * $0)) }
        var code = try HMAC.code(hash, key: key, of: context, vector, ciphertext, size)
        defer { code.clear() }
        return Array(code.prefix(code.count / 2))
    }

    /// OpenSSL counts bytes with 32 bits, and CBC mode adds up to 16 bytes.
    private static let maximumSize = Int(Int32.max) - 16
}

/// Authenticated encryption with AES-256 in Galois/Counter Mode
/// ([NIST SP 800-38D](https://doi.org/10.6028/NIST.SP.800-38D)) and a random nonce per message.
///
/// Don't encrypt more than 2³² messages with one key. Beyond that, random nonces may repeat.
package struct AESGCM: Sendable {
    private static let cipher = AuthenticatedCipher.aes256GCM

    private let key: SecretBytes

    /// Creates a cipher with a key of 32 bytes; any other size is an `invalidArgument`.
    package init(key: SecretBytes) throws(CryptoError) {
        guard key.count == 32 else {
            throw CryptoError(.invalidArgument, "AES-256-GCM requires a key of 32 bytes, not \(key.count)")
        }
        self.key = key
    }

    /// Returns the nonce, the ciphertext and the tag, concatenated.
    package func seal(_ plaintext: [UInt8], authenticating context: [UInt8]) throws(CryptoError) -> [UInt8] {
        try seal(plaintext, authenticating: context, nonce: SecureRandom.bytes(count: Self.cipher.vectorSize))
    }

    /// The nonce must be unique for the key.
    func seal(
        _ plaintext: [UInt8],
        authenticating context: [UInt8],
        nonce: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let sealed = try plaintext.withBytes { plaintext throws(CryptoError) in
            try context.withBytes { context throws(CryptoError) in
                try Self.cipher.seal(plaintext, authenticating: context, key: key, vector: nonce)
            }
        }
        return sealed.vector + sealed.ciphertext + sealed.tag
    }

    /// Returns `nil` if the ciphertext, the context or the key differs.
    package func open(_ sealed: [UInt8], authenticating context: [UInt8]) throws(CryptoError) -> [UInt8]? {
        let (vectorSize, tagSize) = (Self.cipher.vectorSize, Self.cipher.tagSize)
        guard sealed.count >= vectorSize + tagSize else { return nil }
        let parts = AuthenticatedCipher.Sealed(
            vector: Array(sealed.prefix(vectorSize)),
            ciphertext: Array(sealed.dropFirst(vectorSize).dropLast(tagSize)),
            tag: Array(sealed.suffix(tagSize))
        )
        return try context.withBytes { context throws(CryptoError) in
            try Self.cipher.open(parts, authenticating: context, key: key)
        }
    }
}
