import Foundation

/// The rules for the request after a redirect.
struct RedirectRules {
    private let request: HTTPRequest
    private let status: Int

    /// Creates the rules for a response; `nil` if its status doesn't redirect this request.
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

    /// Returns the request for the target.
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

    /// The fields that describe the original request.
    private static let resourceFields = ["Host", "Content-Length"]
    private static let credentialFields = ["Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "DPoP"]

    /// Returns whether a field describes the body
    /// ([RFC 9110 §15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4), step 5).
    private static func isContentField(_ name: String) -> Bool {
        name.prefix(8).equalsIgnoringASCIICase("Content-")
            || ["Digest", "Repr-Digest", "Last-Modified", "Expect", "Trailer"].contains {
                $0.equalsIgnoringASCIICase(name)
            }
    }
}
