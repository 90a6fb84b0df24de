import Foundation
public import FoundationNetworking
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
/// Put it after all interceptors that change requests. Each attempt and each redirect gets a new
/// signature, with a new time and a new nonce, over the request as it's sent:
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
public struct RequestSigner: URLRequestAuthenticator {
    private let signer: MessageSigner
    /// The fields of signatures, which the client doesn't send to another origin.
    public let credentialFields: Set = ["Signature", "Signature-Input", "Signature-Agent"]
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

    /// Does nothing; requests are signed when they are complete.
    public func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async -> URLRequest {
        request
    }

    /// Signs a request on the wire, unless it goes to another origin.
    ///
    /// - Throws: ``HTTPSignatureError`` as ``MessageSigner/sign(_:body:answering:)`` does, and with
    ///   the code `invalidProfile` if the origins are misconfigured.
    public func completeRequest(
        _ request: HTTPTransportRequest,
        after redirects: [RedirectHop],
        context: InterceptorContext
    ) async throws -> HTTPTransportRequest {
        guard try isSigned(request.url, after: redirects) else { return request }
        let demand = context.retryState.latestError.flatMap(Self.demand) ?? [:]
        var request = request
        for field in try await signer.sign(HTTPMessage(request), body: request.body, answering: demand) {
            request.headers[field.name] = field.value
        }
        return request
    }

    /// Asks for another attempt after a 401 with an acceptable `Accept-Signature`, once.
    public func evaluateFailedRequest(
        _ request: URLRequest,
        response: HTTPResponse?,
        error: any Error,
        context: InterceptorContext
    ) -> Retry.Action {
        guard let demand = Self.demand(error), let url = request.url,
            (try? isSigned(url, after: [])) ?? false,
            !context.retryState.authenticationErrors.contains(where: { Self.demand($0) != nil }),
            let message = HTTPMessage(request)
        else { return .none }
        let length = request.httpBody?.count ?? context.body.map { $0.contentLength ?? 1 } ?? 0
        let demands = SignatureDemand.acceptable(in: demand, for: signer, message, hasContent: length > 0)
        return demands.isEmpty ? .none : .retry
    }

    /// Returns the header fields of a 401 that asks for a signature.
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
    /// Returns whether an interceptor applies to an origin.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `invalidProfile` if the origins are
    ///   misconfigured.
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
