import Foundation
import FoundationNetworking

/// The interceptors of an operation, in order, and what each attempt has to know of them.
struct InterceptorChain: Sendable {
    struct Link: Sendable {
        let interceptor: any RequestInterceptor
        /// Looked up once: asking takes longer than calling an interceptor that does nothing.
        let isAuthenticator: Bool
    }

    let links: [Link]

    init(_ interceptors: [any RequestInterceptor] = []) {
        links = interceptors.map { Link(interceptor: $0, isAuthenticator: $0 is any URLRequestAuthenticator) }
    }

    private init(links: [Link]) {
        self.links = links
    }

    /// The same chain without those that put credentials on requests.
    var withoutAuthenticators: Self { Self(links: links.filter { !$0.isAuthenticator }) }

    static func + (left: Self, right: Self) -> Self { Self(links: left.links + right.links) }
}

/// What authenticators did to a request, to be compared only if a redirect asks for it.
struct Authentication: Sendable {
    private var steps: [(before: URLRequest?, after: URLRequest)] = []

    /// Notes what an authenticator made of a request; of none if there was an error before.
    mutating func note(_ request: URLRequest, madeFrom earlier: Result<URLRequest, any Error>) {
        steps.append((try? earlier.get(), request))
    }

    /// The names of the header fields that an authenticator added or changed.
    var fieldNames: Set<String> { Set(steps.flatMap { $0.after.fieldNames(changedSince: $0.before) }) }
}
