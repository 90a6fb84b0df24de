import Networking
import TokenGeneration

extension MockAuthorizationServer.Fault {
    /// Something is wrong with the ID token in the answer of the token endpoint; the access token
    /// is good.
    ///
    /// - Parameter fault: What.
    /// - Returns: The fault.
    package static func idToken(_ fault: MockAuthorizationServer.IDTokenFault) -> Self {
        Self(kind: .signed(fault))
    }

    /// Something is wrong with the signed answer of the authorization endpoint, to a request with
    /// `response_mode=jwt` ([JARM](https://openid.net/specs/oauth-v2-jarm-final.html)); the code in
    /// it is good.
    ///
    /// - Parameter fault: What.
    /// - Returns: The fault.
    package static func signedResponse(_ fault: MockAuthorizationServer.IDTokenFault) -> Self {
        Self(kind: .signed(fault))
    }
}

extension LoopbackResponse {
    /// The response with its JWT signed anew: the `id_token` of its body, or the `response` of its
    /// `Location`.
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
