import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Client authentication in jwt token", .limitedConcurrency, .tokenScene)
struct ClientAuthenticationTests {
    private var scene: TokenScene { .current }

    private typealias Client = MockAuthorizationServer.Client

    private static let secret = "a secret of at least forty-eight octets, and some more of them"

    @Test(
        "Authenticates with a secret and the method in --auth-method",
        arguments: [
            ("client_secret_basic", []), ("client_secret_post", []), ("client_secret_jwt", []),
            ("client_secret_jwt", ["--alg", "HS384"]),
        ]
    )
    func secrets(method: String, options: [String]) async throws {
        let authentication: Client.Authentication =
            switch method {
            case "client_secret_post": .clientSecretPost(Self.secret)
            case "client_secret_jwt":
                try .clientSecretJWT(Self.secret, algorithm: options.isEmpty ? .hs256 : .hs384)
            default: .clientSecretBasic(Self.secret)
            }
        scene.authorization.register(.init(id: "other", authentication: authentication))
        let flags = ["token", "--issuer", scene.issuer, "--client-id", "other", "--client-secret-env", "S"]
        let good = try await scene.jwt(flags + ["--auth-method", method] + options, environment: ["S": Self.secret])
        #expect(good.status == 0 && good.errors == "", "\(good)")
        let other = method == "client_secret_post" ? "client_secret_basic" : "client_secret_post"
        let bad = try await scene.jwt(flags + ["--refresh", "--auth-method", other], environment: ["S": Self.secret])
        #expect(bad.status == 1 && bad.errors.contains("[invalid_client]; "), "\(bad)")
    }

    @Test("--basic-encoding raw is for servers that don't decode credentials, and the error names it")
    func basicEncoding() async throws {
        let authentication = Client.Authentication.clientSecretBasic(Self.secret, isEncoded: false)
        scene.authorization.register(.init(id: "raw", authentication: authentication))
        let flags = ["token", "--issuer", scene.issuer, "--client-id", "raw", "--client-secret-env", "S"]
        let bad = try await scene.jwt(flags, environment: ["S": Self.secret])
        #expect(bad.status == 1 && bad.errors.contains("try --basic-encoding raw [invalid_client]"), "\(bad)")
        let good = try await scene.jwt(flags + ["--basic-encoding", "raw"], environment: ["S": Self.secret])
        #expect(good.status == 0 && good.errors == "", "\(good)")
        let misuse = try await scene.jwt(
            flags + ["--auth-method", "client_secret_post", "--basic-encoding", "raw"],
            environment: ["S": Self.secret]
        )
        #expect(misuse.status == 64 && misuse.errors.contains("--basic-encoding requires client_secret_basic"))
    }

    @Test("Rejects a secret that is too short for an assertion, without showing it")
    func shortSecret() async throws {
        let result = try await scene.jwt(["token", "--auth-method", "client_secret_jwt"] + scene.flags)
        let message = "the secret has 6 bytes, but HS256 needs at least 32 (RFC 7518 §3.2)"
        #expect(result == .failure(2, "jwt token: \(message)\n"))
        #expect(scene.authorization.tokenRequestCount == 0)
    }

    @Test("Names the key's certificate in an assertion, with the type that Entra ID expects")
    func assertionHeader() async throws {
        let issued = try MockCertificateAuthority().issueClientCertificate(name: "reports")
        let key = try SigningKey(pem: issued.privateKeyPEM)
        scene.authorization.register(.init(id: "keyed", key: key.verificationKey))
        let file = try scene.home.write(issued.privateKeyPEM, to: "key.pem")
        let certificate = try scene.home.write(issued.chainPEM, to: "cert.pem")
        let command = ["token", "--issuer", scene.issuer, "--client-id", "keyed", "--key", file]
        let result = try await scene.jwt(command + ["--assertion-cert", certificate])
        #expect(result.status == 0, "\(result)")
        let header = try UnverifiedToken(
            try #require(scene.authorization.server.requests(for: "/token").first?.formValue("client_assertion"))
        ).unverifiedHeader
        #expect(header["typ"] == "JWT")
        #expect(header["x5t#S256"]?.string?.count == 43)
        let other = try scene.home.write(MockCertificateAuthority().certificatePEM, to: "other.pem")
        let bad = try await scene.jwt(command + ["--refresh", "--assertion-cert", other])
        #expect(bad.status == 2 && bad.errors.contains("\(other): "), "\(bad)")
        let unsigned = try await scene.jwt(["token", "--assertion-cert", certificate] + scene.flags)
        #expect(unsigned.errors.contains("--assertion-cert requires --key FILE"), "\(unsigned)")
    }

