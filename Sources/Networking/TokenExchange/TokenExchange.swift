import Foundation
import FoundationNetworking

/// The exchange of a token for one of narrower use ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
struct TokenExchange {
    /// Where tokens are exchanged.
    let request: URLRequest
    /// The scope asked for.
    let scope: String

    /// The request as it goes over the wire ([RFC 8693 §2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.1)).
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

/// A token got by an exchange.
struct ServiceToken: Sendable {
    let accessToken: String
    /// When it should no longer be used, on the monotonic clock.
    let expiry: ContinuousClock.Instant

    /// Reads the answer of an exchange ([RFC 8693 §2.2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1)).
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - requested: When the exchange was sent; the lifetime counts from then.
    /// - Throws: ``NetworkError`` with the code `unableToDecodeServiceTokenResponse`.
    init(decoding data: Data, requested: ContinuousClock.Instant) throws(NetworkError) {
        let response: Response
        do { response = try JSONDecoder().decode(Response.self, from: data) } catch {
            throw NetworkError(
                .unableToDecodeServiceTokenResponse,
                "the exchange's answer must be a JSON object with access_token, token_type and expires_in",
                cause: error
            )
        }
        guard !response.accessToken.isEmpty, HTTPSyntax.isFieldValue(response.accessToken) else {
            throw NetworkError(.unableToDecodeServiceTokenResponse, "the exchange's access_token is not a bearer token")
        }
        // Sent as a bearer token, a token of one of these types could not be accepted, or would be laid open.
        guard !["dpop", "n_a", "mac", "pop"].contains(response.tokenType.asciiOnly.lowercased()) else {
            throw NetworkError(
                .unableToDecodeServiceTokenResponse,
                "the exchanged token is of a type that can't be used as a bearer token"
            )
        }
        accessToken = response.accessToken
        // Early enough for the request to arrive while the token is valid, and never more than a tenth of a short life.
        let lifetime = min(max(response.expiresIn, 0), Double(Int32.max))
        expiry = requested + .seconds(lifetime - min(30, lifetime / 10))
    }

    private struct Response: Decodable {
        let accessToken: String
        let tokenType: String
        let expiresIn: Double

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case tokenType = "token_type"
            case expiresIn = "expires_in"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            accessToken = try container.decode(String.self, forKey: .accessToken)
            tokenType = try container.decode(String.self, forKey: .tokenType)
            // Some servers send the number as a string.
            if let text = try? container.decode(String.self, forKey: .expiresIn) {
                guard let seconds = Double(text), seconds.isFinite else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .expiresIn,
                        in: container,
                        debugDescription: "expires_in is not a number of seconds"
                    )
                }
                expiresIn = seconds
            } else {
                expiresIn = try container.decode(Double.self, forKey: .expiresIn)
            }
        }
    }
}
