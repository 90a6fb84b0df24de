public import Foundation
internal import Glibc
internal import OpenSSLCrypto
internal import Synchronization

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

    /// Returns an identity that a closure provides for each new connection.
    ///
    /// Use this for identities from a vault, an agent or a sidecar. An existing connection keeps
    /// its identity; ``TLSConfiguration/maximumConnectionAge`` limits for how long.
    ///
    /// - Parameter provider: Returns the identity. It's called during a handshake, on the thread
    ///   that serves all connections, so it must not block. If it throws, the connection fails with
    ///   ``TLSFailure/clientIdentityUnavailable``.
    /// - Returns: An identity that can change.
    public static func reloading(_ provider: @escaping @Sendable () throws -> ClientIdentity) -> ClientIdentity {
        ClientIdentity { try provider().load() }
    }

    /// Returns an identity that's read from PEM files, and read again when they change.
    ///
    /// The client checks the files before each connection that needs the identity, so a renewed
    /// certificate works without a restart. Replace files by renaming new ones. While the files are
    /// unreadable or don't match, the last valid identity stays in use. Reading happens during a
    /// handshake, on the thread that serves all connections; decrypting a key blocks that thread
    /// for a good part of a second.
    ///
    /// - Parameters:
    ///   - certificateChainFile: The path of the certificates, as for
    ///     ``init(certificateChain:privateKey:password:)``.
    ///   - privateKeyFile: The path of the key. It may be the same file.
    ///   - password: Returns the password of an encrypted key, each time the files are read.
    ///   - onFailure: Receives the error if changed files can't be used. It's called before each
    ///     connection until they can, and must return at once.
    /// - Returns: An identity that changes with the files.
    /// - Throws: The errors of ``init(certificateChainFile:privateKeyFile:password:)``, if the
    ///   files can't be used now.
    public static func reloading(
        certificateChainFile: String,
        privateKeyFile: String,
        password: Password? = nil,
        onFailure: (@Sendable (any Error) -> Void)? = nil
    ) throws -> ClientIdentity {
        let source = IdentitySource.pemFiles(
            certificates: certificateChainFile,
            privateKey: privateKeyFile,
            password: password
        )
        let identity = try ReloadedIdentity(source, onFailure: onFailure)
        return ClientIdentity { identity.current() }
    }

    /// Returns an identity that's read from a PKCS#12 file, and read again when it changes.
    ///
    /// - Parameters:
    ///   - pkcs12File: The path of a `.p12` or `.pfx` file.
    ///   - password: Returns the password, each time the file is read.
    ///   - onFailure: Receives the error, as for
    ///     ``reloading(certificateChainFile:privateKeyFile:password:onFailure:)``.
    /// - Returns: An identity that changes with the file.
    /// - Throws: The errors of ``init(pkcs12File:password:)``, if the file can't be used now.
    public static func reloading(
        pkcs12File: String,
        password: Password? = nil,
        onFailure: (@Sendable (any Error) -> Void)? = nil
    ) throws -> ClientIdentity {
        let identity = try ReloadedIdentity(.pkcs12File(pkcs12File, password: password), onFailure: onFailure)
        return ClientIdentity { identity.current() }
    }
}

struct IdentitySource: Sendable {
    let paths: [String]
    let load: @Sendable () throws -> TLSIdentity

    static func pemFiles(certificates: String, privateKey: String, password: ClientIdentity.Password?) -> Self {
        let paths = certificates == privateKey ? [certificates] : [certificates, privateKey]
        return Self(paths: paths) {
            try pem(
                certificates: TrustFile(certificates).text(),
                privateKey: TrustFile(privateKey).text(),
                password: password,
                from: paths.joined(separator: ", ")
            )
        }
    }

    static func pkcs12File(_ path: String, password: ClientIdentity.Password?) -> Self {
        Self(paths: [path]) { try pkcs12(TrustFile(path).octets, password: password, from: path) }
    }

