public import Foundation
import HTTPTypes
public import Hummingbird
import NIOCore
public import Networking
public import WebSignIn

extension RouterMethods where Context: SignedInRequestContext {
    /// Passes requests of the application's own scripts on to an API, with the user's access token,
    /// which scripts never see.
    ///
    /// ```swift
    /// // GET /api/orders/7 becomes GET https://api.example/v1/orders/7.
    /// router.requiringSignIn(by: signIn).forward("api", to: api, by: signIn)
    /// ```
    ///
    /// Call it on a group of `requiringSignIn(by:acr:maximumAge:)`.
    /// `SignIn.forward(_:under:to:body:as:methods:passing:)` has the rules for the origin, the path
    /// and the header fields. The bodies of the request and the response are streamed. A request
    /// body over 64 KiB, or of unknown size, is sent once: if the API rejects its token, the script
    /// gets the 401.
    ///
    /// - Parameters:
    ///   - path: The path that corresponds to the API's URL.
    ///   - api: The API's URL, with the path that all requests are below. It must be one of the
    ///     provider's `apis`.
    ///   - signIn: The sign-in.
    ///   - methods: The methods that are passed on. The default is all that APIs commonly use.
    ///   - fields: The names of further header fields to pass on, in both directions. The default
    ///     is empty.
    /// - Returns: The same routes.
    @discardableResult
    public func forward(
        _ path: RouterPath,
        to api: URL,
        by signIn: SignIn,
        methods: Set<HTTPMethod> = [.get, .head, .post, .put, .patch, .delete],
        passing fields: [String] = []
    ) -> Self {
        for method in methods {
            guard let name = HTTPTypes.HTTPRequest.Method(method.rawValue) else { continue }
            for path in [path, path.appendingPath("**")] {
                on(path, method: name) { request, context in
                    let depth = (context.endpointPath ?? "").split(separator: "/").count { $0 != "**" }
                    let answer = try await signIn.forward(
                        SignInRequest(request),
                        under: request.beginning(segments: depth),
                        to: api,
                        body: try await request.forwardedBody(),
                        as: context.signedIn,
                        methods: methods,
                        passing: fields
                    )
                    return Response(answer, isHead: name == .head)
                }
            }
        }
        return self
    }
}

extension Request {
    /// The part of the path that a route's constant path matched, as received.
    fileprivate func beginning(segments count: Int) -> String {
        let target = head.path ?? "/"
        var rest = target[...]
        for _ in 0..<count { rest = rest.drop { $0 == "/" }.drop { $0 != "/" && $0 != "?" } }
        return String(target[..<rest.startIndex])
    }

    fileprivate func forwardedBody() async throws -> HTTPBody {
        let length = headers[.contentLength].flatMap { Int($0) }
        // Browsers give the length of each body but a stream's.
        if length == nil, method == .delete { return .none }
        guard let length, length <= 65_536 else {
            return .once(body.map { Data($0.readableBytesView) }, length: length)
        }
        // A body in memory can be sent again with a new token.
        var request = self
        return .data(Data(try await request.collectBody(upTo: 65_536).readableBytesView))
    }
}

extension Response {
    /// Creates a response with the streamed body of an API's.
    fileprivate init(_ answer: Networking.HTTPResponse, isHead: Bool) {
        var fields = HTTPFields()
        for field in answer.headers {
            guard let name = HTTPField.Name(field.name) else { continue }
            fields.append(HTTPField(name: name, value: field.value))
        }
        let stream = answer.stream
        let isEmpty = isHead || answer.status == 204 || answer.status == 304
        self.init(
            status: .init(code: answer.status),
            headers: fields,
            body: isEmpty
                ? ResponseBody()
                : ResponseBody { writer in
                    for try await part in stream { try await writer.write(ByteBuffer(bytes: part)) }
                    try await writer.finish(nil)
                }
        )
    }
}
