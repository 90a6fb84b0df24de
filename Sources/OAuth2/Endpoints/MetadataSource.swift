import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// A cache of a value from an issuer's published metadata, which loads and refreshes it.
final class MetadataSource<Value: Sendable>: Sendable {
    private let issuer: String
    private let client: NetworkClient
    private let options: AuthorizationServerDiscovery.Options
    private let parse: @Sendable (JSONObject, String) throws(OAuth2Error) -> Value
    private let hints: DPoPServerState
    private let cache: SingleFlightCache<String, (value: Value, lifetime: Duration)>

    /// Creates a source without sending a request.
    ///
    /// The closure reads the value from the metadata of an issuer, after checking that the metadata
    /// names it.
    init(
        issuer: String,
        client: NetworkClient,
        options: AuthorizationServerDiscovery.Options,
        parse: @escaping @Sendable (JSONObject, String) throws(OAuth2Error) -> Value
    ) {
        self.issuer = issuer
        self.client = client
        self.options = options
        self.parse = parse
        hints = DPoPServerState(timeSource: options.timing.timeSource, journal: TokenJournal(client.options.observers))
        // Each load has its own timeout. This one is for loads that ignore it.
        var policy = SingleFlightCache<String, (value: Value, lifetime: Duration)>.Policy(
            timeout: options.timing.timeout * (options.documents.count + 1)
        )
        policy.lifetime = \.lifetime
        policy.staleLifetime = options.staleLifetime
        policy.retryInterval = { ($0 as? OAuth2Error)?.isOutage == true ? options.retryInterval : nil }
        cache = SingleFlightCache(timeSource: options.timing.timeSource, policy: policy)
    }

    /// Returns the value.
    ///
    /// - Throws: ``OAuth2Error`` as ``AuthorizationServerDiscovery/server()`` does;
    ///   `CancellationError`.
    func value() async throws -> Value {
        do {
            return try await cache.value(for: issuer) { [self] in try await lookUp() }.value
        } catch let error as NetworkError where error.code == .timedOut {
            throw OAuth2Error(.serverUnreachable, "the server metadata request timed out", cause: error)
        }
    }

    /// Makes the next caller reload the metadata.
    func expire() { cache.expire(issuer) }

    private func lookUp() async throws -> (value: Value, lifetime: Duration) {
        var failure = OAuth2Error(.endpointMissing, "the discovery's options name no metadata document")
        for document in options.documents {
            do { return try await read(try document.url(issuer: issuer)) } catch let error as OAuth2Error {
                failure = error
                // Only if the document doesn't exist, try the next one.
                guard error.isMissingDocument else { throw error }
            }
        }
        throw failure
    }

    private func read(_ url: URL) async throws -> (value: Value, lifetime: Duration) {
        let exchange = EndpointExchange(
            place: "the server metadata's URL",
            url: url,
            client: client,
            timing: options.timing,
            hints: hints
        )
        return try await exchange.document { metadata, headers in
            let value = try parse(metadata, issuer)
            let lifetime = CacheLifetime.read(headers, at: options.timing.timeSource.date()) ?? options.lifetime
            return (value, min(max(lifetime, options.minimumLifetime), options.maximumLifetime))
        }
    }
}

extension EndpointExchange {
    /// Gets a JSON object that is published at the URL, and reads it with the response's header
    /// fields.
    ///
    /// - Throws: The errors of ``value(_:read:)``.
    func document<Value>(_ read: (JSONObject, HTTPHeaders) throws -> Value) async throws -> Value {
        try await value { _ in
            var request = URLRequest(url: url)
            request.setValue("application/json", forHTTPHeaderField: "Accept")
            return (request, .none)
        } read: { response, secrets in
            try read(try response.jsonObject(from: place, hiding: secrets), response.headers)
        }
    }
}

extension OAuth2Error {
    /// A Boolean value that indicates whether a server has no document at a URL.
    var isMissingDocument: Bool { status.map { [400, 403, 404, 405, 410].contains($0) } ?? false }

    /// A Boolean value that indicates whether the failure may be temporary.
    ///
    /// Another issuer or an insecure endpoint isn't temporary.
    fileprivate var isOutage: Bool { [.serverTransient, .serverUnreachable, .protocolViolation].contains(code) }
}
