import HTTPTypes
public import Hummingbird
import Logging
import Networking
import OAuth2HTTPTypes
public import ResourceServer

/// A middleware that lets only requests with a valid access token pass.
///
/// `authorized(with:at:requires:)` returns a group of routes with it. The verified token is in the
/// context. Other requests get the response of their `AccessRefusal`, and
/// the request's logger gets its reason, which contains no secret.
public struct AccessTokenMiddleware<Context: AccessTokenRequestContext>: RouterMiddleware {
    private let verifier: AccessTokenVerifier
    private let baseURL: String
    private let requirement: AccessRequirement

    /// Creates a middleware.
    ///
    /// - Parameters:
    ///   - verifier: The verifier.
    ///   - baseURL: The scheme, host and port of the API's public URL, such as
    ///     `https://api.example`. DPoP proofs contain it, also behind a proxy.
    ///   - requirement: The requirements of all requests. The default is a valid token.
    public init(
        _ verifier: AccessTokenVerifier,
        at baseURL: String,
        requires requirement: AccessRequirement = AccessRequirement()
    ) {
        self.verifier = verifier
        self.baseURL = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
        self.requirement = requirement
    }

    /// Verifies the request's token, and passes the request on or returns the refusal.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The context.
    ///   - next: The next middleware or the route.
    /// - Returns: The response.
    /// - Throws: The errors of the route, and of the context's client certificate.
    public func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let method = HTTPMethod(request.method.rawValue) else { throw HTTPError(.badRequest) }
        let head = ProtectedRequest(
            method: method,
            url: baseURL + (request.head.path ?? "/"),
            headers: HTTPHeaders(request.headers),
            clientCertificateDER: try await context.clientCertificateDER(of: request)
        )
        let token: VerifiedAccessToken
        do { token = try await verifier.verify(head, requires: requirement) } catch {
            return error.response(logger: context.logger)
        }
        var context = context
        context.authorization = RequestAuthorization(token: token, verifier: verifier)
        guard !token.responseHeaders.isEmpty else { return try await next(request, context) }
        var response: Response
        do { response = try await next(request, context) } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        }
        response.headers.set(token.responseHeaders)
        return response
    }
}

/// A middleware that checks the requirements of a route whose token is already verified.
struct AccessRequirementMiddleware<Context: AccessTokenRequestContext>: RouterMiddleware {
    let requirement: AccessRequirement

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        // Fails without the middleware that verifies the token.
        let token = try context.accessToken
        do { try context.authorization?.verifier.check(token, requires: requirement) } catch {
            return error.response(logger: context.logger)
        }
        return try await next(request, context)
    }
}

extension AccessRefusal {
    /// Returns the response to the client, and logs the reason, which contains no secret.
    fileprivate func response(logger: Logger) -> Response {
        var metadata: Logger.Metadata = ["error.type": "\(code)", "error.message": "\(message)"]
        metadata["error.cause"] = cause.map { "\($0)" }
        logger.log(level: status >= 500 ? .error : .notice, "request refused", metadata: metadata)
        var fields = HTTPFields()
        fields.set(headers)
        return Response(status: .init(code: status), headers: fields)
    }
}
