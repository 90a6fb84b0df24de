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
    private struct Step {
        let before: URLRequest?
        let after: URLRequest

        var fieldNames: [String] { after.fieldNames(changedSince: before) }
    }

    /// Apart from the others, because most operations have one authenticator, and an array would be allocated for it.
    private var first: Step?
    private var others: [Step] = []

    /// Notes what an authenticator made of a request; of none if there was an error before.
    mutating func note(_ request: URLRequest, madeFrom earlier: Result<URLRequest, any Error>) {
        let step = Step(before: try? earlier.get(), after: request)
        if first == nil { first = step } else { others.append(step) }
    }

    /// The names of the header fields that an authenticator added or changed.
    var fieldNames: Set<String> {
        Set(first?.fieldNames ?? []).union(others.flatMap(\.fieldNames))
    }
}
