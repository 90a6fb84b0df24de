public import Foundation
internal import OpenSSLCrypto

/// The certificate, its issuers' certificates and the private key that identify this process to
/// servers that request a client certificate (mutual TLS).
///
/// Supported keys are RSA with 2048 bits or more, NIST curves, secp256k1, Ed25519 and Ed448.
/// Descriptions never contain the key.
public struct ClientIdentity: Sendable {
    /// A closure that returns the password of an encrypted key; called only if there is one.
    public typealias Password = @Sendable () throws -> String

    let load: @Sendable () throws -> TLSIdentity

    init(load: @escaping @Sendable () throws -> TLSIdentity) {
        self.load = load
    }

    private init(_ identity: TLSIdentity) {
        self.init { identity }
    }

    /// Creates an identity from PEM texts.
    ///
    /// - Parameters:
    ///   - certificateChain: The process's own certificate, then its issuers' certificates, with or
    ///     without the root. At most ten.
    ///   - privateKey: The key of the first certificate: PKCS#8, encrypted or not, PKCS#1 or SEC 1.
    ///   - password: Returns the password of an encrypted key.
    /// - Throws: ``TrustConfigurationError`` with the code `malformedCertificate`, `malformedKey`,
    ///   `unsupportedKey`, `keyMismatch`, `passwordRequired`, `incorrectPassword` or
    ///   `cryptography`, and the errors of `password`.
    public init(certificateChain: String, privateKey: String, password: Password? = nil) throws {
        try self.init(
            IdentitySource.pem(certificates: certificateChain, privateKey: privateKey, password: password)
        )
    }

    /// Creates an identity from PEM files, which are read once.
    ///
    /// For files that are replaced while the process runs, use
    /// ``reloading(certificateChainFile:privateKeyFile:password:onFailure:)``.
    ///
    /// - Parameters:
    ///   - certificateChainFile: The path of the certificates, as for
    ///     ``init(certificateChain:privateKey:password:)``.
    ///   - privateKeyFile: The path of the key. It may be the same file.
    ///   - password: Returns the password of an encrypted key.
    /// - Throws: The errors of ``init(certificateChain:privateKey:password:)``, and
    ///   ``TrustConfigurationError/Code/unreadableFile``.
    public init(certificateChainFile: String, privateKeyFile: String, password: Password? = nil) throws {
        let source = IdentitySource.pemFiles(
            certificates: certificateChainFile,
            privateKey: privateKeyFile,
            password: password
        )
        try self.init(source.load())
    }

    /// Creates an identity from PKCS#12 data ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)).
    ///
    /// - Parameters:
    ///   - pkcs12: The contents of a `.p12` or `.pfx` file of at most 1 MiB, with one private key
    ///     and its certificate. The issuers' certificates may be in any order.
    ///   - password: Returns the password. Not called if the file opens without one.
    /// - Throws: The errors of ``init(certificateChain:privateKey:password:)``.
    public init(pkcs12: Data, password: Password? = nil) throws {
        try self.init(IdentitySource.pkcs12([UInt8](pkcs12), password: password))
    }

    /// Creates an identity from a PKCS#12 file, which is read once.
    ///
    /// For a file that's replaced while the process runs, use
    /// ``reloading(pkcs12File:password:onFailure:)``.
    ///
    /// - Parameters:
    ///   - pkcs12File: The path of a `.p12` or `.pfx` file.
    ///   - password: Returns the password. Not called if the file opens without one.
    /// - Throws: The errors of ``init(certificateChain:privateKey:password:)``, and
    ///   ``TrustConfigurationError/Code/unreadableFile``.
    public init(pkcs12File: String, password: Password? = nil) throws {
        try self.init(IdentitySource.pkcs12File(pkcs12File, password: password).load())
    }
}
