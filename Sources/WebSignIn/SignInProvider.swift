import Foundation
public import Networking
public import OAuth2
import OpenSSLCrypto
public import TokenGeneration

/// An OpenID provider at which the users of a web application sign in.
///
/// ```swift
/// let provider = SignInProvider(
///     "staff",
///     issuer: "https://id.example",
///     clientAuthentication: .clientSecretBasic(
///         clientID: "shop",
///         secret: Secret(secret)
///     ),
///     scope: "openid offline_access orders.read",
///     apis: [orders]
/// )
/// ```
///
/// At the provider, register these URLs of ``SignIn``, here for the name `staff` and the public URL
/// `https://shop.example`:
///
/// | metadata | URL |
/// |---|---|
/// | `redirect_uris` | `https://shop.example/auth/staff/callback` |
/// | `post_logout_redirect_uris` | `https://shop.example/auth/staff/signed-out` |
/// | `backchannel_logout_uri` | `https://shop.example/auth/staff/back-channel-logout` |
///
/// Nothing is fetched before the first sign-in, so a server starts while its provider is down.
public struct SignInProvider: Sendable {
    /// The name in the paths of the provider's routes: 1 to 32 lowercase letters, digits and
    /// hyphens.
    public let name: String
    /// The title that users see if there are several providers.
    ///
    /// The default is the name.
    public var title: String
    /// The requested scope.
    ///
    /// It contains `openid`.
    public var scope: String
    /// The identifiers of the services that the token is for ([RFC
    /// 8707](https://www.rfc-editor.org/rfc/rfc8707)).
    ///
    /// The default is empty.
    public var resources: [String] = []
    /// The origins whose requests get the user's access token.
    ///
    /// The default, `nil`, is none.
    public var apis: ResourceRule?
    /// Additional parameters of each authorization request, such as `prompt` or `ui_locales`.
    ///
    /// `acr_values` and `max_age` come from the requirements of routes.
    public var additionalParameters: [String: String] = [:]
    /// A Boolean value that indicates whether a sign-out sends the ID token to the provider, in the
    /// URL.
    ///
    /// The default is `true`. With `false`, the provider gets the client and a hint instead: the
    /// `sid` or the `sub` of the session. Most then ask the user.
    public var sendsIDTokenHint = true
    /// A Boolean value that indicates whether authorization requests are pushed ([RFC
    /// 9126](https://www.rfc-editor.org/rfc/rfc9126)).
    ///
    /// The default is `false`; a provider that requires it always gets them pushed.
    public var pushesRequests = false
    /// The verifier of signed authorization responses ([JARM][JARM]), which are then required.
    ///
    /// The default is `nil`, for responses in the query.
    ///
    /// [JARM]: https://openid.net/specs/oauth-v2-jarm-final.html
    public var responseVerifier: SignedResponseVerifier?
    /// A Boolean value that indicates whether the provider's page posts the response as a form
    /// ([OAuth 2.0 Form Post Response
    /// Mode](https://openid.net/specs/oauth-v2-form-post-response-mode-1_0.html)).
    ///
    /// The default is `false`. Apple requires it for the scope `name` or `email`. The cookie of the
    /// sign-in in progress is then sent with requests of other sites (`SameSite=None`), which needs
    /// `https`. That of the session isn't.
    public var usesFormPost = false
    /// The verifier of the provider's ID tokens.
    public var idTokens: IDTokenVerifier
    /// The client of the provider.
    public let client: OAuth2Client
    let keys: IssuerKeys
    let network: NetworkClient

    var clientID: String { client.clientAuthentication.clientID }
    var issuer: String { idTokens.issuer }
    /// Each tenant is another issuer, such as those of Microsoft Entra.
    var hasTenants: Bool { issuer.contains("{tenantid}") }

