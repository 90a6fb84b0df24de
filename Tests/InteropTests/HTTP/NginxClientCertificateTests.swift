import Foundation
import FoundationNetworking
import Networking
import Testing

@Suite("Client certificates and nginx", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxClientCertificateTests {
    private func subject(_ identity: ClientIdentity?, _ version: TLSVersion = .tls13) async throws -> String {
        var tls = try TLSPeer.trust()
        tls.clientIdentity = identity
        tls.maximumVersion = version
        return try await TLSPeer.withClient(tls) { client in try await client.text(TLSPeer.url("MUTUAL", "/client")) }
    }

    @Test("Presents the certificate, from PEM and from PKCS#12", arguments: [TLSVersion.tls12, .tls13])
    func right(version: TLSVersion) async throws {
        let chain = try TLSPeer.file("client.pem")
        let identities = [
            try ClientIdentity(certificateChainFile: chain, privateKeyFile: TLSPeer.file("client-key.pem")),
            try ClientIdentity(certificateChainFile: chain, privateKeyFile: TLSPeer.file("client-encrypted-key.pem")) {
                "secret"
            },
            try ClientIdentity(pkcs12File: TLSPeer.file("client.p12")) { "secret" },
        ]
        for identity in identities { #expect(try await subject(identity, version) == "CN=client") }
    }

    @Test("Distinguishes a wrong password")
    func wrongPassword() throws {
        let archive = try #require(throws: TrustConfigurationError.self) {
            try ClientIdentity(pkcs12File: TLSPeer.file("client.p12")) { "wrong" }
        }
        #expect(archive.code == .incorrectPassword)
        let key = try #require(throws: TrustConfigurationError.self) {
            try ClientIdentity(
                certificateChainFile: TLSPeer.file("client.pem"),
                privateKeyFile: TLSPeer.file("client-encrypted-key.pem")
            ) { "wrong" }
        }
        #expect(key.code == .incorrectPassword)
    }

    // nginx completes the handshake and reports the missing certificate in its response.
    @Test("nginx responds with 400 to a missing certificate or one of another authority")
    func refused() async throws {
        let stranger = try ClientIdentity(
            certificateChainFile: TLSPeer.file("stranger.pem"),
            privateKeyFile: TLSPeer.file("stranger-key.pem")
        )
        for identity in [nil, stranger] {
            let error = try await #require(throws: ServerError.self) { try await subject(identity) }
            #expect(error.errorCode == 400)
        }
    }
}
