import Foundation
import TokenGeneration

extension FuzzTarget {
    /// Reads a text as a compact JWS, with its payload and with one given apart.
    static func compact(_ text: String) {
        let view = try? UnverifiedJWS(compact: text)
        if let verified = try? Seeds.jwsVerifier.verify(compact: text) {
            require(Seeds.payloads.contains(verified.payload), "a payload was accepted that nobody signed")
            guard let view else { defect("what can be verified can't be looked at") }
            require((view.unverifiedPayload ?? Data()) == verified.payload, "two payloads in one text")
            require(
                view.unverifiedSignatures.map(\.unverifiedProtectedHeader) == [verified.header],
                "two headers in one text"
            )
            require(text.utf8.count { $0 == UInt8(ascii: ".") } == 2, "a compact JWS has two periods")
        }
        for payload in Seeds.payloads {
            guard let verified = try? Seeds.jwsVerifier.verify(compact: text, detachedPayload: payload) else {
                continue
            }
            require(verified.payload == payload, "another payload than the one that was given")
            require(
                payload.isEmpty || (try? Seeds.jwsVerifier.verify(compact: text)) == nil,
                "attached and detached at once"
            )
        }
    }

    /// Reads a text as a JWS in JSON, with its payload and with one given apart.
    static func jws(_ text: Data) {
        let view = try? UnverifiedJWS(json: text)
        if let verified = try? Seeds.jwsVerifier.verify(json: text, requiring: .any) {
            require(Seeds.payloads.contains(verified.payload), "a payload was accepted that nobody signed")
            guard let view, view.unverifiedPayload == verified.payload else { defect("two payloads in one text") }
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
            // Foundation is laxer, so it must read what the strict parser does.
            require((try? JSONSerialization.jsonObject(with: text)) != nil, "Foundation can't read it")
        }
        for payload in Seeds.payloads {
            let verified = try? Seeds.jwsVerifier.verify(json: text, detachedPayload: payload, requiring: .any)
            require(verified == nil || view?.unverifiedPayload == nil && view != nil, "attached and detached at once")
        }
    }
}
