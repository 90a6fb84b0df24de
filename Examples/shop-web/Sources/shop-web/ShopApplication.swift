import Foundation
import FoundationNetworking
import Hummingbird
import HummingbirdSignIn
import Logging
import Networking
import WebSignIn

/// Makes the application: pages for everybody, pages for users, and one for users who have
/// authenticated within a minute.
func makeApplication(
    _ configuration: Configuration,
    sessions: any SessionStore,
    logger: Logger
) throws -> some ApplicationProtocol {
    var options = SignIn.Options()
    options.page = { Page(title: $0.title, user: nil, content: Page.content(of: $0)).html }
    let signIn = try SignIn(
        publicURL: configuration.publicURL,
        keys: configuration.keys,
        sessions: sessions,
        providers: [configuration.provider],
        options: options
    ) { user in
        // Find or create the account of (user.issuer, user.subject) here, or throw to refuse it.
        ["account": .string("A-\(user.subject)")]
    }
    let orders = configuration.orders

    let router = Router(context: SignedInContext.self)
    router.add(signIn)

    let site = router.signedIn(by: signIn)
    site.get("/") { _, context in Page.home(context.user, signIn: signIn) }
    site.get("/shop.js") { _, _ in
        Response(
            status: .ok,
            headers: [.contentType: "text/javascript; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: Page.script))
        )
    }

    let members = router.requiringSignIn(by: signIn)
    members.get("/orders") { _, context in
        let answer = try await context.client.makeRequest(URLRequest(url: orders))
        let list = try JSONDecoder().decode([Order].self, from: answer)
        return Page.orders(list, of: try context.signedIn)
    }
    // The page's scripts ask the same API, without seeing a token.
    members.forward("/api/orders", to: orders, by: signIn)
    members.get("/account") { _, context in
        let user = try context.signedIn
        return Page.account(user, sessions: try await signIn.sessions(of: user), signIn: signIn)
    }
    members.post("/sessions/:id/end") { _, context in
        try await signIn.endSession(context.parameters.require("id"), of: context.signedIn)
        return Response.redirect(to: "/account", type: .normal)
    }
    members.post("/sign-out-everywhere") { _, context in
        try await signIn.endAllSessions(of: context.signedIn)
        return Response.redirect(to: "/", type: .normal)
    }

    let transfers = router.requiringSignIn(by: signIn, maximumAge: .seconds(60))
    transfers.get("/transfer") { _, context in Page.transfer(try context.signedIn) }
    transfers.post("/transfer") { _, context in Page.transferred(try context.signedIn) }

    return Application(
        router: router,
        configuration: .init(address: .hostname("127.0.0.1", port: configuration.port), serverName: "shop"),
        logger: logger
    )
}

struct Order: Decodable, Sendable {
    let id: Int
    let item: String
}
