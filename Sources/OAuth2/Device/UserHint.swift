/// The user whom an OpenID provider asks on another device ([OpenID Connect CIBA Core 1.0
/// §7.1](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html#auth_request)).
public struct UserHint: Sendable, Hashable {
    let name: String
    let value: Secret

    /// A name that the provider knows, such as an email address or a telephone number.
    ///
    /// - Parameter hint: The name.
    /// - Returns: The hint.
    public static func loginHint(_ hint: String) -> Self { Self(name: "login_hint", value: Secret(hint)) }

    /// A token that names the user, in a format that the provider defines.
    ///
    /// - Parameter token: The token.
    /// - Returns: The hint.
    public static func loginHintToken(_ token: Secret) -> Self { Self(name: "login_hint_token", value: token) }

    /// An ID token that the provider has issued for the user.
    ///
    /// - Parameter token: The ID token.
    /// - Returns: The hint.
    public static func idToken(_ token: Secret) -> Self { Self(name: "id_token_hint", value: token) }
}
