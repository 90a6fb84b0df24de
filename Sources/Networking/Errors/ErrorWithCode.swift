internal import OpenSSLCrypto

/// An error with a code and the request's endpoint, for tracking and analytics.
public protocol ErrorWithCode: Error {
    /// A hash of the code and the endpoint, stable across processes; `nil` without an endpoint.
    var hash: String? { get }
    /// The HTTP status code, or the code of a failure without a response.
    var errorCode: Int { get }
    /// The last component of the request's path.
    var endpoint: String? { get }
}

extension ErrorWithCode {
    /// The MD5 digest of `{errorCode}_{endpoint}` in lower-case hex; `nil` without an endpoint.
    ///
    /// MD5 is kept for compatibility with hashes that are already recorded; security doesn't rely
    /// on it. The hash is also `nil` if OpenSSL doesn't provide MD5, as in FIPS mode.
    public var hash: String? {
        guard let endpoint else { return nil }
        let text = [UInt8]("\(errorCode)_\(endpoint)".utf8)
        let digest = try? text.withBytes { bytes throws(CryptoError) in try HashFunction.md5.hash(bytes) }
        return digest?.hexadecimal
    }
}
