import Foundation
import TokenGeneration

extension FuzzTarget {
    /// Reads a text as a compact JWS, with its payload and with one given apart.
    static func compact(_ text: String) {
        let verified = try? Seeds.jwsVerifier.verify(compact: text)
        guard let view = try? UnverifiedJWS(compact: text) else {
            require(verified == nil, "what can be verified can't be looked at")
            return
        }
        if let verified {
            require(Seeds.payloads.contains(verified.payload), "a payload was accepted that nobody signed")
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
            require(detached.payload == payload, "another payload than the one that was given")
            require(payload.isEmpty == (verified != nil), "only an empty payload looks the same in both forms")
        }
    }

    /// Reads a text as a JWS in JSON, with its payload and with one given apart.
    static func jws(_ text: Data) {
        let verified = try? Seeds.jwsVerifier.verify(json: text, requiring: .any)
        guard let view = try? UnverifiedJWS(json: text) else {
            require(verified == nil, "what can be verified can't be looked at")
            return
        }
        // Foundation is laxer, so it must read what the strict parser does.
        require((try? JSONSerialization.jsonObject(with: text)) != nil, "Foundation can't read it")
        if let verified {
            require(Seeds.payloads.contains(verified.payload), "a payload was accepted that nobody signed")
            require(view.unverifiedPayload == verified.payload, "two payloads in one text")
            require(
                verified.signatures.count + verified.refusals.count == view.unverifiedSignatures.count,
                "a signature is lost"
            )
            for signature in verified.signatures {
                let shown = view.unverifiedSignatures[signature.index]
                require(shown.unverifiedProtectedHeader == signature.protectedHeader, "two headers in one text")
                require(shown.unprotectedHeader["alg"] == nil, "an algorithm that nobody protects was used")
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
