import Foundation
import FoundationNetworking
internal import OpenSSLCrypto

/// The authentication of one request with an exchanged token.
struct ServiceTokenSession: AuthenticationSession {
    let client: NetworkClient
    let provider: any AuthenticationProvider
    let exchange: TokenExchange
    /// The token of the last attempt, if the cache already had it.
    private var keptToken: (key: ServiceTokenKey, accessToken: String)?
    private var isRepeated = false

    init(client: NetworkClient, provider: any AuthenticationProvider, exchange: TokenExchange) {
        self.client = client
        self.provider = provider
        self.exchange = exchange
    }

    mutating func authenticate(_ request: inout HTTPRequest, _ context: InterceptorContext) async throws {
        let subjectToken = try await provider.bearerToken
        let key = try ServiceTokenKey(exchange, subjectToken: subjectToken)
        let kept = client.serviceTokens.kept(key)
        let token =
            if let kept { kept } else {
                try await client.serviceTokens.value(for: key, until: context.deadline) { [client, exchange] in
                    let requested = client.options.timeSource.now()
                    // A redirect would send the subject token in the body to another server.
                    let options = RequestOptions(redirects: .never)
                    let resource = exchange.request(subjectToken: subjectToken).makeResource().with(options)
                    let loop = AttemptLoop(client: client, resource: resource, chain: InterceptorChain())
                    let response = try await loop.run(loop.resource.makeBase)
                    return try ServiceToken(decoding: response.body, requested: requested)
                }
            }
        keptToken = kept.map { (key, $0.accessToken) }
        request.headers["Authorization"] = "Bearer \(token.accessToken)"
    }

    mutating func evaluate(_ answer: AuthenticationAnswer) async -> Retry.Action {
        guard answer.error != nil, answer.response.status == 401, let (key, accessToken) = keptToken else {
            return .none
        }
        client.serviceTokens.remove(key) { $0.accessToken == accessToken }
        defer { isRepeated = true }
        return isRepeated ? .none : .retry
    }
}

/// The exchanged tokens of a client, and the token exchanges in progress.
typealias ServiceTokenCache = SingleFlightCache<ServiceTokenKey, ServiceToken>

/// The key of a cached token, which includes the subject so that subjects never share a token.
struct ServiceTokenKey: Hashable {
    let url: URL?
    let scope: String
    let subject: [UInt8]

    init(_ exchange: TokenExchange, subjectToken: String) throws {
        url = exchange.request.url
        scope = exchange.scope
        subject = try [UInt8](subjectToken.utf8).withBytes { try HashFunction.sha256.hash($0) }
    }
}
