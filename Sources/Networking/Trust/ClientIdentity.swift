public import Foundation
internal import OpenSSLCrypto

/// Who this process is to servers that ask for a client certificate (mutual TLS): a certificate, those of its issuers, and the
/// private key.
///
/// Keys may be RSA of 2048 bits or more, on a NIST curve or secp256k1, or Ed25519 or Ed448. The key never shows in a description.
public struct ClientIdentity: Sendable {
    /// Gives the password of an encrypted key; only called if there is one to decrypt.
    public typealias Password = @Sendable () throws -> String

    let load: @Sendable () throws -> TLSIdentity

    init(load: @escaping @Sendable () throws -> TLSIdentity) {
        self.load = load
    }

    private init(_ identity: TLSIdentity) {
        self.init { identity }
    }

    /// Reads an identity from PEM texts.
    ///
    /// - Parameters:
    ///   - certificateChain: The process's own certificate, then those of its issuers; the root may be missing. At most ten.
    ///   - privateKey: The key of the first certificate: PKCS#8, encrypted or not, PKCS#1 or SEC 1.
    ///   - password: Gives the password of an encrypted key.
    /// - Throws: ``TrustConfigurationError`` with the code `malformedCertificate`, `malformedKey`, `unsupportedKey`,
    ///   `keyMismatch`, `passwordRequired`, `incorrectPassword` or `cryptography`; and what `password` throws.
    public init(certificateChain: String, privateKey: String, password: Password? = nil) throws {
        try self.init(
            IdentitySource.pem(certificates: certificateChain, privateKey: privateKey, password: password)
        )
    }

    /// Reads an identity from PEM files, once; see ``reloading(certificateChainFile:privateKeyFile:password:onFailure:)`` for
    /// files that are replaced while the process runs.
    ///
    /// - Parameters:
    ///   - certificateChainFile: The path of the certificates, as for ``init(certificateChain:privateKey:password:)``.
    ///   - privateKeyFile: The path of the key; it may be the same.
    ///   - password: Gives the password of an encrypted key.
    /// - Throws: As ``init(certificateChain:privateKey:password:)``, and ``TrustConfigurationError/Code/unreadableFile``.
    public init(certificateChainFile: String, privateKeyFile: String, password: Password? = nil) throws {
        let source = IdentitySource.pemFiles(
            certificates: certificateChainFile,
            privateKey: privateKeyFile,
            password: password
        )
        try self.init(source.load())
    }

    /// Reads an identity from PKCS#12 ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)).
    ///
    /// - Parameters:
    ///   - pkcs12: The octets of a `.p12` or `.pfx` file, at most 1 MiB, with one private key and its certificate. The
    ///     certificates of its issuers are put into order.
    ///   - password: Gives the password; not called if the file opens without one.
    /// - Throws: As ``init(certificateChain:privateKey:password:)``.
    public init(pkcs12: Data, password: Password? = nil) throws {
        try self.init(IdentitySource.pkcs12([UInt8](pkcs12), password: password))
    }

    /// Reads an identity from a PKCS#12 file, once; see ``reloading(pkcs12File:password:onFailure:)`` for a file that is
    /// replaced while the process runs.
    ///
    /// - Parameters:
    ///   - pkcs12File: The path of a `.p12` or `.pfx` file.
    ///   - password: Gives the password; not called if the file opens without one.
    /// - Throws: As ``init(certificateChain:privateKey:password:)``, and ``TrustConfigurationError/Code/unreadableFile``.
    public init(pkcs12File: String, password: Password? = nil) throws {
        try self.init(IdentitySource.pkcs12File(pkcs12File, password: password).load())
    }
}
