import COpenSSL
import TestSupport
import Testing

@testable import OpenSSLCrypto

@Suite("TLSProblem", .computing)
struct TLSProblemTests {
    private func name(_ problem: TLSProblem) -> String {
        switch problem {
        case .untrusted: "untrusted"
        case .expired: "expired"
        case .notYetValid: "notYetValid"
        case .wrongHost: "wrongHost"
        case .clientCertificateRequired: "required"
        case .clientCertificateRefused: "refused"
        case .protocolVersion: "version"
        case .alert(let alert): "alert \(alert)"
        case .refused, .identityUnavailable: "other"
        }
    }

    @Test(
        "Maps verification results",
        arguments: [
            (X509_V_ERR_CERT_HAS_EXPIRED, "expired"), (X509_V_ERR_CERT_NOT_YET_VALID, "notYetValid"),
            (X509_V_ERR_HOSTNAME_MISMATCH, "wrongHost"), (X509_V_ERR_IP_ADDRESS_MISMATCH, "wrongHost"),
            (X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, "untrusted"), (X509_V_ERR_INVALID_PURPOSE, "untrusted"),
            (X509_V_ERR_UNSPECIFIED, "untrusted"),
        ]
    )
    func verification(code: Int32, expected: String) {
        #expect(name(TLSProblem(verification: code)) == expected)
    }

    @Test(
        "Interprets alerts by the state of the handshake",
        arguments: [
            (116, false, false, "required"), (116, true, false, "required"), (40, true, false, "required"),
            (40, true, true, "alert 40"), (40, false, false, "alert 40"), (42, true, true, "refused"),
            (42, true, false, "required"), (42, false, false, "alert 42"), (48, true, true, "refused"),
            (46, true, true, "refused"), (45, true, true, "refused"), (44, true, true, "refused"),
            (49, true, true, "refused"), (51, true, true, "refused"), (70, true, true, "version"),
            (112, false, false, "alert 112"),
        ] as [(UInt8, Bool, Bool, String)]
    )
    func alerts(alert: UInt8, wasAsked: Bool, hasAnswered: Bool, expected: String) {
        #expect(name(TLSProblem(alert: alert, wasAsked: wasAsked, hasAnswered: hasAnswered)) == expected)
    }

    @Test("Records the first fatal alert, but prefers its own rejection")
    func memory() throws {
        func handshake() -> TLSHandshake {
            TLSHandshake(
                policy: TLSClientPolicy(trust: { () throws(CryptoError) in try TrustStore.system() }),
                host: "a"
            )
        }
        let fatal = SSL3_AL_FATAL << 8
        let closing = handshake()
        closing.noteAlert(SSL3_AL_WARNING << 8 | SSL3_AD_CLOSE_NOTIFY, isReceived: true)
        closing.noteAlert(fatal | TLS1_AD_USER_CANCELLED, isReceived: true)
        #expect(closing.problem == nil)
        let warned = handshake()
        warned.noteAlert(SSL3_AL_WARNING << 8 | TLS1_AD_UNRECOGNIZED_NAME, isReceived: true)
        #expect(warned.problem == nil)
        let first = handshake()
        first.noteAlert(fatal | TLS1_AD_PROTOCOL_VERSION, isReceived: true)
        first.noteAlert(fatal | SSL3_AD_HANDSHAKE_FAILURE, isReceived: true)
        #expect(first.problem.map(name) == "version")
        let own = handshake()
        own.noteAlert(fatal | TLS1_AD_PROTOCOL_VERSION, isReceived: false)
        #expect(own.problem.map(name) == "version")
        let decided = handshake()
        decided.refuse(.wrongHost)
        decided.noteAlert(fatal | SSL3_AD_HANDSHAKE_FAILURE, isReceived: true)
        #expect(decided.problem.map(name) == "wrongHost")
    }
}
