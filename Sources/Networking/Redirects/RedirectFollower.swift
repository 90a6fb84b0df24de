import Foundation
import OpenSSLCrypto

/// A sender that follows redirects on a transport that doesn't.
struct RedirectFollower {
    let operation: ClientOperation
    private let limits: HTTPTransportLimits
    private let metrics: MetricsBox?

    init(_ operation: ClientOperation, _ limits: HTTPTransportLimits, _ metrics: MetricsBox?) {
        self.operation = operation
        self.limits = limits
        self.metrics = metrics
    }

    /// The error of an interceptor that couldn't complete a request, which wasn't sent.
    struct Incomplete: Error {
        let cause: any Error
        let isAfterRedirect: Bool
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var response = try await exchange(request)
        guard (300...399).contains(response.status) else { return HTTPResponse(response, from: request.url) }
        let (policy, credentialFields) = (operation.loop.redirects, operation.loop.chain.credentialFields)
        var steps = Chain(policy: policy, credentialFields: credentialFields, request: request)
        while try await steps.follow(response) {
            await response.discard()
            try Task.checkCancellation()
            do {
                response = try await exchange(steps.request, after: steps.hops)
            } catch var error as NetworkError {
                // A server has already acted on an earlier request.
                error.isUnprocessed = false
                throw error
            }
        }
        guard !response.isCut else {
            throw NetworkError(
                .bodyTooLarge,
                "a redirect wasn't followed, and its body exceeds \(RedirectBody.maximumSize) bytes, took longer than "
                    + "\(RedirectBody.patience) or can't be decoded; use RedirectPolicy.never to receive it"
            )
        }
        return HTTPResponse(response, from: steps.request.url, redirects: steps.hops)
    }

    /// The redirects keep the request without what the interceptors add, so that the next one
    /// doesn't have it.
    private func exchange(
        _ request: HTTPRequest,
        after redirects: [RedirectHop] = []
    ) async throws -> HTTPTransportResponse {
        guard operation.loop.chain.hasWireInterceptors else { return try await sendOnce(request) }
        let progress = Wire.Progress()
        let wire = Wire(follower: self, index: 0, progress: progress, redirects: redirects)
        do {
            return try await wire(request)
        } catch  where wire.sent == nil {
            throw Incomplete(cause: error, isAfterRedirect: !redirects.isEmpty)
        }
    }

    func sendOnce(_ request: HTTPRequest) async throws -> HTTPTransportResponse {
        let transport = operation.loop.transport
        guard metrics != nil || request.hasDigest else { return try await transport.send(request, limits: limits) }
        var request = request
        try await request.enforceDigests()
        metrics?.observe(&request)
        return try await transport.send(request, limits: limits)
    }
}

extension HTTPTransportResponse {
    /// Reads the rest of a body if it's short, so that the connection can be reused.
    fileprivate func discard() async {
        guard let body = stream else { return }
        guard let length = headers["Content-Length"].flatMap({ Int($0) }), length <= RedirectBody.maximumSize else {
            return body.cancel()
        }
        await withTaskGroup { group in
            group.addTask { _ = try? await body.collect(upTo: RedirectBody.maximumSize) }
            group.addTask {
                guard (try? await Task.sleep(for: RedirectBody.patience)) != nil else { return }
                body.cancel()
            }
            await group.next()
            group.cancelAll()
        }
    }
}

/// The requests of one operation, each of which is a redirect of the previous one.
private struct Chain {
    /// Header fields are included, because a request that lost its credentials differs.
    struct Step: Hashable {
        let method: HTTPMethod
        let url: String
        let headers: HTTPHeaders

        init(_ request: HTTPRequest) {
            method = request.method
            var reference = URIReference(request.url.absoluteString)
            reference.fragment = nil
            url = reference.text
            headers = request.headers
        }
    }

    let policy: RedirectPolicy
    let credentialFields: Set<String>
    /// The next request, or the last one sent.
    private(set) var request: HTTPRequest
    private(set) var hops: [RedirectHop] = []
    /// Empty without redirects, as most operations have none.
    private(set) var steps: Set<Step> = []

