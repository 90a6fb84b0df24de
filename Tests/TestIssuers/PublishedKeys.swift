package import Foundation
package import MockNetworking
package import Networking
package import OAuth2
import Synchronization
package import TokenGeneration

/// An in-memory issuer that publishes keys at a URL, with a clock that stands still.
package final class PublishedKeys: Sendable {
    package static let issuer = "https://id.example"
    package static let url = URL(string: "https://id.example/jwks")!

    package let time = ManualTime()
    package let transport: MockTransport
    private let document: Document

    /// Creates an issuer.
    ///
    /// - Parameters:
    ///   - keys: The keys to publish first.
    ///   - headers: The header fields of each response.
    ///   - steps: The server's responses before it publishes the keys.
    package init(_ keys: [IssuerKey], headers: HTTPHeaders = [:], steps: [MockTransport.Step] = []) {
        let document = Document(IssuerKey.document(keys), headers)
        self.document = document
        transport = MockTransport(steps: steps, time: time.timeSource) { _ in document.response }
    }

    /// The number of fetches of the keys.
    package var fetchCount: Int { transport.requests.count }

    package func publish(_ keys: [IssuerKey]) { document.change { $0.text = IssuerKey.document(keys) } }

    package func publish(text: String) { document.change { $0.text = text } }

    package func send(headers: HTTPHeaders) { document.change { $0.headers = headers } }

    package func keySet(_ change: (inout RemoteKeySet.Options) -> Void = { _ in }) -> RemoteKeySet {
        var options = RemoteKeySet.Options(timeSource: time.timeSource)
        change(&options)
        let client = NetworkClient(
            transport: transport,
            options: .init(timeSource: time.timeSource, retryBudget: nil)
        )
        return RemoteKeySet(url: Self.url, client: client, options: options)
    }

    package func verifier(
        selection: KeySelection? = nil,
        _ change: (inout RemoteKeySet.Options) -> Void = { _ in }
    ) -> RemoteJWTVerifier {
        var keys = IssuerKeys.remote(keySet(change))
        keys.selection = selection
        return RemoteJWTVerifier(
            keys: keys,
            policy: ValidationPolicy(issuer: .exactly(Self.issuer), currentDate: time.timeSource.date)
        )
    }

    /// Returns a token that is valid for ten years.
    package func token(_ key: IssuerKey, keyID: String?? = nil, subject: String = "ada") throws -> String {
        try key.token(
            [
                "iss": .string(Self.issuer), "sub": .string(subject),
                "exp": JSONValue(date: time.date.addingTimeInterval(315_360_000)),
            ],
            keyID: keyID
        )
    }

    /// The document at the URL.
    private final class Document: Sendable {
        private let content: Mutex<(text: String, headers: HTTPHeaders)>

        init(_ text: String, _ headers: HTTPHeaders) {
            content = Mutex((text, headers))
        }

        var response: HTTPTransportResponse {
            let (text, headers) = content.withLock { $0 }
            return HTTPTransportResponse(status: 200, headers: headers, body: Data(text.utf8))
        }

        func change(_ change: (inout (text: String, headers: HTTPHeaders)) -> Void) {
            content.withLock { change(&$0) }
        }
    }
}

extension RemoteJWTVerifier {
    /// The keys, which are fetched.
    package var keySet: RemoteKeySet { keys.keySet! }
}

/// A signing key of an issuer.
package struct IssuerKey: Sendable {
    package let key: SigningKey
    package let id: String?

    package init(_ algorithm: JWSAlgorithm = .es256, id: String?) throws {
        key = try SigningKey.generate(algorithm)
        self.id = id
    }

    /// The published key.
    package var jwk: JWK {
        var jwk = key.verificationKey.jwk
        jwk.members["kid"] = id.map(JSONValue.string)
        jwk.members["use"] = "sig"
        return jwk
    }

    /// The published key of an issuer that doesn't state the algorithm (RFC 7517 §4.4).
    package var jwkWithoutAlgorithm: JWK {
        var jwk = jwk
        jwk.members["alg"] = nil
        return jwk
    }

    private init(_ key: SigningKey, id: String?) {
        self.key = key
        self.id = id
    }

    /// Returns the same RSA key for another algorithm.
    package func signing(with algorithm: JWSAlgorithm) throws -> IssuerKey {
        var jwk = try key.privateJWK()
        jwk.members["alg"] = nil
        return IssuerKey(try SigningKey(jwk: jwk, algorithm: algorithm), id: id)
    }

    package static func document(_ keys: [IssuerKey]) -> String { JWKSet(keys: keys.map(\.jwk)).serialized() }

    package func token(_ claims: JSONObject, type: String = "JWT", keyID: String?? = nil) throws -> String {
        var header: JSONObject = ["typ": .string(type)]
        header["kid"] = (keyID ?? id).map(JSONValue.string)
        return try JWTGenerator(header: header, payload: claims, signingService: key).token()
    }
}
