import Foundation
import Testing
import TokenGeneration

@Suite("Interoperability: jwt jws and jwt dpop", .enabled(if: Interop.isPrepared, Interop.hint))
struct SignatureCommandInteropTests {
    private static let payload = Data("It is true. \u{1F600}\n".utf8)

    private let folder: PrivateFolder
    private let key: SigningKey

    init() throws {
        folder = try PrivateFolder()
        key = try SigningKey.generate(.es256)
        try folder.write(Data(key.pem().utf8), to: "key.pem")
        try folder.write(Self.payload, to: "payload")
    }

    @Test("The peer verifies signatures of jwt jws sign", arguments: JWSPeer.allCases)
    func ours(peer: JWSPeer) async throws {
        let sign = ["jws", "sign", "--key", folder.path("key.pem"), folder.path("payload")]
        var texts = [(try await CommandRun.text(sign), false)]
        if peer != .pyJWT {
            texts.append((try await CommandRun.text(sign + ["--format", "json"]), false))
            texts.append((try await CommandRun.text(sign + ["--detached"]), true))
        }
        for (text, isDetached) in texts {
            let verdict = try await peer.check(
                [text],
                payload: isDetached ? Self.payload : nil,
                key: key.verificationKey.jwk
            )
            #expect(verdict.first?.payload == Self.payload, "\(verdict.first?.reason ?? "")")
        }
    }

    @Test("jwt jws verify accepts the peer's signatures", arguments: JWSPeer.allCases)
    func theirs(peer: JWSPeer) async throws {
        for form in JWSPeer.Form.allCases {
            for placement in [JWSPayloadPlacement.attached, .detached] where peer.writes(form, .base64url, placement) {
                let text = try await peer.make(
                    form,
                    .base64url,
                    placement,
                    payload: Self.payload,
                    keys: [try key.privateJWK()]
                )
                let options = placement == .detached ? ["--payload", folder.path("payload")] : []
                let payload = try await CommandRun.output(
                    ["jws", "verify", "--key", folder.path("key.pem")] + options,
                    input: text
                )
                #expect(Data(payload.utf8) == Self.payload)
            }
        }
    }

    @Test("The peer verifies a proof of jwt dpop with the key in it", arguments: Peer.libraries)
    func dpop(peer: Peer) async throws {
        // RFC 9449 §7.1
        let token = try folder.write(Data("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU".utf8), to: "token")
        let proof = try await CommandRun.text([
            "dpop", "GET", "https://api.example/a?b=c", "--key", folder.path("key.pem"), "--access-token-file", token,
            "--nonce", "n",
        ])
        let header = try JSONObject(parsing: #require(SignedText.octets(proof.prefix { $0 != "." })))
        let jwk = try #require(header["jwk"])
        #expect(jwk.object?["d"] == nil && header["typ"] == "dpop+jwt")
        let verdict = try await peer.check(proof, key: ["jwk": jwk])
        #expect(verdict.isAccepted, "\(verdict.reason)")
        #expect(verdict.claims?["htm"] == "GET")
        #expect(verdict.claims?["htu"] == "https://api.example/a")
        #expect(verdict.claims?["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
        #expect(verdict.claims?["nonce"] == "n")
    }
}
