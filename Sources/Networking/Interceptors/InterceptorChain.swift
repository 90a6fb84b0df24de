import Foundation
import FoundationNetworking

/// The interceptors of an operation, in order, and what each attempt has to know of them.
struct InterceptorChain: Sendable {
    /// An object: going through a list copies what is in it, and a reference is copied sooner than an interceptor.
    final class Link: Sendable {
        let interceptor: any RequestInterceptor
        // Looked up once: asking takes longer than calling an interceptor that does nothing.
        let isAuthenticator: Bool
        let needsMetrics: Bool

        init(_ interceptor: any RequestInterceptor) {
            self.interceptor = interceptor
            isAuthenticator = interceptor is any URLRequestAuthenticator
            needsMetrics = interceptor.needsMetrics
        }
    }

    /// All of them: each is asked about a failure.
    let links: [Link]
    /// Those with a part in every attempt; a retry policy has something to say of failures only.
    let participants: [Link]
    /// Whether one of them wants the exchanges measured.
    let needsMetrics: Bool

    init(_ interceptors: [any RequestInterceptor] = []) {
        self.init(links: interceptors.map(Link.init))
    }

    private init(links: [Link]) {
        let participants = links.filter { !($0.interceptor is Retry.Policy) }
        self.init(links: links, participants: participants, needsMetrics: participants.contains { $0.needsMetrics })
    }

    private init(links: [Link], participants: [Link], needsMetrics: Bool) {
        self.links = links
        self.participants = participants
        self.needsMetrics = needsMetrics
    }

    /// The same chain without those that put credentials on requests.
    var withoutAuthenticators: Self { Self(links: links.filter { !$0.isAuthenticator }) }

    static func + (left: Self, right: Self) -> Self {
        Self(
            links: left.links + right.links,
            participants: left.participants + right.participants,
            needsMetrics: left.needsMetrics || right.needsMetrics
        )
    }
}

// Those who only look on. A span lends what is in an array, where a loop counts references to it and each of its elements.
extension InterceptorChain {
    func scheduled(_ request: URLRequest, context: InterceptorContext) {
        let span = participants.span
        for index in span.indices { span[index].interceptor.requestScheduled(request, context: context) }
    }

    func succeeded(_ request: URLRequest, response: HTTPResponse, context: InterceptorContext) {
        let span = participants.span
        for index in span.indices {
            span[index].interceptor.requestSucceeded(request, response: response, context: context)
        }
    }

    func ended(_ attempt: RequestAttempt) {
        let span = participants.span
        for index in span.indices { span[index].interceptor.attemptEnded(attempt) }
    }
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
