import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

struct KeySetSource: Sendable {
    struct Response: Sendable {
        let keys: JWKSet
        /// The key set as sent; `nil` if the server confirmed the copy.
        let document: Data?
        let lifetime: Duration
        let copy: KeySetCopy?
    }

    let locate: @Sendable () async throws -> URL
    let client: NetworkClient
    let options: RemoteKeySet.Options

    /// Fetches new keys, or renews the lifetime of the latest ones if the server confirms them.
    ///
    /// - Throws: An error for `OAuth2Error(fetching:failure:at:)`.
    func fetch(_ url: URL, unlike copy: KeySetCopy?) async throws -> Response {
        guard let origin = HTTPOrigin(url), origin.isConfidential else {
            throw OAuth2Error(
                .insecureTransport,
                "the key set's URL must be https; over http, an attacker could add keys"
            )
        }
        var request = URLRequest(url: url)
        request.setValue(options.accept, forHTTPHeaderField: "Accept")
        let copy = copy.flatMap { $0.url == url && !$0.conditions.isEmpty ? $0 : nil }
        for (name, value) in copy?.conditions ?? [] { request.setValue(value, forHTTPHeaderField: name) }
        let response: HTTPResponse
        do {
            response = try await client.response(
                for: request,
                options: RequestOptions(
                    redirects: .never,
                    timeout: options.timeout,
                    maximumBodySize: min(options.maximumSize, JSONObject.maximumSize)
                )
            )
        } catch let error as ServerError where error.errorCode == 304 {
            guard let copy else {
                throw OAuth2Error(
                    .protocolViolation,
                    "the key set's server responded with 304 to an unconditional request",
                    status: 304
                )
            }
            let confirmed = copy.confirmed(by: error.headers)
            return Response(
                keys: copy.keys,
                document: nil,
                lifetime: lifetime(confirmed.headers),
                copy: confirmed
            )
        }
        guard response.status == 200 else {
            throw OAuth2Error(
                .protocolViolation,
                "the key set's server responded with \(response.status) instead of 200",
                status: response.status
            )
        }
        let keys: JWKSet
        do {
            keys =
                try options.read?(response)
                ?? JWKSet(parsing: response.body, maximumRSAKeySize: options.maximumRSAKeySize)
        } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the response isn't a key set: \((error as? TokenError)?.message ?? "see the cause")",
                status: 200,
                cause: error
            )
        }
        return Response(
            keys: keys,
            document: response.body,
            lifetime: lifetime(response.headers),
            copy: KeySetCopy(keys, from: url, response.headers, at: options.timeSource.date())
        )
    }

    private func lifetime(_ headers: HTTPHeaders) -> Duration {
        guard let stated = CacheLifetime.read(headers, at: options.timeSource.date()) else {
            return max(options.lifetime, .zero)
        }
        return min(max(stated, options.lifetimeBounds.lowerBound), options.lifetimeBounds.upperBound)
    }
}
