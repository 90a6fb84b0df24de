import Foundation
import MockNetworking
import OAuth2
import SharedStores
import TestSupport
import Testing
import TokenGeneration
import WebSignIn

@Suite("Providers and configurations", .limitedConcurrency)
struct ProviderTests {
    @Test("Pushes requests and reads signed responses", .shows("WF9"))
    func pushedAndSigned() async throws {
        try await Shop({ _, provider in provider.pushesRequests = true }).run { shop in
            let browser = Browser(shop)
            let place = try #require(await browser.send("GET", "/auth/id/start").location)
            #expect(place.contains("request_uri=") && !place.contains("state="))
            #expect(await browser.send("GET", try await browser.callback(from: place)).status == 303)
        }
        for isEncrypted in [false, true] {
            try await Shop({ _, provider in
                var verifier = SignedResponseVerifier(
                    keys: .discovered(by: AuthorizationServerDiscovery(issuer: provider.idTokens.issuer)),
                    algorithms: [.es256]
                )
                if isEncrypted { verifier.decrypter = Shop.decrypter }
                provider.responseVerifier = verifier
            }).run { shop in
                let browser = Browser(shop)
                var callback = try await browser.callback()
                #expect(callback.contains("response=") && !callback.contains("code="))
                if isEncrypted {
                    #expect(await browser.send("GET", callback).error?.code == .attemptMissing)
                    let parameters = URLComponents(string: callback)?.queryItems
                    let response = try #require(parameters?.first { $0.name == "response" }?.value)
                    let encrypted = try Shop.encryption.encryptionKey.encrypt(signedToken: response)
                    callback = callback.replacing(response, with: encrypted)
                }
                #expect(await browser.send("GET", callback).status == 303)
                #expect(await browser.user == "ada")
            }
        }
    }

    @Test("Checks signed responses by the clock of the options")
    func clock() async throws {
        try await Shop({ _, provider in
            provider.responseVerifier = SignedResponseVerifier(
                keys: .discovered(by: AuthorizationServerDiscovery(issuer: provider.idTokens.issuer)),
                algorithms: [.es256]
            )
        }).run { shop in
            shop.time.setDate(Date().addingTimeInterval(-86_400))
            let browser = Browser(shop)
            let callback = try await browser.callback()
            #expect(await browser.send("GET", callback).status == 303)
            #expect(await browser.user == "ada")
        }
    }

    @Test("Verifies logout tokens with the keys that the issuer publishes")
    func publishedKeys() async throws {
        try await Shop({ _, provider in
            provider = SignInProvider(
                "id",
                client: provider.client,
                idTokens: provider.idTokens,
                keys: .published,
                scope: provider.scope
            )
        }).run { shop in
            let token = try shop.provider.issueLogoutToken(clientID: "shop-id", subject: "ada")
            let body = "logout_token=\(token)"
            let response = await Browser(shop).send("POST", "/auth/id/back-channel-logout", [], body: body)
            #expect(response.status == 200)
        }
    }

    @Test("A provider that can't be used as it's configured is the server's error")
    func misconfigured() async throws {
        try await Shop({ _, provider in provider.additionalParameters["state"] = "x" }).run { shop in
            let response = await Browser(shop).send("GET", "/auth/id/start")
            #expect(response.status == 500 && response.error?.code == .malformedConfiguration)
        }
        try await Shop().run { shop in
            let browser = Browser(shop)
            let callback = try await browser.callback()
            shop.provider.misbehave(.error("invalid_client", status: 401))
            let response = await browser.send("GET", callback)
            #expect(response.status == 500 && response.error?.code == .malformedConfiguration)
        }
    }

    @Test("Users of a provider with tenants have the issuer of their tenant")
    func tenants() async throws {
        try await Shop(
            { _, provider in
                provider.idTokens = IDTokenVerifier(
                    .entraSkippingTenantCheck(),
                    clientID: "shop-id",
                    keys: .discovered(by: AuthorizationServerDiscovery(issuer: provider.idTokens.issuer))
                )
            },
            algorithm: .rs256
        ).run { shop in
            let browser = Browser(shop)
            let tenants = ["9188040d-6c67-4c5b-b112-36a304b66dad", "00000000-0000-0000-0000-000000000001"]
            for tenant in tenants {
                let issuer = "https://login.microsoftonline.com/\(tenant)/v2.0"
                try await browser.signIn(claims: ["iss": .string(issuer), "tid": .string(tenant)])
                #expect(await browser.session()?.issuer == issuer)
            }
            // The same subject of another tenant is another user.
            let requirement = SignInRequirement(acr: ["phr"])
            for (tenant, code) in [(tenants[0], .stepUpFailed), (tenants[1], nil)] as [(String, SignInError.Code?)] {
                let place = try #require(await browser.open("/transfer", requiring: requirement).refusal?.location)
                let callback = try await browser.callback(from: place)
                let issuer = JSONValue.string("https://login.microsoftonline.com/\(tenant)/v2.0")
                shop.provider.misbehave(.signedToken(.claims(["iss": issuer, "tid": .string(tenant), "acr": "phr"])))
                #expect(await browser.send("GET", callback).error?.code == code)
            }
        }
    }

    @Test("Configurations that can't work are refused")
    func configuration() async throws {
        try await Shop().run { shop in
            func code(_ url: String, names: [String] = ["id"], path: String = "/auth") -> SignInError.Code? {
                var options = SignIn.Options()
                options.path = path
                let providers = names.map { name in
                    SignInProvider(
                        name,
                        issuer: "https://id.example",
                        clientAuthentication: .clientSecretBasic(clientID: "shop", secret: Secret("s"))
                    )
                }
                do throws(SignInError) {
                    _ = try SignIn(
                        publicURL: url,
                        keys: try! RecordKeys(sealing: Shop.key),
                        sessions: shop.store,
                        providers: providers,
                        options: options
                    )
                    return nil
                } catch { return error.code }
            }
            for url in ["https://shop.example", "https://shop.example/", "http://localhost:8080", "http://127.0.0.1:1"]
            {
                #expect(code(url) == nil)
            }
            for url in [
                "http://shop.example", "shop.example", "https://shop.example/app", "https://u@shop.example",
                "https://shop.example?x", "https://Shop.example", "https://shop.example#x", "ftp://shop.example", "",
                "https://shop.example:443", "http://localhost:80", "https://shop.example:", "https://shop.example//",
            ] { #expect(code(url) == .malformedConfiguration, "\(url)") }
            for names in [[], ["id", "id"], ["Id"], ["a/b"], [""]] {
                #expect(code("https://shop.example", names: names) == .malformedConfiguration)
            }
            for path in ["auth", "/auth/", "/a?b", ""] {
                #expect(code("https://shop.example", path: path) == .malformedConfiguration)
            }
        }
    }

    @Test("On a loopback address without TLS, cookies have neither the prefix nor Secure")
    func loopback() async throws {
        try await Shop().run { shop in
            let signIn = try SignIn(
                publicURL: "http://localhost:8080",
                keys: RecordKeys(sealing: Shop.key),
                sessions: shop.store,
                providers: shop.signIn.providers
            )
            let request = Browser(shop).request("GET", "/auth/id/start", Browser.navigation)
            let cookie = try #require(await signIn.response(to: request)?.cookies.first)
            #expect(cookie.hasPrefix("signin-") && !cookie.contains("Secure"))
            #expect(cookie.contains("; Path=/; HttpOnly; SameSite=Lax; Max-Age=600"))
        }
    }
}
