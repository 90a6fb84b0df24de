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
