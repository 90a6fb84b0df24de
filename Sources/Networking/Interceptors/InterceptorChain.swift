import Foundation
import FoundationNetworking

/// The ordered interceptors of an operation.
struct InterceptorChain: Sendable {
    struct Link: Sendable {
        let interceptor: any RequestInterceptor
        let isAuthenticator: Bool
    }

    /// A response, and the interceptors that haven't seen it.
    struct Answer {
        let response: HTTPResponse
        let links: ArraySlice<Link>
    }

    let links: [Link]
    /// The header fields that the authenticators set.
    let credentialFields: Set<String>
    /// A Boolean value that indicates whether an interceptor is a cache.
    let hasCache: Bool

    init(_ interceptors: [any RequestInterceptor] = []) {
        self.init(
            links: interceptors.map { Link(interceptor: $0, isAuthenticator: $0 is any URLRequestAuthenticator) }
        )
    }

    private init(links: [Link]) {
        self.links = links
        credentialFields = links.reduce(into: []) { names, link in
            guard let authenticator = link.interceptor as? any URLRequestAuthenticator else { return }
            names.formUnion(authenticator.credentialFields)
        }
        hasCache = links.contains { $0.interceptor is CacheInterceptor }
    }

    /// The chain without authenticators.
    var withoutAuthenticators: Self { Self(links: links.filter { !$0.isAuthenticator }) }

    static func + (left: Self, right: Self) -> Self {
        Self(links: left.links + right.links)
    }
}
