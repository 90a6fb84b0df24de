internal import COpenSSL

// OpenSSL's callbacks during a handshake.
extension TLSHandshake {
    /// Returns whether the server's certificate is valid for its name and the policy accepts it.
    func accepts(verifying context: OpaquePointer) -> Bool {
        let connection = unsafe X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx())
        let peer = unsafe peerName(OpaquePointer(connection))
        guard unsafe peer.isEmpty || Self.expect(peer, of: context) else {
            refuse(.untrusted("can't verify the name"))
            return false
        }
        guard unsafe X509_verify_cert(context) == 1 else {
            let code = unsafe X509_STORE_CTX_get_error(context)
            // If there's no reason, OpenSSL itself failed.
            refuse(TLSProblem(verification: code == X509_V_OK ? X509_V_ERR_UNSPECIFIED : code))
            if code == X509_V_OK { unsafe X509_STORE_CTX_set_error(context, X509_V_ERR_UNSPECIFIED) }
            return false
        }
        do {
            if let evaluate = policy.evaluate {
                try evaluate(TLSPeer(host: peer, chain: unsafe Self.chain(verifiedIn: context)))
            }
        } catch {
            refuse(.refused(error))
            unsafe X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION)
            return false
        }
        // OpenSSL would attribute remaining errors in its queue to the next read.
        OpenSSLLibrary.clearErrors()
        return true
    }

    /// Returns whether to continue the handshake after the server requested a certificate, possibly
    /// without sending one.
    func identifies(on connection: OpaquePointer) -> Bool {
        defer { OpenSSLLibrary.clearErrors() }
        // A proxy doesn't get the identity that's meant for the server.
        guard unsafe peerName(connection) == host, let identity = policy.identity else {
            noteQuestion(isAnswered: false)
            return true
        }
        do {
            guard let identity = try identity() else {
                noteQuestion(isAnswered: false)
                return true
            }
            try unsafe identity.use(on: connection)
            noteQuestion(isAnswered: true)
            return true
        } catch {
            refuse(.identityUnavailable(error))
            return false
        }
    }

    /// Returns the name or address of the peer, which may be a proxy; empty if unknown.
    private func peerName(_ connection: OpaquePointer?) -> String {
        if let name = unsafe SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name) {
            return Self.normalized(unsafe String(cString: name))
        }
        // The handshake contains a name unless the host is an address.
        return [host, proxyHost].compactMap(\.self).first { IPAddress($0) != nil } ?? ""
    }

    /// Requires the certificate to match a name or address.
    private static func expect(_ peer: String, of context: OpaquePointer) -> Bool {
        let parameters = unsafe X509_STORE_CTX_get0_param(context)
        guard IPAddress(peer) == nil else { return unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, peer) == 1 }
        // The name must be in the certificate's alternative names (RFC 9110 §4.3.4). By default,
        // OpenSSL also accepts a certificate without any by its common name.
        let flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
        unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(flags))
        return unsafe X509_VERIFY_PARAM_set1_host(parameters, peer, 0) == 1
    }

    private static func chain(verifiedIn context: OpaquePointer) throws(CryptoError) -> [TLSPeer.ChainLink] {
        let certificates = unsafe OpenSSLLibrary.elements(of: X509_STORE_CTX_get0_chain(context))
        return try unsafe certificates.map { certificate throws(CryptoError) in
            try unsafe TLSPeer.ChainLink(borrowing: certificate)
        }
    }
}
