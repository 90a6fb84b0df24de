import Foundation
import FoundationNetworking
import HTTPTypes
import Hummingbird
import HummingbirdSignIn
import HummingbirdTesting
import Logging
import MockNetworking
import NIOCore
import Networking
import OAuth2
import SharedStores
import Synchronization
import TokenGeneration
import WebSignIn

/// A web application as its users write it, with a provider and an API.
struct Shop {
    static let origin = "https://shop.example"

    let provider: MockAuthorizationServer
    let api: LoopbackServer
    let driver = MemoryPersistDriver()

    init() throws {
        var client = MockAuthorizationServer.Client(
            id: "shop",
            authentication: .clientSecretBasic("s3cret"),
            redirectURIs: ["\(Self.origin)/auth/id/callback"]
        )
        client.logoutRedirectURIs = ["\(Self.origin)/auth/id/signed-out"]
        provider = try .start(clients: [client])
        api = try LoopbackServer.start()
        api.on(
            .get,
            "/orders/mine",
            provider.protecting(scope: "orders.read") { _ in .text("two orders") }
        )
        api.onAnyMethod(
            "/v1/*",
            provider.protecting(scope: "orders.read") { request in
                let text = "\(request.method) \(request.target) \(request.body.count)"
                return .text(request.headers["Cookie"] == nil ? text : "a cookie")
            }
        )
    }

    func stop() async {
        await provider.stop()
        await api.stop()
    }

    /// One host of the application.
    func application(logger: Logger? = nil) throws -> some ApplicationProtocol {
        let signIn = try SignIn(
            publicURL: Self.origin,
            keys: RecordKeys(sealing: Secret("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")),
            sessions: PersistedSessions(driver),
            providers: [
                SignInProvider(
                    "id",
                    issuer: provider.metadata.issuer,
                    clientAuthentication: .clientSecretBasic(clientID: "shop", secret: Secret("s3cret")),
                    scope: "openid orders.read",
                    idTokenAlgorithms: [.es256],
                    apis: [api.baseURL]
                )
            ]
        )
        let orders = api.url(for: "/orders/mine")
        let router = Router(context: SignedInContext.self)
        router.add(signIn)
        let site = router.signedIn(by: signIn)
        site.get("/") { _, context in "Hello \(context.user?.name ?? "stranger")" }
        site.post("/contact") { _, _ in "thanks" }
        let members = router.requiringSignIn(by: signIn)
        members.get("/orders") { _, context in
            String(decoding: try await context.client.makeRequest(URLRequest(url: orders)), as: UTF8.self)
        }
        members.post("/orders") { _, context in try context.signedIn.subject }
        members.group("/shop").forward("/api", to: api.url(for: "/v1"), by: signIn)
        members.get("/sessions") { _, context in
            try await signIn.sessions(of: context.signedIn).map(\.id).joined(separator: " ")
        }
        members.post("/sessions/:id/end") { _, context in
            "\(try await signIn.endSession(context.parameters.require("id"), of: context.signedIn))"
        }
        members.post("/everywhere") { _, context in
            try await signIn.endAllSessions(of: context.signedIn)
            return "signed out"
        }
        let transfers = router.requiringSignIn(by: signIn, acr: ["phr"], maximumAge: .seconds(300))
        transfers.get("/transfer") { _, context in try context.signedIn.acr ?? "" }
        transfers.post("/transfer") { _, _ in "done" }
        return Application(router: router, logger: logger ?? Logger(label: "shop"))
    }
}

/// A browser with cookies.
final class Browser: Sendable {
    private let jar = Mutex<[String: String]>([:])
    let shop: Shop

    init(_ shop: Shop) { self.shop = shop }

    var cookies: [String: String] { jar.withLock { $0 } }

    @discardableResult
    func send(
        _ client: some TestClientProtocol,
        _ uri: String,
        method: HTTPRequest.Method = .get,
        site: String = "same-origin",
        mode: String = "navigate",
        body: String? = nil
    ) async throws -> TestResponse {
        var headers: HTTPFields = [.accept: "text/html"]
        for (name, value) in [("Sec-Fetch-Mode", mode), ("Sec-Fetch-Site", site)] {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        let cookie = cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
        if !cookie.isEmpty { headers[.cookie] = cookie }
        let response = try await client.execute(
            uri: uri,
            method: method,
            headers: headers,
            body: body.map { ByteBuffer(string: $0) }
        )
        for cookie in response.headers[values: .setCookie] {
            let parts = cookie.split(separator: ";")[0].split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            jar.withLock { $0[String(parts[0])] = cookie.contains("Max-Age=0") ? nil : String(parts[1]) }
        }
        return response
    }

    /// Opens a page, and follows redirects, also to the provider, which answers at once.
    @discardableResult
    func open(_ client: some TestClientProtocol, _ uri: String) async throws -> TestResponse {
        var response = try await send(client, uri)
        for _ in 0..<8 {
            guard let place = response.headers[.location] else { break }
            if place.hasPrefix("http"), let url = URL(string: place) {
                let back = try await shop.provider.visit(url).absoluteString
                response = try await send(
                    client,
                    String(back.dropFirst(Shop.origin.count)),
                    site: "cross-site"
                )
            } else {
                response = try await send(client, place)
            }
        }
        return response
    }
}

extension TestResponse {
    var text: String { String(buffer: body) }
}
