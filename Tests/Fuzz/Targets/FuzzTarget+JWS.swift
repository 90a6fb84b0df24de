import Foundation
import TokenGeneration

// shows: D17
extension FuzzTarget {
    /// Reads a text as a compact JWS, with an attached and with a detached payload.
    static func compact(_ text: String) {
        let verified = try? Seeds.jwsVerifier.verify(compact: text)
        guard let view = try? UnverifiedJWS(compact: text) else {
            require(verified == nil, "a verifiable JWS has no unverified view")
            return
        }
        if let verified {
            require(Seeds.payloads.contains(verified.payload), "an unsigned payload was accepted")
            require((view.unverifiedPayload ?? Data()) == verified.payload, "two payloads in one text")
            require(
                view.unverifiedSignatures.map(\.unverifiedProtectedHeader) == [verified.header],
                "two headers in one text"
            )
            require(text.utf8.count { $0 == UInt8(ascii: ".") } == 2, "a compact JWS has two periods")
        }
        for payload in view.unverifiedPayload == nil ? Seeds.payloads : [Seeds.payloads[2]] {
            guard let detached = try? Seeds.jwsVerifier.verify(compact: text, detachedPayload: payload) else {
                continue
            }
            require(view.unverifiedPayload == nil, "attached and detached at once")
            require(detached.payload == payload, "the payload differs from the detached one")
            require(payload.isEmpty == (verified != nil), "only an empty payload is identical in both forms")
        }
    }

    /// Reads a text as a JSON JWS, with an attached and with a detached payload.
    static func jws(_ text: Data) {
        let verified = try? Seeds.jwsVerifier.verify(json: text, requiring: .any)
        guard let view = try? UnverifiedJWS(json: text) else {
            require(verified == nil, "a verifiable JWS has no unverified view")
            return
        }
        if let verified {
            require(Seeds.payloads.contains(verified.payload), "an unsigned payload was accepted")
            require(view.unverifiedPayload == verified.payload, "two payloads in one text")
            require(
                verified.signatures.count + verified.refusals.count == view.unverifiedSignatures.count,
                "a signature is lost"
            )
            for signature in verified.signatures {
                let shown = view.unverifiedSignatures[signature.index]
                require(shown.unverifiedProtectedHeader == signature.protectedHeader, "two headers in one text")
                require(shown.unprotectedHeader["alg"] == nil, "an unprotected algorithm was used")
            }
            let isWhole = (try? Seeds.jwsVerifier.verify(json: text, requiring: .all)) != nil
            require(isWhole == verified.refusals.isEmpty, "“all” and “any” contradict each other")
        }
        for payload in view.unverifiedPayload == nil ? Seeds.payloads : [Seeds.payloads[2]] {
            let detached = try? Seeds.jwsVerifier.verify(json: text, detachedPayload: payload, requiring: .any)
            require(detached == nil || view.unverifiedPayload == nil, "attached and detached at once")
        }
    }
}
