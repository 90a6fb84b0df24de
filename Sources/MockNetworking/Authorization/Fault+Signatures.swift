import Networking
import TokenGeneration

extension MockAuthorizationServer.Fault {
    /// Issues an invalid ID token at the token endpoint, with a valid access token.
    ///
    /// - Parameter fault: The fault of the ID token.
    /// - Returns: The fault.
    package static func idToken(_ fault: MockAuthorizationServer.IDTokenFault) -> Self {
        Self(kind: .signed(fault))
    }

    /// Signs the authorization response to a request with `response_mode=jwt` incorrectly
    /// ([JARM](https://openid.net/specs/oauth-v2-jarm-final.html)).
    ///
    /// Its code is valid.
    ///
    /// - Parameter fault: The fault of the JWT.
    /// - Returns: The fault.
    package static func signedResponse(_ fault: MockAuthorizationServer.IDTokenFault) -> Self {
        Self(kind: .signed(fault))
    }
}

extension LoopbackResponse {
    /// Returns the response with its JWT signed again: the `id_token` in its body, or the
    /// `response` in its `Location`.
    func signed(
        with fault: MockAuthorizationServer.IDTokenFault,
        by service: SigningKey
    ) throws -> Self {
        func renewed(_ token: String) throws -> String {
            try fault.token(of: try UnverifiedToken(token).unverifiedClaims, signedBy: service)
        }
        var response = self
        if case .data(let body) = content, var object = try? JSONObject(parsing: body),
            let token = object["id_token"]?.string
        {
            object["id_token"] = .string(try renewed(token))
            return .json(object.serialized(), status: status, headers: headers)
        }
        guard let location = headers["Location"], let mark = location.firstIndex(of: "?"),
            var pairs = FormURLEncoded.decode(location[location.index(after: mark)...]),
            let index = pairs.firstIndex(where: { $0.name == "response" })
        else { return self }
        pairs[index].value = try renewed(pairs[index].value)
        response.headers["Location"] = "\(location[..<mark])?\(FormURLEncoded.encode(pairs))"
        return response
    }
}
