import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// Fetches a key set.
struct KeySetSource: Sendable {
    struct Response: Sendable {
        let keys: JWKSet
        /// The key set as it was sent; `nil` if the server says that it is the one of the copy.
        let document: Data?
        /// How long they are to be used.
        let lifetime: Duration
        /// What the next request can ask by whether there are others.
        let copy: KeySetCopy?
    }

    /// Says where the keys are.
    let locate: @Sendable () async throws -> URL
    let client: NetworkClient
    let options: RemoteKeySet.Options

    /// Fetches the keys.
    ///
    /// - Parameter copy: The latest ones; the server is asked for others only, if they can be told.
    /// - Returns: The keys: others, or the same for another time.
    /// - Throws: What `OAuth2Error(keySetFailure:at:)` takes.
    func fetch(unlike copy: KeySetCopy?) async throws -> Response {
        let url = try await locate()
        guard let origin = HTTPOrigin(url), origin.isConfidential else {
            throw OAuth2Error(
                .insecureTransport,
                "a key set is fetched only over https: on the way, others could put their keys among the issuer's"
            )
        }
        var request = URLRequest(url: url)
        request.setValue("application/jwk-set+json, application/json", forHTTPHeaderField: "Accept")
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
                    "the key set's address answered 304 to a request without conditions: which keys are meant can't be told",
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
                "the key set's address answered \(response.status) instead of 200",
                status: response.status
            )
        }
        let keys: JWKSet
        do {
            keys = try JWKSet(parsing: response.body, maximumRSAKeySize: options.maximumRSAKeySize)
        } catch {
            throw OAuth2Error(
                .protocolViolation,
                "what is at the key set's address is no key set: \(error.message)",
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

extension OAuth2Error {
    /// Why a key set could not be fetched.
    init(keySetFailure error: any Error, at date: Date) {
        switch error {
        case let error as OAuth2Error:
            self = error
        case let error as ServerError:
            // A server's page is of no use to whoever reads the error.
            let cause = ServerError(endpoint: error.endpoint, errorCode: error.errorCode)
            if Self.isTransient(error.errorCode) {
                self.init(
                    .serverTransient,
                    "the key set's server has failed for the moment",
                    status: error.errorCode,
                    cause: cause
                )
                retryAfter = RetryAfter.delay(
                    error.headers["Retry-After"],
                    responseDate: error.headers["Date"],
                    now: date
                )
            } else {
                let isRedirect = [301, 302, 303, 307, 308].contains(error.errorCode)
                let hint = isRedirect ? "redirects are not followed; " : ""
                self.init(
                    .protocolViolation,
                    "the key set's address answered \(error.errorCode): \(hint)check the address",
                    status: error.errorCode,
                    cause: cause
                )
            }
        case let error as NetworkError where error.code == .bodyTooLarge:
            self.init(
                .protocolViolation,
                "the key set is larger than is accepted; raise maximumSize if it is meant to be",
                cause: error
            )
        default:
            self.init(.serverUnreachable, "the key set could not be fetched", cause: error)
        }
    }
}
