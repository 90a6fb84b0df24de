import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

/// From a platform's file to an access token, at a server that trusts the platform.
@Suite("Federated clients", .limitedConcurrency)
struct FederatedServerTests {
    private static let platform = "https://cluster.example"
    private static let subject = "system:serviceaccount:finance:reports"
    private static let spiffeID = "spiffe://example.org/reports"

    private let folder: TokenFolder
    private let key: SigningKey
    private let server: MockAuthorizationServer

    init() throws {
        folder = try TokenFolder()
        key = try SigningKey.generate(.es256)
        server = try MockAuthorizationServer.start(clients: [
            .init(
                id: "reports",
                authentication: .federatedJWT(issuer: Self.platform, subject: Self.subject, key: key.verificationKey),
                scopes: ["read"]
            ),
            .init(
                id: "mesh",
                authentication: .federatedJWT(issuer: nil, subject: Self.spiffeID, key: key.verificationKey)
            ),
        ])
    }

    private func write(
        issuer: String? = platform,
        subject: String = subject,
        audience: [String]? = nil,
        lifetime: Double = 300,
        key: SigningKey? = nil
    ) throws {
        var claims = RegisteredClaims(issuer: issuer, subject: subject, audience: audience ?? [server.metadata.issuer])
        claims.issuedAt = Date().addingTimeInterval(min(lifetime, 0) - 60)
        claims.expiration = Date().addingTimeInterval(lifetime)
        try folder.write(try (key ?? self.key).sign(claims))
    }

    private var file: FileTokenSource { FileTokenSource(path: folder.path) }

    private func source(_ authentication: any ClientAuthentication, _ grant: any Grant) -> GrantTokenSource {
        GrantTokenSource(
            client: OAuth2Client(
                server: server.metadata,
                clientAuthentication: authentication
            ),
            grant: grant,
            store: InMemoryTokenStore()
        )
    }

    private func assertion(
        _ clientID: String,
        type: StandardClientAuthentication.AssertionType = .jwtBearer,
        sendsClientID: Bool = true
    ) -> any ClientAuthentication {
        StandardClientAuthentication.signedAssertion(
            clientID: clientID,
            assertion: file,
            type: type,
            sendsClientID: sendsClientID
        )
    }

    private static let anonymous = StandardClientAuthentication.none(clientID: "job", sendsClientID: false)

    @Test("A token in a file authenticates the client, repeatedly", .shows("O45"))
    func fileAssertion() async throws {
        try write()
        for sendsClientID in [true, false] {
            let source = source(
                assertion("reports", sendsClientID: sendsClientID),
                ClientCredentialsGrant(scope: "read")
            )
            let token = try await source.token()
            #expect(server.isActive(text(token)))
            #expect(try UnverifiedToken(text(token)).unverifiedClaims["client_id"] == "reports")
        }
        await server.stop()
    }

    @Test("A SPIFFE document authenticates the client, with its ID, the SPIFFE ID or none")
    func spiffe() async throws {
        try write(issuer: nil, subject: Self.spiffeID)
        for (id, sendsClientID) in [("mesh", true), (Self.spiffeID, true), ("mesh", false)] {
            let source = source(assertion(id, type: .jwtSPIFFE, sendsClientID: sendsClientID), ClientCredentialsGrant())
            #expect(server.isActive(text(try await source.token())))
        }
        try write()
        let error = await #expect(throws: OAuth2Error.self) {
            try await source(assertion("reports", type: .jwtSPIFFE), ClientCredentialsGrant()).token()
        }
        #expect(error?.code == .invalidClient)
        await server.stop()
    }

    @Test("A token in a file is a JWT bearer grant and the subject of an exchange, without a client_id")
    func grants() async throws {
        try write(audience: [server.metadata.tokenEndpoint.absoluteString])
        let grants: [any Grant] = [
            JWTBearerGrant(assertion: file, identifier: "job", scope: "read"),
            TokenExchangeGrant(subject: file, subjectTokenType: .jwt, identifier: "job", scope: "read"),
            TokenExchangeGrant(subject: file, subjectTokenType: .idToken, identifier: "job"),
        ]
        for grant in grants {
            let token = try await source(Self.anonymous, grant).token()
            #expect(server.isActive(text(token)))
            #expect(try UnverifiedToken(text(token)).unverifiedClaims["client_id"] == "reports")
        }
        await server.stop()
    }

    /// A platform's token that the server must reject.
    enum BadToken: CaseIterable {
        case otherIssuer, otherSubject, otherAudience, severalAudiences, expired, otherKey
    }

    @Test(
        "Rejects the token of another workload, for another server, expired or forged",
        .shows("O45"),
        arguments: BadToken.allCases
    )
    func rejected(_ bad: BadToken) async throws {
        switch bad {
        case .otherIssuer: try write(issuer: "https://other.example")
        case .otherSubject: try write(subject: "system:serviceaccount:finance:other")
        case .otherAudience: try write(audience: ["https://other.example"])
        case .severalAudiences: try write(audience: [server.metadata.issuer, "https://other.example"])
        case .expired: try write(lifetime: -30)
        case .otherKey: try write(key: SigningKey.generate(.es256))
        }
        let environment = WorkloadEnvironment(timeSource: ManualTime(advancesWhenSleeping: true).timeSource)
        let unchecked = FileTokenSource(path: folder.path, environment: environment)
        let clients: [(any ClientAuthentication, any Grant, OAuth2Error.Code, String)] = [
            (
                StandardClientAuthentication.signedAssertion(clientID: "reports", assertion: unchecked),
                ClientCredentialsGrant(),
                .invalidClient, "invalid_client"
            ),
            (
                Self.anonymous, JWTBearerGrant(assertion: unchecked, identifier: "job"),
                .requestRejected, "invalid_grant"
            ),
            (
                Self.anonymous,
                TokenExchangeGrant(subject: unchecked, subjectTokenType: .jwt, identifier: "job"),
                .requestRejected, "invalid_request"
            ),
        ]
        for (authentication, grant, code, serverCode) in clients {
            // A grant may be for several servers, a client assertion for one only.
            if bad == .severalAudiences, code != .invalidClient { continue }
            let error = await #expect(throws: OAuth2Error.self) { try await source(authentication, grant).token() }
            let isUnknown = [.otherIssuer, .otherSubject].contains(bad) && serverCode == "invalid_grant"
            #expect(error?.serverCode == (isUnknown ? "invalid_client" : serverCode), "\(bad)")
            #expect(error?.code == (isUnknown ? .invalidClient : code), "\(bad)")
        }
        await server.stop()
    }
}