    /// Creates a provider whose metadata and keys are discovered when they are needed first.
    ///
    /// - Parameters:
    ///   - name: The name in the paths of the provider's routes.
    ///   - issuer: The provider's issuer identifier, exactly as the provider writes it.
    ///   - clientAuthentication: The client's authentication.
    ///   - scope: The requested scope. The default is `openid`, which is added if it's missing.
    ///   - idTokenAlgorithms: The accepted signature algorithms of ID tokens and logout tokens: the
    ///     client's `id_token_signed_response_alg`. The default is RS256 alone.
    ///   - apis: The origins whose requests get the user's access token. The default, `nil`, is
    ///     none.
    ///   - network: The network client for requests to the provider and to the APIs.
    public init(
        _ name: String,
        issuer: String,
        clientAuthentication: any ClientAuthentication,
        scope: String = "openid",
        idTokenAlgorithms: Set<JWSAlgorithm> = [.rs256],
        apis: ResourceRule? = nil,
        network: NetworkClient = NetworkClient()
    ) {
        let discovery = AuthorizationServerDiscovery(issuer: issuer, client: network)
        let client = OAuth2Client(
            discovery: discovery,
            clientAuthentication: clientAuthentication,
            client: network
        )
        self.init(
            name,
            client: client,
            idTokens: IDTokenVerifier(
                issuer: issuer,
                clientID: clientAuthentication.clientID,
                keys: .discovered(by: discovery, client: network),
                algorithms: idTokenAlgorithms
            ),
            keys: .discovered(by: discovery, client: network),
            scope: scope,
            apis: apis,
            network: network
        )
    }

    /// Creates a provider from a client, such as one with a DPoP key or with a server that isn't
    /// discovered.
    ///
    /// - Parameters:
    ///   - name: The name in the paths of the provider's routes.
    ///   - client: The client.
    ///   - idTokens: The verifier of ID tokens. Its issuer and client are those of `client`.
    ///   - keys: The keys of logout tokens, which are those of ID tokens.
    ///   - scope: The requested scope. The default is `openid`, which is added if it's missing.
    ///   - apis: The origins whose requests get the user's access token. The default, `nil`, is
    ///     none.
    ///   - network: The network client for requests to the APIs.
    public init(
        _ name: String,
        client: OAuth2Client,
        idTokens: IDTokenVerifier,
        keys: IssuerKeys,
        scope: String = "openid",
        apis: ResourceRule? = nil,
        network: NetworkClient = NetworkClient()
    ) {
        self.name = name
        title = name
        self.client = client
        self.idTokens = idTokens
        self.keys = keys
        self.scope = scope.split(separator: " ").contains("openid") ? scope : "openid \(scope)"
        self.apis = apis
        self.network = network
    }

    var responseMode: ResponseMode? {
        switch (usesFormPost, responseVerifier != nil) {
        case (false, false): nil
        case (false, true): .jwt
        case (true, false): ResponseMode("form_post")
        case (true, true): ResponseMode("form_post.jwt")
        }
    }

    var isNameValid: Bool {
        (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    }

}

/// A verifier of logout tokens ([OpenID Connect Back-Channel Logout 1.0
/// §2.6](https://openid.net/specs/openid-connect-backchannel-1_0.html#Validation)).
struct LogoutTokenVerifier: Sendable {
    private let verifier: RemoteJWTVerifier
    private let idTokens: IDTokenVerifier
    private let policy: ValidationPolicy

    init(_ provider: SignInProvider, currentDate: @escaping @Sendable () -> Date) {
        var policy = ValidationPolicy.logoutToken(issuer: provider.issuer, clientID: provider.clientID)
        policy.algorithms = provider.idTokens.algorithms
        policy.leeway = .seconds(60)
        policy.maximumAge = Duration(clampingSeconds: LogoutMark.tokenAge)
        policy.currentDate = currentDate
        verifier = RemoteJWTVerifier(keys: provider.keys.of(issuer: provider.issuer))
        idTokens = provider.idTokens
        self.policy = policy
    }

    /// Requires an encrypted token if ID tokens are.
    func verify(_ text: String) async throws -> VerifiedToken {
        try await verifier.verify(
            text,
            "the logout token",
            decrypter: idTokens.decrypter,
            algorithms: idTokens.algorithms,
            against: policy
        )
    }
}
