import Foundation
import Networking
import TokenGeneration

extension TokenEndpointResponder {
    /// Responds with a token's claims
    /// ([RFC 7662 §2.2](https://www.rfc-editor.org/rfc/rfc7662#section-2.2)).
    ///
    /// Every registered client may introspect every token.
    func introspectionResponse(to request: LoopbackRequest) -> LoopbackResponse {
        answer {
            let form = try Form(request)
            _ = try clients.authenticate(request, form)
            let claims = tokens.introspection(of: try form.required("token")) ?? ["active": false]
            return .json(claims.serialized(), headers: ["Cache-Control": "no-store"])
        }
    }
}