    @Test("Reads a secret from standard input, and supports public clients")
    func standardInput() async throws {
        let line = "jwt token --issuer \(scene.issuer) --client-id \(TokenScene.clientID) --client-secret-file -"
        let result = try await scene.shell("printf '%s\\n' '\(TokenScene.secret)' | \(line)")
        #expect(result.status == 0 && result.errors == "", "\(result)")
        scene.authorization.register(.init(id: "open", authentication: .none))
        let refresh = scene.authorization.issueRefreshToken(clientID: "open", subject: "ada")
        let open = try await scene.jwt(
            [
                "token", "--issuer", scene.issuer, "--client-id", "open", "--auth-method", "none",
                "--refresh-token-env", "R",
            ],
            environment: ["R": refresh.expose { $0 }]
        )
        #expect(open.status == 0 && open.errors == "", "\(open)")
    }

    @Test("Authenticates with a certificate at the mTLS endpoint and binds tokens to it")
    func certificates() async throws {
        let authority = try MockCertificateAuthority()
        let known = try authority.issueClientCertificate(name: "reports")
        let stranger = try authority.issueClientCertificate(name: "another")
        var tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        tls.clientAuthentication = .requested(issuedBy: authority)
        var configuration = MockAuthorizationServer.Configuration()
        configuration.mutualTLS = tls
        try await TokenScene.play(configuration) { scene in
            let key = try SigningKey.generate(.es256)
            for client in [
                Client(id: "subject", authentication: .tlsClientAuth(subject: known.subject)),
                Client(id: "pinned", authentication: .selfSignedTLSClientAuth(certificateDER: known.certificateDER)),
                Client(id: "keyed", key: key.verificationKey),
                Client(id: "named", secret: TokenScene.secret),
            ] { scene.authorization.register(client) }
            let roots = try scene.home.write(authority.certificatePEM, to: "roots.pem")
            let chain = try scene.home.write(known.chainPEM, to: "chain.pem")
            let chainKey = try scene.home.write(known.privateKeyPEM, to: "chain.key")
            let both = try scene.home.write(known.chainPEM + known.privateKeyPEM, to: "both.pem", mode: 0o644)
            let signer = try scene.home.write(key.pem(), to: "signer.pem")
            let command = ["token", "--issuer", scene.issuer, "--roots", roots]
            let twoFiles = ["--cert", chain, "--cert-key", chainKey]
            var thumbprints: Set<String> = []
            for options in [
                ["--client-id", "subject"] + twoFiles,
                ["--client-id", "pinned", "--auth-method", "self_signed_tls_client_auth", "--cert", both],
                ["--client-id", "keyed", "--key", signer] + twoFiles,
                ["--client-id", "named", "--client-secret-file", scene.home.file("secret")] + twoFiles,
            ] {
                let result = try await scene.jwt(command + options)
                #expect(result.status == 0, "\(result)")
                #expect(
                    result.errors
                        == (options.contains(both)
                            ? """
                            jwt token: warning: \(both): other users can access this private key (mode 644); fix: chmod 600 \
                            \(both)

                            """ : "")
                )
                let claims = try UnverifiedToken(TokenScene.token(result)).unverifiedClaims
                thumbprints.insert(claims["cnf"]?.object?["x5t#S256"]?.string ?? "")
            }
            #expect(thumbprints.map(\.count) == [43])
            // No request reached the port that doesn't request a certificate.
            #expect(scene.authorization.server.requests(for: "/token").isEmpty)
            let strangers = try scene.home.write(stranger.chainPEM + stranger.privateKeyPEM, to: "stranger.pem")
            let refused = try await scene.jwt(command + ["--client-id", "subject", "--refresh", "--cert", strangers])
            #expect(refused.status == 1 && refused.output == "")
            #expect(
                refused.errors == """
                    jwt token: \(scene.issuer): the token endpoint rejects the client's authentication; check the client ID \
                    and certificate [invalid_client]; run the command in a terminal to see the server's text

                    """
            )
            let mixed = try await scene.jwt(
                command + ["--client-id", "subject", "--cert", chain, "--cert-key", strangers]
            )
            let words = "The private key doesn't belong to the first certificate “CN=reports”"
            #expect(mixed == .failure(2, "jwt token: \(chain): \(words)\n"))
            let keyless = try await scene.jwt(command + ["--client-id", "subject", "--cert", chain])
            #expect(
                keyless
                    == .failure(2, "jwt token: \(chain): contains no private key; pass it with --cert-key FILE\n")
            )
        }
    }
}
