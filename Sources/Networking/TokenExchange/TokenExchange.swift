import Foundation
import FoundationNetworking
import OpenSSLCrypto

/// The exchange of a token for one with a narrower scope
/// ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
struct TokenExchange {
    let request: URLRequest
    let scope: String

    /// Returns the request to send
    /// ([RFC 8693 §2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.1)).
    func request(subjectToken: String) -> URLRequest {
        var request = request
        request.httpMethod = "POST"
        request.setValue(FormURLEncoded.contentType, forHTTPHeaderField: "Content-Type")
        request.httpBodyStream = nil
        request.httpBody = Data(
            FormURLEncoded.encode([
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("scope", scope),
                ("subject_token", subjectToken),
                ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ]).utf8
        )
        return request
    }
}

/// The token that a token exchange returned.
struct ServiceToken: Sendable {
    let accessToken: String
    /// The time after which the token is no longer used, on the monotonic clock.
    let expiry: ContinuousClock.Instant

    /// Parses the response of a token exchange
    /// ([RFC 8693 §2.2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1)).
    ///
    /// The lifetime counts from the time at which the request was sent.
    ///
    /// - Throws: ``NetworkError`` with the code `unableToDecodeServiceTokenResponse`.
    init(decoding data: Data, requested: ContinuousClock.Instant) throws(NetworkError) {
        let response: Response
        do { response = try JSONDecoder().decode(Response.self, from: data) } catch {
            throw NetworkError(
                .unableToDecodeServiceTokenResponse,
                "the token exchange's response must be a JSON object with access_token, token_type and expires_in",
                cause: error
            )
        }
        guard !response.accessToken.isEmpty, HTTPSyntax.isFieldValue(response.accessToken) else {
            throw NetworkError(.unableToDecodeServiceTokenResponse, "the exchanged access_token isn't a bearer token")
        }
        // As bearer tokens, these types would be rejected or exposed.
        guard !["dpop", "n_a", "mac", "pop"].contains(response.tokenType.asciiOnly.lowercased()) else {
            throw NetworkError(
                .unableToDecodeServiceTokenResponse,
                "the exchanged token's type can't be used as a bearer token"
            )
        }
        accessToken = response.accessToken
        // Expires up to 30 s early, so that the request arrives while the token is valid, but at
        // most a tenth of its lifetime.
        let lifetime = min(max(response.expiresIn.number, 0), Double(Int32.max))
        expiry = requested + Duration(clampingSeconds: lifetime - min(30, lifetime / 10))
    }

    private struct Response: Decodable {
        let accessToken: String
        let tokenType: String
        let expiresIn: Seconds

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case tokenType = "token_type"
            case expiresIn = "expires_in"
        }
    }

    /// A number of seconds, which some servers send as a string.
    private struct Seconds: Decodable {
        let number: Double

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let text = try? container.decode(String.self)
            let number = try text.map { Double($0) } ?? container.decode(Double.self)
            guard let number, number.isFinite else {
                let message = "expires_in isn't a number of seconds"
                throw DecodingError.dataCorruptedError(in: container, debugDescription: message)
            }
            self.number = number
        }
    }
}
