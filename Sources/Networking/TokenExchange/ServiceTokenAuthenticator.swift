import Foundation
import FoundationNetworking
internal import OpenSSLCrypto
import Synchronization

/// An authenticator that adds an exchanged token to the requests of one operation.
final class ServiceTokenAuthenticator: URLRequestAuthenticator {
    let credentialFields: Set = ["Authorization"]
    private let client: NetworkClient
    private let provider: any AuthenticationProvider
    private let exchange: TokenExchange
    /// The token of the last attempt, if the cache already had it.
    private let keptToken = Mutex<(key: ServiceTokenKey, accessToken: String)?>(nil)

    init(client: NetworkClient, provider: any AuthenticationProvider, exchange: TokenExchange) {
        self.client = client
        self.provider = provider
        self.exchange = exchange
    }

    func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest {
        let subjectToken = try await provider.bearerToken
        let key = try ServiceTokenKey(exchange, subjectToken: subjectToken)
        let timeSource = client.options.timeSource
        let kept = client.serviceTokens.kept(key)
        let token =
            if let kept { kept } else {
                try await client.serviceTokens.value(for: key, until: context.deadline) { [client, exchange] in
                    let requested = timeSource.now()
                    // A redirect would send the subject token in the body to another server.
                    let options = RequestOptions(redirects: .never)
                    let loop = AttemptLoop(client: client, chain: InterceptorChain(), options: options)
                    let response = try await loop.run { (exchange.request(subjectToken: subjectToken), nil) }
                    return try ServiceToken(decoding: response.body, requested: requested)
                }
            }
        keptToken.withLock { $0 = kept.map { (key, $0.accessToken) } }
        var request = request
        request.setAuthorization("Bearer \(token.accessToken)")
        return request
    }

    func evaluateFailedRequest(
        _ request: URLRequest,
        response: HTTPResponse?,
        error: any Error,
        context: InterceptorContext
    ) -> Retry.Action {
        guard response?.status == 401, let (key, accessToken) = keptToken.withLock({ $0 }) else { return .none }
        client.serviceTokens.remove(key) { $0.accessToken == accessToken }
        return context.retryState.authenticationErrors.isEmpty ? .retry : .none
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
