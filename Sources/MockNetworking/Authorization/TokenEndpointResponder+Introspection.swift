import Foundation
import Networking
import TokenGeneration

extension TokenEndpointResponder {
    /// Responds with a token's claims
    /// ([RFC 7662 §2.2](https://www.rfc-editor.org/rfc/rfc7662#section-2.2)), or with a JWT if the
    /// client accepts only that
    /// ([RFC 9701 §4](https://www.rfc-editor.org/rfc/rfc9701#section-4)).
    ///
    /// Every registered client may introspect every token.
    func introspectionResponse(to request: LoopbackRequest) -> LoopbackResponse {
        answer {
            let form = try Form(request)
            let client = try clients.authenticate(request, form)
            let claims = tokens.introspection(of: try form.required("token")) ?? ["active": false]
            let type = "application/token-introspection+jwt"
            if request.headers["Accept"] == type {
                guard !client.isPublic else {
                    throw TokenEndpointError(code: "invalid_request", description: "the client must authenticate")
                }
                let headers: HTTPHeaders = ["Content-Type": type, "Cache-Control": "no-store"]
                return .text(try tokens.introspectionResponse(with: claims, for: client.id), headers: headers)
            }
            return .json(claims.serialized(), headers: ["Cache-Control": "no-store"])
        }
    }
}
