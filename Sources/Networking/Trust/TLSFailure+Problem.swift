internal import OpenSSLCrypto

extension TLSFailure {
    /// Creates the failure that corresponds to a handshake's problem.
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
    /// Creates the error of a connection whose TLS handshake failed.
    init(_ problem: TLSProblem, origin: HTTPOrigin) {
        let failure = TLSFailure(problem)
        var message = "the TLS connection to \(origin) failed: \(failure)"
        var cause: (any Error)?
        switch problem {
        case .untrusted(let reason): message += " (\(reason))"
        case .alert(let alert): message += "; the server's alert is “\(TLSProblem.name(ofAlert: alert))”"
        case .identityUnavailable(let error): cause = error
        case .refused(let error) where !(error is TLSFailure): cause = error
        default: break
        }
        self.init(.tls, message, cause: cause)
        tlsFailure = failure
    }
}
