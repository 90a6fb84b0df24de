extension ClientIdentity {
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
