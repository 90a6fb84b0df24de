import Foundation

/// What a redirected request looks like, and whether it may be sent; decides only.
struct RedirectRules {
    private let request: HTTPTransportRequest
    private let status: Int

    /// The rules for one response; `nil` if its status does not redirect this request.
    init?(request: HTTPTransportRequest, status: Int) {
        switch status {
        case 301, 302, 303, 307, 308: break
        // The server's preferred choice; whether a request with effects is meant for it, nobody says (RFC 9110 §15.4.1).
        case 300 where request.method == .get || request.method == .head: break
        default: return nil
        }
        self.request = request
        self.status = status
    }

    /// The request to send to the target.
    func proposal(for target: URL, sensitiveHeaders: Set<String>) -> HTTPTransportRequest {
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

    /// Refuses what must not be sent after this request, whoever proposed it.
    ///
    /// - Throws: ``NetworkError`` with the code `redirectRefused`.
    func check(_ next: HTTPTransportRequest) throws(NetworkError) {
        guard let from = HTTPOrigin(request.url), let to = HTTPOrigin(next.url) else {
            throw .refusedRedirect(request.url, "it does not lead to an http or https URL")
        }
        guard from.scheme != "https" || to.scheme == "https" else {
            throw .refusedRedirect(request.url, "it leads from https to http")
        }
        guard next.body.isReplayable else {
            throw .refusedRedirect(request.url, "the body can be sent only once")
        }
        // RFC 9449 §4.3: a proof is good for one method and one URL without its query.
        if let proof = request.headers["DPoP"], proof == next.headers["DPoP"],
            next.method != request.method || Self.proofURL(next.url) != Self.proofURL(request.url)
        {
            throw .refusedRedirect(
                request.url,
                "the request's DPoP proof is not for where it leads; ask there directly"
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

    /// Fields that name the resource that redirects, or the way to it.
    private static let resourceFields = ["Host", "Content-Length"]
    private static let credentialFields = ["Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "DPoP"]

    /// [RFC 9110 §15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4), step 5, and what goes with a body.
    private static func isContentField(_ name: String) -> Bool {
        name.prefix(8).equalsIgnoringASCIICase("Content-")
            || ["Digest", "Repr-Digest", "Last-Modified", "Expect", "Trailer"].contains {
                $0.equalsIgnoringASCIICase(name)
            }
    }
}
