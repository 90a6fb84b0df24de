import Foundation
import FoundationNetworking
internal import OpenSSLCrypto

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
