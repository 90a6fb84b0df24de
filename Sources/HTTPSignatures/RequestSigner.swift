import Foundation
public import Networking
public import OAuth2

/// An interceptor that signs each request of a client just before it's sent.
///
/// ```swift
/// let client = NetworkClient(interceptors: [
///     authenticator,
///     RequestSigner(try MessageSigner(key: key, profile: .standard)),
/// ])
/// ```
///
/// Put it after the other interceptors that change requests on the wire. Each attempt and each
/// redirect gets a new signature, with a new time and a new nonce, over the request as it's sent:
///
/// - A redirect within the origin is signed for its new target. Another origin gets no signature,
///   unless it's one of the given origins.
/// - `Content-Digest` is computed for data, files and streams that can be read twice. A body that
///   can be read only once needs the field from the caller. The client checks the body while it's
///   sent, and never completes a request whose digest is wrong.
/// - If a server responds with 401 and `Accept-Signature`, the request is sent once more with the
///   signature that the server asks for, within the signer's profile.
///
/// A request outside the given origins is sent without a signature.
public struct RequestSigner: WireInterceptor, RetryVoter {
    private let signer: MessageSigner
    private let origins: ResourceRule?

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - signer: The signer.
    ///   - origins: The origins whose requests are signed, including those of redirects. The
    ///     default is `nil`, for the origin of every request, but not for redirects to another one.
    public init(_ signer: MessageSigner, origins: ResourceRule? = nil) {
        self.signer = signer
        self.origins = origins
    }

    /// Adds the signer, which requests without authentication omit.
    public func add(to chain: inout InterceptorChain) { chain.addAuthenticator(self) }

    /// Signs a request on the wire, unless it goes to another origin.
    ///
    /// - Throws: ``HTTPSignatureError`` as ``MessageSigner/sign(_:body:answering:)`` does, and with
    ///   the code `invalidProfile` if the origins are misconfigured.
    public func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
        guard try isSigned(request.url, after: next.redirects) else { return try await next(request) }
        let demand = next.context.retryState.latestError.flatMap(Self.demand) ?? [:]
        var request = request
        for field in try await signer.sign(HTTPMessage(request), body: request.body, answering: demand) {
            request.headers[field.name] = field.value
        }
        return try await next(request)
    }

    /// Asks for another attempt after a 401 with an acceptable `Accept-Signature`, once.
    ///
    /// The whole attempt is repeated, because a proof of possession is valid for one request.
    public func evaluateFailedRequest(_ failure: FailedRequest) -> Retry.Action {
        let request = failure.request
        guard let demand = Self.demand(failure.error), (try? isSigned(request.url, after: [])) ?? false,
            !failure.context.retryState.authenticationErrors.contains(where: { Self.demand($0) != nil })
        else { return .none }
        let demands = SignatureDemand.acceptable(
            in: demand,
            for: signer,
            HTTPMessage(request),
            hasContent: request.body.contentLength != 0
        )
        return demands.isEmpty ? .none : .retry
    }

    private static func demand(_ error: any Error) -> HTTPHeaders? {
        guard let error = error as? ServerError, error.errorCode == 401,
            error.headers["Accept-Signature"] != nil
        else { return nil }
        return error.headers
    }

    private func isSigned(_ url: URL, after redirects: [RedirectHop]) throws(HTTPSignatureError) -> Bool {
        guard let origin = HTTPOrigin(url) else { return false }
        guard let origins else { return redirects.allSatisfy { HTTPOrigin($0.url) == origin } }
        return try origins.includes(origin, of: "signer")
    }
}

extension ResourceRule {
    func includes(_ origin: HTTPOrigin?, of interceptor: String) throws(HTTPSignatureError) -> Bool {
        do { return try covers(origin) } catch {
            throw HTTPSignatureError(
                .invalidProfile,
                "the origins of the \(interceptor) are empty, or one of them isn't a URL with a host",
                cause: error
            )
        }
    }
}

/// A request for a signature ([RFC 9421 §5](https://www.rfc-editor.org/rfc/rfc9421#section-5)).
struct SignatureDemand: Sendable {
    let label: String
    let parameters: SignatureParameters

    private static let maximumCount = 2

    /// Returns the demands that a signer can and may meet.
    ///
    /// The peer must not choose what the signer signs. It may ask for any selection of the
    /// profile's components that includes the required ones, for a nonce, and for the parameters
    /// that the signer has anyway.
    static func acceptable(
        in headers: HTTPHeaders,
        for signer: MessageSigner,
        _ message: HTTPMessage,
        hasContent: Bool
    ) -> [SignatureDemand] {
        let lines = headers.values(for: "Accept-Signature")
        guard !lines.isEmpty, lines.reduce(0, { $0 + $1.utf8.count }) <= SignatureLimits.fieldSize,
            let field = try? StructuredField.Dictionary(parsingUniqueKeys: lines)
        else { return [] }
        let demands = field.compactMap { member -> SignatureDemand? in
            guard case .innerList(let list) = member.value, let parameters = try? SignatureParameters(list) else {
                return nil
            }
            return SignatureDemand(label: member.key, parameters: parameters)
        }
        return Array(
            demands.filter { $0.isAcceptable(to: signer, message, hasContent: hasContent) }.prefix(maximumCount)
        )
    }

    private func isAcceptable(to signer: MessageSigner, _ message: HTTPMessage, hasContent: Bool) -> Bool {
        let profile = signer.profile
        var allowed = Set(profile.components.flatMap(\.alternatives))
        if let agent = profile.signatureAgent { allowed.insert(agent.component(label: label)) }
        let wanted = parameters.components
        guard wanted.allSatisfy(allowed.contains), Set(wanted).count == wanted.count,
            wanted.allSatisfy({ $0.isAvailable(in: message, hasContent: hasContent) }),
            profile.requirements(for: message, hasContent: hasContent).allSatisfy({
                $0.contains(where: wanted.contains)
            })
        else { return false }
        return parameters.parameters.allSatisfy { parameter in
            switch (parameter.key, parameter.value) {
            case ("created", .boolean(true)), ("expires", .boolean(true)): true
            case ("nonce", .string(let nonce)): (1...SignatureLimits.parameterLength).contains(nonce.utf8.count)
            case ("keyid", .string(let keyID)): signer.keyID.map { $0.utf8.elementsEqual(keyID.utf8) } ?? false
            case ("alg", .string(let name)):
                signer.key.httpSignatureName.map { $0.utf8.elementsEqual(name.utf8) } ?? false
            case ("tag", .string(let tag)): profile.tag.map { $0.utf8.elementsEqual(tag.utf8) } ?? false
            default: false
            }
        }
    }

    func covers(_ name: String) -> Bool {
        parameters.components.contains { $0.name == name && !$0.has("req") && !$0.has("tr") }
    }

    func asks(for key: String) -> Bool { parameters.parameters[key] != nil }
}

extension ComponentIdentifier {
    fileprivate func isAvailable(in message: HTTPMessage, hasContent: Bool) -> Bool {
        guard !coversContent, name != "signature-agent" else { return true }
        if name == "content-length", hasContent { return true }
        return isPresent(in: message)
    }
}
