internal import OpenSSLCrypto

extension TLSFailure {
    /// What a handshake's problem means to a caller.
    init(_ problem: TLSProblem) {
        self =
            switch problem {
            case .untrusted: .untrustedChain
            case .expired: .certificateExpired
            case .notYetValid: .certificateNotYetValid
            case .wrongHost: .wrongHost
            case .refused(let error): error as? TLSFailure ?? .handshake
            case .identityUnavailable: .clientIdentityUnavailable
            case .clientCertificateRequired: .clientCertificateRequired
            case .clientCertificateRefused: .clientCertificateRefused
            case .protocolVersion: .protocolVersion
            case .alert: .handshake
            }
    }
}

extension NetworkError {
    /// The error of a connection that TLS refused.
    init(_ problem: TLSProblem, origin: HTTPOrigin) {
        let failure = TLSFailure(problem)
        var message = "no TLS connection to \(origin): \(failure)"
        var cause: (any Error)?
        switch problem {
        case .untrusted(let reason): message += " (\(reason))"
        case .alert(let alert): message += ", because the server says “\(TLSProblem.name(ofAlert: alert))”"
        case .identityUnavailable(let error): cause = error
        case .refused(let error) where !(error is TLSFailure): cause = error
        default: break
        }
        self.init(.tls, message, cause: cause)
        tlsFailure = failure
    }
}
