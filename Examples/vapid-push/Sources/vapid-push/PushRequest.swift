import Foundation
import TokenGeneration

/// A request that wakes a browser's service worker, without content
/// ([RFC 8030](https://www.rfc-editor.org/rfc/rfc8030)), and the token that identifies its sender
/// ([RFC 8292](https://www.rfc-editor.org/rfc/rfc8292)).
struct PushRequest {
    let endpoint: URL
    let authorization: String

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - endpoint: The subscription's URL at the push service.
    ///   - contact: A `mailto:` or `https:` URL where the push service reaches the sender.
    ///   - key: The application server's P-256 key.
    ///   - now: The current time.
    /// - Throws: `URLError` if the endpoint has no host, or `TokenError` if signing fails.
    init(to endpoint: URL, contact: String, key: SigningKey, at now: Date = Date()) throws {
        guard let scheme = endpoint.scheme, let host = endpoint.host else { throw URLError(.badURL) }
        let claims = Claims(
            aud: "\(scheme)://\(host)" + (endpoint.port.map { ":\($0)" } ?? ""),
            // At most 24 hours (RFC 8292 §2).
            exp: Int(now.timeIntervalSince1970) + 12 * 3600,
            sub: contact
        )
        // The last 65 bytes of a P-256 key's SPKI are the uncompressed point (RFC 8292 §3.2).
        let point = try key.verificationKey.der(.spki).suffix(65)
        self.endpoint = endpoint
        authorization = "vapid t=\(try key.sign(claims)), k=\(Self.base64URL(point))"
    }

    private struct Claims: Encodable {
        let aud: String
        let exp: Int
        let sub: String
    }

    /// The command that sends the request.
    var curl: String {
        "curl -X POST -H 'TTL: 60' -H 'Content-Length: 0' -H 'Authorization: \(authorization)' '\(endpoint)'"
    }

    private static func base64URL(_ bytes: Data) -> String {
        bytes.base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