    /// Each text may contain both the certificates and the key.
    static func pem(
        certificates: String,
        privateKey: String,
        password: ClientIdentity.Password?,
        from place: String? = nil
    ) throws -> TLSIdentity {
        let certificates = blocks(of: certificates) { $0 == "CERTIFICATE" }
        let privateKey = blocks(of: privateKey) { $0.hasSuffix("PRIVATE KEY") }
        return try withPassword(password, in: place) { password throws(CryptoError) in
            try TLSIdentity(
                certificates: Certificate.list(pem: certificates),
                privateKey: PrivateKey(pem: privateKey, password: password)
            )
        }
    }

    static func pkcs12(
        _ octets: [UInt8],
        password: ClientIdentity.Password?,
        from place: String? = nil
    ) throws -> TLSIdentity {
        try withPassword(password, in: place) { password throws(CryptoError) in
            try TLSIdentity(pkcs12: octets, password: password)
        }
    }

    /// Tries without a password first, so that the password is only requested if it's needed.
    private static func withPassword(
        _ password: ClientIdentity.Password?,
        in place: String?,
        _ body: (SecretBytes?) throws(CryptoError) -> TLSIdentity
    ) throws -> TLSIdentity {
        do throws(CryptoError) {
            return try body(nil)
        } catch {
            guard error.code == .passwordRequired, password != nil else {
                throw TrustConfigurationError(error, in: place)
            }
        }
        let octets = [UInt8](try password?().utf8 ?? "".utf8)
        do throws(CryptoError) {
            return try body(octets.withBytes { SecretBytes(copying: $0) })
        } catch {
            throw TrustConfigurationError(error, in: place)
        }
    }

    /// Returns the blocks whose labels are wanted, with unchanged content.
    private static func blocks(of text: String, where isWanted: (Substring) -> Bool) -> String {
        var lines = ""
        var isInBlock = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.drop { $0 == " " || $0 == "\t" }
            if let label = label(line, after: "-----BEGIN "), isWanted(label) { isInBlock = true }
            if isInBlock { lines += line + "\n" }
            if label(line, after: "-----END ") != nil { isInBlock = false }
        }
        return lines
    }

    private static func label(_ line: Substring, after start: String) -> Substring? {
        guard line.hasPrefix(start), let end = line.dropFirst(start.count).firstRange(of: "-----") else { return nil }
        return line[line.index(line.startIndex, offsetBy: start.count)..<end.lowerBound]
    }
}

final class ReloadedIdentity: Sendable {
    private struct State {
        /// The stamps of the files, with `nil` for a file that doesn't exist.
        var stamps: [[Int]?]
        var identity: TLSIdentity
    }

    private let source: IdentitySource
    private let onFailure: (@Sendable (any Error) -> Void)?
    private let state: Mutex<State>

    init(_ source: IdentitySource, onFailure: (@Sendable (any Error) -> Void)?) throws {
        self.source = source
        self.onFailure = onFailure
        // The stamps come first, so that a change during the reading is detected the next time.
        let stamps = source.paths.map(Self.stamp)
        state = Mutex(State(stamps: stamps, identity: try source.load()))
    }

    /// While certificate and key are being replaced, they don't match; the previous identity is
    /// returned then, and the next call tries again.
    func current() -> TLSIdentity {
        let (identity, failure) = state.withLock { state -> (TLSIdentity, (any Error)?) in
            let stamps = source.paths.map(Self.stamp)
            guard stamps != state.stamps else { return (state.identity, nil) }
            do {
                state = State(stamps: stamps, identity: try source.load())
                return (state.identity, nil)
            } catch {
                return (state.identity, error)
            }
        }
        if let failure { onFailure?(failure) }
        return identity
    }

    /// Replacing a file changes its inode number, and rewriting it the time.
    private static func stamp(_ path: String) -> [Int]? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        // The time as its bytes: the compiler can take another module for the owner of `tv_sec`.
        let time = unsafe withUnsafeBytes(of: status.st_mtim) { bytes in unsafe bytes.map { Int($0) } }
        let number = Int(truncatingIfNeeded: status.st_ino)
        return [Int(truncatingIfNeeded: status.st_dev), number, status.st_size] + time
    }
}
