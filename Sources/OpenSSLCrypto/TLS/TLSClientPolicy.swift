/// How a client's TLS connections are made, and whom they may reach.
package struct TLSClientPolicy: Sendable {
    /// The certificates under which servers are trusted.
    package var trust: @Sendable () throws(CryptoError) -> TrustStore
    /// The oldest version that is spoken.
    package var minimumVersion: TLSProtocolVersion
    /// The newest version that is spoken; `nil` for the newest that OpenSSL has.
    package var maximumVersion: TLSProtocolVersion?
    /// Who the process is; asked when a server wants to know, for each connection.
    package var identity: (@Sendable () throws -> TLSIdentity?)?
    /// Asked about each server whose chain and name are verified; an error refuses it.
    ///
    /// It is called on the thread that makes the connection, before anything but the handshake is sent.
    package var evaluate: (@Sendable (TLSPeer) throws -> Void)?
    /// Whether a later connection may resume the session of an earlier one, which then is not evaluated again.
    package var allowsResumption: Bool { evaluate == nil && identity == nil }

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - trust: The certificates under which servers are trusted.
    ///   - minimumVersion: The oldest version that is spoken.
    ///   - maximumVersion: The newest version that is spoken.
    ///   - identity: Who the process is.
    ///   - evaluate: Asked about each server.
    package init(
        trust: @escaping @Sendable () throws(CryptoError) -> TrustStore,
        minimumVersion: TLSProtocolVersion = .tls12,
        maximumVersion: TLSProtocolVersion? = nil,
        identity: (@Sendable () throws -> TLSIdentity?)? = nil,
        evaluate: (@Sendable (TLSPeer) throws -> Void)? = nil
    ) {
        self.trust = trust
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.identity = identity
        self.evaluate = evaluate
    }
}
