import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdSignIn
import HummingbirdTesting
import Logging
import Testing

@testable import shop_web

@Suite("The shop", .serialized)
struct ShopWebTests {
    @Test("A user signs in, sees the orders, confirms a transfer, and signs out")
    func tour() async throws {
        let configuration = try Configuration(environment: ["PUBLIC_URL": "https://shop.example"])
        let mock = try #require(configuration.mock)
        let application = try makeApplication(
            configuration,
            sessions: PersistedSessions(MemoryPersistDriver()),
            logger: Logger(label: "test")
        )
        try await application.test(.router) { client in
            var cookies: [String: String] = [:]

            // Requests a page like a browser, and follows its redirects, also to the provider.
            func open(_ path: String, method: HTTPRequest.Method = .get) async throws -> String {
                var (path, method) = (path, method)
                for _ in 0..<8 {
                    let pairs = cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
                    var headers: HTTPFields = [.accept: "text/html", .cookie: pairs]
                    headers[HTTPField.Name("Sec-Fetch-Site")!] = "same-origin"
                    headers[HTTPField.Name("Sec-Fetch-Mode")!] = "navigate"
                    let response = try await client.execute(uri: path, method: method, headers: headers)
                    for field in response.headers[values: .setCookie] {
                        let pair = field.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
                        cookies[String(pair[0])] = field.contains("Max-Age=0") ? nil : pair.last.map { String($0) }
                    }
                    guard let place = response.headers[.location] else { return String(buffer: response.body) }
                    let isOwn = place.hasPrefix("/")
                    path = isOwn ? place : try await mock.server.visit(#require(URL(string: place))).absoluteString
                    path = path.replacingOccurrences(of: "https://shop.example", with: "")
                    method = .get
                }
                return "too many redirects"
            }

            let home = try await open("/")
            #expect(home.contains("Sign in to see your orders"))
            #expect(try await open("/orders").contains("Analytical engine"))
            #expect(try await open("/").contains("Welcome, ada"))
            #expect(try await open("/transfer").contains("You confirmed"))
            #expect(try await open("/transfer", method: .post).contains("on their way"))
            let account = try await open("/account")
            #expect(account.contains(mock.server.metadata.issuer) && account.contains("This browser"))
            #expect(try await open("/api/orders").contains("Punched cards"))
            #expect(try await open("/shop.js").contains("/auth/user"))
            // Another browser, which this one signs out.
            let own = cookies
            cookies = [:]
            #expect(try await open("/account").components(separatedBy: "since").count == 3)
            let other = cookies
            cookies = own
            let end = try #require(try await open("/account").firstMatch(of: /\/sessions\/[0-9a-f]+\/end/))
            #expect(try await open(String(end.0), method: .post).components(separatedBy: "since").count == 2)
            cookies = other
            #expect(try await open("/").contains("Sign in to see your orders"))
            cookies = own
            #expect(try await open("/auth/sign-out", method: .post).contains("Sign in to see your orders"))
            #expect(cookies.isEmpty)
        }
        await mock.stop()
    }

    @Test("The configuration names what is missing")
    func configuration() {
        #expect { try Configuration(environment: ["ISSUER": "https://id.example"]) } throws: { error in
            "\(error)" == "set the environment variable ORDERS_URL"
        }
    }
}
