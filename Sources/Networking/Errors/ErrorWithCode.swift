internal import OpenSSLCrypto

/// An error with a code and the endpoint it came from, for tracking and analytics.
public protocol ErrorWithCode: Error {
    /// A hash that is the same whenever the code and the endpoint are, or `nil` without an endpoint.
    var hash: String? { get }
    /// The HTTP status code, or the code of a failure before there was one.
    var errorCode: Int { get }
    /// The last component of the request's path.
    var endpoint: String? { get }
}

extension ErrorWithCode {
    /// The MD5 digest, in lower-case hex, of the UTF-8 of `{errorCode}_{endpoint}`; `nil` without an endpoint.
    ///
    /// MD5 is kept for compatibility with what is already recorded under these hashes; nothing relies on it for
    /// security. The hash is also `nil` where OpenSSL has no MD5, as in FIPS mode.
    public var hash: String? {
        guard let endpoint else { return nil }
        let text = [UInt8]("\(errorCode)_\(endpoint)".utf8)
        let digest = try? text.withBytes { bytes throws(CryptoError) in try HashFunction.md5.hash(bytes) }
        guard let digest else { return nil }
        return digest.reduce(into: "") { hex, byte in
            hex += String(byte >> 4, radix: 16)
            hex += String(byte & 0x0F, radix: 16)
        }
    }
}
