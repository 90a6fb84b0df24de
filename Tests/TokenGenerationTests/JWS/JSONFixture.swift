import Foundation
import Testing
import TokenGeneration

/// Handmade JSON serializations with valid signatures over any content.
enum JSONFixture {
    /// The payload, `{"exp":1}`.
    static let payload = Data(#"{"exp":1}"#.utf8)
    static let payloadText = Base64URL.encode(Array(payload))

    /// Returns the members of one signature, without braces; a `nil` protected header is omitted.
    static func entry(
        _ protected: String? = #"{"alg":"ES256"}"#,
        unprotected: String? = nil,
        payload: String = payloadText,
        key: SigningKey? = nil
    ) throws -> String {
        try entry(protectedText: protected.map { Base64URL.encode(Array($0.utf8)) }, unprotected, payload, key)
    }

    /// Returns the members of one signature for any text as the protected header.
    static func entry(
        protectedText: String?,
        _ unprotected: String? = nil,
        _ payload: String = payloadText,
        _ key: SigningKey? = nil
    ) throws -> String {
        let key = try key ?? Fixture.signingKey()
        let input = (protectedText ?? "") + "." + payload
        let signature = try key.signature(over: Array(input.utf8))
        var members = protectedText.map { [#""protected":"\#($0)""#] } ?? []
        if let unprotected { members.append(#""header":\#(unprotected)"#) }
        members.append(#""signature":"\#(Base64URL.encode(signature))""#)
        return members.joined(separator: ",")
    }

    static func flattened(_ entry: String, payload: String = payloadText) -> String {
        #"{"payload":"\#(payload)",\#(entry)}"#
    }

    static func general(_ entries: [String], payload: String = payloadText) -> String {
        #"{"payload":"\#(payload)","signatures":[\#(entries.map { "{\($0)}" }.joined(separator: ","))]}"#
    }

    /// Returns the error code for one signature, which is the same in both forms of a JWS.
    static func refusal(
        _ entry: String,
        by verifier: JWSVerifier,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> TokenError.Code? {
        let codes = [flattened(entry), general([entry])].map { json in
            code { try verifier.verify(json: json, requiring: .any) }
        }
        #expect(codes[0] == codes[1], sourceLocation: sourceLocation)
        return codes[0]
    }

    static func verifier(understanding extensions: Set<String> = []) throws -> JWSVerifier {
        var verifier = JWSVerifier(key: try Fixture.signingKey().verificationKey)
        verifier.understoodExtensions = extensions
        return verifier
    }
}