    /// Returns `false` if the response is for the caller.
    mutating func follow(_ response: HTTPTransportResponse) async throws -> Bool {
        if policy.isNever { return false }
        guard let rules = RedirectRules(request: request, status: response.status),
            let target = try RedirectTarget.url(in: response.headers, from: request.url)
        else { return false }
        var next = rules.proposal(for: target, sensitiveHeaders: policy.sensitiveHeaders.union(credentialFields))
        switch policy.rule {
        case .all: break
        case .never: return false
        case .sameOrigin: if HTTPOrigin(target) != HTTPOrigin(request.url) { return false }
        case .custom(let decide):
            let redirect = Redirect(
                status: response.status,
                headers: response.headers,
                source: request.url,
                request: next,
                hops: hops
            )
            switch try await decide(redirect) {
            case .deliver: return false
            case .follow(let chosen):
                next = chosen
                try await next.enforceDigests()
            }
        }
        try rules.check(next)
        if hops.isEmpty { steps = [Step(request)] }
        hops.append(RedirectHop(url: request.url, status: response.status))
        guard hops.count <= policy.maximumCount else { throw excess("more than \(policy.maximumCount) redirects") }
        guard steps.insert(Step(next)).inserted else { throw excess("the redirects form a loop") }
        request = next
        return true
    }

    private func excess(_ what: String) -> NetworkError {
        let origins = hops.map(\.description).joined(separator: " → ")
        return NetworkError(.tooManyRedirects, "\(what): \(origins)")
    }
}

/// The rules for the request after a redirect.
struct RedirectRules {
    private let request: HTTPRequest
    private let status: Int

    /// Returns `nil` if the status doesn't redirect this request.
    init?(request: HTTPRequest, status: Int) {
        switch status {
        case 301, 302, 303, 307, 308: break
        // Only a preferred choice, undefined for unsafe methods (RFC 9110 §15.4.1).
        case 300 where request.method == .get || request.method == .head: break
        default: return nil
        }
        self.request = request
        self.status = status
    }

    func proposal(for target: URL, sensitiveHeaders: Set<String>) -> HTTPRequest {
        var next = request
        next.url = target
        if becomesGet {
            next.method = .get
            next.body = .none
        }
        let isForeign = HTTPOrigin(target) != HTTPOrigin(request.url)
        next.headers = HTTPHeaders(
            request.headers.filter { field in
                if Self.resourceFields.contains(where: { $0.equalsIgnoringASCIICase(field.name) }) { return false }
                if becomesGet, Self.isContentField(field.name) { return false }
                guard isForeign else { return true }
                return !Self.credentialFields.contains { $0.equalsIgnoringASCIICase(field.name) }
                    && !sensitiveHeaders.contains { $0.equalsIgnoringASCIICase(field.name) }
            }
        )
        return next
    }

    /// Rejects a request that must not follow this one, even if a policy's closure returned it.
    ///
    /// - Throws: ``NetworkError`` with the code `redirectRefused`.
    func check(_ next: HTTPRequest) throws(NetworkError) {
        guard let from = HTTPOrigin(request.url), let to = HTTPOrigin(next.url) else {
            throw .refusedRedirect(request.url, "its target isn't an http or https URL")
        }
        guard from.scheme != "https" || to.scheme == "https" else {
            throw .refusedRedirect(request.url, "it leads from https to http")
        }
        guard next.body.isReplayable else {
            throw .refusedRedirect(request.url, "the body can be sent only once")
        }
        // RFC 9449 §4.3: a proof is valid for one method and one URL without its query.
        if let proof = request.headers["DPoP"], proof == next.headers["DPoP"],
            next.method != request.method || Self.proofURL(next.url) != Self.proofURL(request.url)
        {
            throw .refusedRedirect(
                request.url,
                "the request's DPoP proof isn't valid for its target; send the request there directly"
            )
        }
    }

    private var becomesGet: Bool {
        switch status {
        case 301, 302: request.method == .post
        case 303: request.method != .head && request.method != .get
        default: false
        }
    }

