import Foundation
import TestVectors
import TokenGeneration

extension Seeds {
    /// The time of the first proof of RFC 9449.
    static let proofDate = Date(timeIntervalSince1970: 1_562_262_616)

    static let proofVerifier: DPoPVerifier = {
        let date = proofDate
        return DPoPVerifier(replayCache: InMemoryReplayCache(), currentDate: { date })
    }()

    /// The proofs of RFC 9449 and their URLs.
    static let proofs: [(proof: String, url: String)] = {
        let vector = try? JSONObject(parsing: Vector.data("rfc9449-dpop"))
        let proofs = vector?["proofs"]?.array ?? []
        return proofs.compactMap { value in
            guard let proof = value.object?["proof"]?.string, let url = value.object?["claims"]?.object?["htu"]?.string
            else {
                return nil
            }
            return (proof, url)
        }
    }()

    static let proofThumbprint = (try? JSONObject(parsing: Vector.data("rfc9449-dpop")))?["jkt"]?.string ?? ""

    /// The thumbprint of the key that signs the fuzzed proofs.
    static let keyThumbprint = (try? vector.key.thumbprint) ?? ""

    /// Signs with a new key each time in debug builds, where LeakSanitizer would report a stored
    /// key.
    static func proofSignature(for input: String) -> [UInt8]? {
        #if DEBUG
            let key = try? SigningKey(jwk: vector.key)
        #else
            let key = keptKey
        #endif
        return key.flatMap { try? $0.sign(data: Data(input.utf8)) }.map(Array.init)
    }

    #if !DEBUG
        private static let keptKey = try? SigningKey(jwk: vector.key)
    #endif

    static func proofSeeds() -> [Data] {
        var texts = proofs.map { "\($0.url)\n{}\n\($0.proof)" }
        let jwk = vector.key.publicPart.members.serialized()
        let header = #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(jwk)}"#
        for url in ["https://a.example/b", "HTTPS://a.example:443/./b/%7e?x=1#y", "http://[::1]:8080/"] {
            texts.append("\(url)\n\(header)\n" + #"{"jti":"1","htm":"POST","htu":"\#(url)","iat":1562262616}"#)
        }
        texts.append(
            "https://a.example/b\n\(header)\n"
                + #"{"jti":"1","htm":"POST","htu":"https://a.example/b","iat":1562262616.5,"nonce":"n","ath":"h","exp":1e999}"#
        )
        return texts.map { Data($0.utf8) }
    }
}
