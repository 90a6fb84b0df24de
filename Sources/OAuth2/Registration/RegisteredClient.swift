public import Foundation
import Networking
import TokenGeneration

/// A client's registration, with the credentials to manage it
/// ([RFC 7591 §3.2.1](https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1),
/// [RFC 7592 §3](https://www.rfc-editor.org/rfc/rfc7592#section-3)).
public struct RegisteredClient: Sendable, Hashable {
    /// The client's identifier.
    public let clientID: String
    /// The client's secret, if it has one.
    public let clientSecret: Secret?
    /// The time when the secret expires, or `nil` if it never does.
    public let clientSecretExpiry: Date?
    /// The token for reading, updating and deleting the registration, if the server supports it.
    public let registrationAccessToken: Secret?
    /// The URL for reading, updating and deleting the registration, if the server supports it.
    public let registrationURL: URL?
    /// The registered metadata, which may differ from the requested one.
    public let metadata: ClientMetadata

    /// Creates a client from a stored registration.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - clientSecret: The client's secret.
    ///   - clientSecretExpiry: The time when the secret expires.
    ///   - registrationAccessToken: The token that authorizes managing the registration.
    ///   - registrationURL: The URL for managing the registration.
    ///   - metadata: The registered metadata.
    public init(
        clientID: String,
        clientSecret: Secret? = nil,
        clientSecretExpiry: Date? = nil,
        registrationAccessToken: Secret? = nil,
        registrationURL: URL? = nil,
        metadata: ClientMetadata = ClientMetadata()
    ) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.clientSecretExpiry = clientSecretExpiry
        self.registrationAccessToken = registrationAccessToken
        self.registrationURL = registrationURL
        self.metadata = metadata
    }

    /// Reads a server's response, and keeps credentials of the old registration that it omits.
    ///
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` or `insecureTransport`.
    init(_ answer: AnswerMembers, issuer: String, updating old: RegisteredClient? = nil) throws(OAuth2Error) {
        clientID = try answer.required("client_id")
        guard old == nil || clientID.utf8.elementsEqual((old?.clientID ?? "").utf8) else {
            throw answer.wrong("client_id")
        }
        if let secret = try answer.string("client_secret") {
            clientSecret = Secret(secret)
            // Zero means that the secret never expires.
            clientSecretExpiry = try answer.date("client_secret_expires_at")
                .flatMap { $0.timeIntervalSince1970 == 0 ? nil : $0 }
        } else {
            clientSecret = old?.clientSecret
            clientSecretExpiry = old?.clientSecretExpiry
        }
        let token = try answer.string("registration_access_token")
        guard token.map({ HTTPSyntax.isToken68($0[...]) }) ?? true else {
            throw answer.wrong("registration_access_token")
        }
        registrationAccessToken = token.map { Secret($0) } ?? old?.registrationAccessToken
        if let text = try answer.string("registration_client_uri") {
            guard let url = URL(string: text), url.host != nil else { throw answer.wrong("registration_client_uri") }
            try url.checkIsEndpoint(ofIssuer: issuer, "registration_client_uri")
            registrationURL = url
        } else {
            registrationURL = old?.registrationURL
        }
        var members = answer.members
        for name in Self.ownMembers { members[name] = nil }
        metadata = ClientMetadata(members)
    }

    /// The members of a response that aren't metadata, and that an update must not repeat
    /// ([RFC 7592 §2.2](https://www.rfc-editor.org/rfc/rfc7592#section-2.2)).
    static let ownMembers = [
        "client_id", "client_secret", "client_secret_expires_at", "client_id_issued_at", "registration_access_token",
        "registration_client_uri",
    ]
}