    private static func proofURL(_ url: URL) -> String {
        var reference = URIReference(url.absoluteString)
        reference.query = nil
        reference.fragment = nil
        return reference.text
    }

    private static let resourceFields = ["Host", "Content-Length"]
    private static let credentialFields = ["Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "DPoP"]

    /// [RFC 9110 §15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4), step 5.
    private static func isContentField(_ name: String) -> Bool {
        name.prefix(8).equalsIgnoringASCIICase("Content-")
            || ["Digest", "Repr-Digest", "Last-Modified", "Expect", "Trailer"].contains {
                $0.equalsIgnoringASCIICase(name)
            }
    }
}

/// The target of a `Location` header field
/// ([RFC 9110 §10.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2)).
enum RedirectTarget {
    /// Returns `nil` without a `Location`; the target inherits the source's fragment.
    ///
    /// - Throws: ``NetworkError`` with the code `redirectRefused` if `Location` isn't an `http` or
    ///   `https` URL, has user information or is ambiguous.
    static func url(in headers: HTTPHeaders, from source: URL) throws(NetworkError) -> URL? {
        let locations = Set(headers.values(for: "Location").map(ByteComparedString.init))
        guard locations.count <= 1 else { throw .refusedRedirect(source, "its Location fields contradict each other") }
        guard let location = locations.first?.text, !location.isEmpty else { return nil }
        var target = try reference(location, source).resolved(against: URIReference(source.absoluteString))
        if target.fragment == nil { target.fragment = URIReference(source.absoluteString).fragment }
        guard let scheme = target.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw .refusedRedirect(source, "its Location isn't an http or https URL")
        }
        // URLSession doesn't recognize an upper-case scheme.
        target.scheme = scheme
        // RFC 3986 §5.2.2: a reference with a scheme takes nothing from the base URL.
        guard let authority = target.authority, !authority.isEmpty else {
            throw .refusedRedirect(source, "its Location has a scheme but no host")
        }
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw .refusedRedirect(source, "its Location has user information")
        }
        guard let url = URL(string: target.text, encodingInvalidCharacters: false), let origin = HTTPOrigin(url),
            (1...65535).contains(origin.port), url.user == nil, url.password == nil
        else { throw .refusedRedirect(source, "its Location isn't a URL") }
        return url
    }

    /// Percent-encodes invalid bytes, because servers often forget to.
    private static func reference(_ location: String, _ source: URL) throws(NetworkError) -> URIReference {
        // Some parsers treat a backslash as a slash and would see another host.
        guard location.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw .refusedRedirect(source, "its Location has a character that isn't valid in a URL")
        }
        var reference = URIReference(location)
        // In a host, percent-encoding would change the name.
        guard reference.authority?.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }) != false
        else {
            throw .refusedRedirect(source, "the host in its Location is not in the IDNA form")
        }
        reference.path = repaired(reference.path)
        reference.query = reference.query.map(repaired)
        reference.fragment = reference.fragment.map(repaired)
        return reference
    }

    private static func repaired(_ text: String) -> String {
        PercentEncoding.repaired(text, allowing: PercentEncoding.isQueryCharacter)
    }
}

extension NetworkError {
    /// The message names the source's origin and nothing of the target.
    static func refusedRedirect(_ source: URL, _ reason: String) -> Self {
        let origin = HTTPOrigin(source).map(\.description) ?? "the server"
        return Self(.redirectRefused, "a redirect from \(origin) wasn't followed: \(reason)")
    }
}

/// The limits on reading the body of a followed redirect, which is irrelevant and may never end.
///
/// A body within the limits is read, so that its connection can be reused. Otherwise the client
/// closes the connection and follows the redirect.
package enum RedirectBody {
    package static let maximumSize = 64 << 10
    /// The maximum time for reading the body, starting at the header.
    package static let patience = Duration.seconds(1)

    /// Returns whether a response with this header is a redirect.
    static func belongs(to status: Int, _ fields: [HTTPHeaders.Field]) -> Bool {
        switch status {
        case 300, 301, 302, 303, 307, 308: fields.contains { $0.name.equalsIgnoringASCIICase("Location") }
        default: false
        }
    }
}
