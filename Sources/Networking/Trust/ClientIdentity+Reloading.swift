extension ClientIdentity {
    /// Asks for the identity anew for each connection.
    ///
    /// It is meant for identities from a vault, an agent or a sidecar. A connection that exists keeps the identity it was made with;
    /// ``TLSConfiguration/maximumConnectionAge`` bounds for how long.
    ///
    /// - Parameter provider: Gives the identity. It is called in the middle of a handshake, on the thread that serves all
    ///   connections: it returns what it has and does not wait. If it throws, the connection is not made, and the failure is
    ///   ``TLSFailure/clientIdentityUnavailable``.
    /// - Returns: An identity that changes.
    public static func reloading(_ provider: @escaping @Sendable () throws -> ClientIdentity) -> ClientIdentity {
        ClientIdentity { try provider().load() }
    }

    /// Reads an identity from PEM files, and again when they have changed.
    ///
    /// The files are looked at before each connection that needs the identity, so a renewed certificate works without a restart.
    /// Replace files by renaming new ones. While they are unreadable or don't fit together, the last good identity stays in use.
    /// Reading happens in the middle of a handshake, on the thread that serves all connections; decrypting a key takes a good part of a
    /// second of it.
    ///
    /// - Parameters:
    ///   - certificateChainFile: The path of the certificates, as for ``init(certificateChain:privateKey:password:)``.
    ///   - privateKeyFile: The path of the key; it may be the same.
    ///   - password: Gives the password of an encrypted key, each time the files are read.
    ///   - onFailure: Is told why changed files could not be used; called before each connection until they can. It returns at
    ///     once.
    /// - Returns: An identity that changes with the files.
    /// - Throws: As ``init(certificateChainFile:privateKeyFile:password:)``, if the files can't be used now.
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

    /// Reads an identity from a PKCS#12 file, and again when it has changed.
    ///
    /// - Parameters:
    ///   - pkcs12File: The path of a `.p12` or `.pfx` file.
    ///   - password: Gives the password, each time the file is read.
    ///   - onFailure: As for ``reloading(certificateChainFile:privateKeyFile:password:onFailure:)``.
    /// - Returns: An identity that changes with the file.
    /// - Throws: As ``init(pkcs12File:password:)``, if the file can't be used now.
    public static func reloading(
        pkcs12File: String,
        password: Password? = nil,
        onFailure: (@Sendable (any Error) -> Void)? = nil
    ) throws -> ClientIdentity {
        let identity = try ReloadedIdentity(.pkcs12File(pkcs12File, password: password), onFailure: onFailure)
        return ClientIdentity { identity.current() }
    }
}
