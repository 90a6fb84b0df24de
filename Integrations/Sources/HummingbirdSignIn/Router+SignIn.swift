import Foundation
import HTTPTypes
public import Hummingbird
public import Logging
public import NIOCore
public import WebSignIn

extension RouterMethods where Context: SignedInRequestContext {
    /// Adds the routes of a sign-in.
    ///
    /// Call it on the router itself, because the paths of the routes are absolute.
    ///
    /// - Parameter signIn: The sign-in.
    /// - Returns: The same routes.
    @discardableResult
    public func add(_ signIn: SignIn) -> Self {
        for route in signIn.routes {
            on(RouterPath(route.path), method: route.method == "POST" ? .post : .get) {
                request,
                context in
                var request = request
                let body =
                    route.method == "POST" ? try await request.collectBody(upTo: 65_536) : ByteBuffer()
                let message = SignInRequest(request, body: body)
                guard let response = await signIn.response(to: message) else { throw HTTPError(.notFound) }
                return Response(response, context.logger)
            }
        }
        return self
    }

    /// Returns a group of routes for everybody, which know who has signed in.
    ///
    /// Requests that can change something must come from a page of the application.
    ///
    /// - Parameter signIn: The sign-in.
    /// - Returns: The group.
    public func signedIn(by signIn: SignIn) -> RouterGroup<Context> {
        group().add(middleware: SignInMiddleware(signIn: signIn, requirement: nil))
    }

    /// Returns a group of routes for users who have signed in.
    ///
    /// ```swift
    /// let members = router.requiringSignIn(by: signIn)
    /// members.get("orders") { _, context in "Orders of \(try context.signedIn.name)" }
    /// ```
    ///
    /// A page that a person opens is redirected to the sign-in, and other requests get 401.
    /// Requests that can change something must come from a page of the application. Responses have
    /// `Cache-Control: no-store`, unless the route sets that field.
    ///
    /// - Parameters:
    ///   - signIn: The sign-in.
    ///   - acr: The acceptable authentication context classes, best first. The default, an empty
    ///     list, accepts any.
    ///   - maximumAge: The maximum time since the user authenticated. The default is `nil`, for
    ///     any.
    /// - Returns: The group.
    public func requiringSignIn(
        by signIn: SignIn,
        acr: [String] = [],
        maximumAge: Duration? = nil
    ) -> RouterGroup<Context> {
        let requirement = SignInRequirement(acr: acr, maximumAge: maximumAge)
        return group().add(middleware: SignInMiddleware(signIn: signIn, requirement: requirement))
    }
}

/// Adds the user to the context, and refuses requests that need one.
struct SignInMiddleware<Context: SignedInRequestContext>: RouterMiddleware {
    let signIn: SignIn
    /// `nil` for routes that also serve users without a session.
    let requirement: SignInRequirement?

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let message = SignInRequest(request)
        var context = context
        if let requirement {
            switch await signIn.access(to: message, requiring: requirement) {
            case .granted(let session): context.user = session
            case .refused(let response): return Response(response, context.logger)
            }
        } else {
            do {
                try signIn.checkOrigin(of: message)
                context.user = try await signIn.session(for: message)
            } catch {
                guard let refusal = signIn.response(to: error, for: message) else { throw error }
                return Response(refusal, context.logger)
            }
        }
        var response: Response
        do { response = try await next(request, context) } catch {
            // The user's tokens have ended: the user must sign in again.
            guard context.user != nil, let refusal = signIn.response(to: error, for: message) else {
                throw error
            }
            return Response(refusal, context.logger)
        }
        if context.user != nil, response.headers[.cacheControl] == nil {
            response.headers[.cacheControl] = "no-store"
        }
        return response
    }
}

extension SignInRequest {
    /// Creates a request from Hummingbird's.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The collected body. The default is empty.
    public init(_ request: Request, body: ByteBuffer = ByteBuffer()) {
        self.init(
            method: request.method.rawValue,
            target: request.head.path ?? "/",
            headers: request.headers.map { (name: $0.name.rawName, value: $0.value) },
            body: Data(body.readableBytesView)
        )
    }
}

extension Response {
    /// Creates Hummingbird's response, and logs the reason of a refusal, which contains no secret.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - logger: The logger.
    public init(_ response: SignInResponse, _ logger: Logger) {
        if let error = response.error {
            var metadata: Logger.Metadata = [
                "error.type": "\(error.code)", "error.message": "\(error.message)",
            ]
            metadata["error.cause"] = error.cause.map { "\($0)" }
            logger.log(
                level: response.status >= 500 ? .error : .notice,
                "request refused",
                metadata: metadata
            )
        }
        var fields = HTTPFields()
        for (name, value) in response.headers {
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        self.init(
            status: .init(code: response.status),
            headers: fields,
            body: ResponseBody(byteBuffer: ByteBuffer(string: response.body))
        )
    }
}
