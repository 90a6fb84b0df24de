import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Synchronization
import Testing
import TokenGeneration

/// Another project's authorization server, started by `Tests/Interop/run`.
enum OAuth2Peer: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case glewlwyd
    case django
    case authlib
    case idpyoidc
    case canaille
    /// oidc-provider-mock.
    case mock

    var testDescription: String { rawValue }

    /// The ID of the client that acts for itself.
    var service: String { self == .django ? "service" : "client_secret_basic" }
    /// The ID of the client that acts for users.
    var web: String { self == .django ? "code" : "client_secret_basic" }

    /// A scope for a user's tokens. Without `openid`, Canaille's are equal within a second.
    var userScope: String { self == .idpyoidc || self == .canaille ? "openid" : "read" }

    /// The clients' secret, with as many special characters as the server supports.
    var secret: Secret {
        switch self {
        case .glewlwyd, .idpyoidc: Secret("s3cret-of-a-client-0123456789-abcdef")
        case .django: Secret("s3cret:/+=& %7E of a client 0123456789")
        case .authlib, .canaille, .mock: Secret("s3cret:/+=&%7E-of-a-client-0123456789")
        }
    }

    var base: String {
        get throws { try Interop.required("INTEROP_\(rawValue.uppercased())") }
    }

    var issuer: String {
        get throws { self == .glewlwyd ? "\(try base)/api/oidc" : try base }
    }

    var client: NetworkClient { NetworkClient(options: .init(timeout: .seconds(120))) }

    /// Returns the server, from a document that names its OAuth 2 endpoints.
    func server() async throws -> AuthorizationServer {
        var options = AuthorizationServerDiscovery.Options()
        options.documents = [self == .glewlwyd || self == .idpyoidc || self == .mock ? .openID : .oauth2]
        options.timing.timeout = .seconds(120)
        return try await AuthorizationServerDiscovery(issuer: issuer, client: client, options: options).server()
    }

    func authentication(_ id: String) -> StandardClientAuthentication {
        StandardClientAuthentication.clientSecretBasic(clientID: id, secret: secret)
    }

    func oauth(_ authentication: (any ClientAuthentication)? = nil) async throws -> OAuth2Client {
        OAuth2Client(
            server: try await server(),
            clientAuthentication: authentication ?? self.authentication(web),
            client: client,
            timing: .init(timeout: .seconds(120))
        )
    }

    /// Returns a grant that works without the user's help: the client's credentials or a user's
    /// refresh token.
    func grant(clientID: String? = nil) async throws -> any Grant {
        guard self == .idpyoidc || self == .canaille || self == .mock else {
            return ClientCredentialsGrant(scope: "read")
        }
        return RefreshTokenGrant(refreshToken: try await refreshToken(scope: "openid", clientID: clientID))
    }

    func source(
        _ grant: any Grant,
        _ authentication: any ClientAuthentication,
        dpop: DPoPKey? = nil
    ) async throws -> CachedTokenSource {
        CachedTokenSource(
            client: OAuth2Client(
                server: try await server(),
                clientAuthentication: authentication,
                dpop: dpop,
                client: client,
                timing: .init(timeout: .seconds(120))
            ),
            grant: grant
        )
    }

    /// Returns a refresh token that the user `ada` has granted to the web client.
    func refreshToken(scope: String, clientID: String? = nil) async throws -> Secret {
        let id = clientID ?? web
        let answer =
            if self == .glewlwyd {
                try await post(
                    "/api/oidc/token",
                    [
                        "grant_type": "password", "username": "ada", "password": "engine-1843", "scope": scope,
                        "client_id": id,
                    ],
                    authorization: "Basic \(Data("\(id):\(secret.expose { $0 })".utf8).base64EncodedString())"
                )
            } else {
                try await post("/test/refresh-token", ["client_id": id, "scope": scope])
            }
        return Secret(try #require(answer["refresh_token"]?.string))
    }

    /// Returns a Boolean value that indicates whether the source of the server's library contains a
    /// text, or `false` for complete servers.
    ///
    /// If the test's server doesn't offer a feature, its library may still support it. A complete
    /// server announces its features itself.
    func mentions(_ text: String) async throws -> Bool {
        guard self == .authlib || self == .idpyoidc else { return false }
        var parts = try #require(URLComponents(string: try base + "/test/mentions"))
        parts.queryItems = [URLQueryItem(name: "text", value: text)]
        let answer = try JSONObject(parsing: await client.makeRequest(URLRequest(url: try #require(parts.url))))
        return try #require(answer["mentions"]) == true
    }

    /// Returns the token endpoint's error for an unsupported grant.
    func refusal(
        of grant: any Grant,
        _ authentication: (any ClientAuthentication)? = nil
    ) async throws -> OAuth2Error {
        let source = try await source(grant, authentication ?? self.authentication(service))
        return try await #require(throws: OAuth2Error.self) { try await source.token() }
    }

    /// Returns a Boolean value that indicates whether an error means an unsupported grant.
    func isRefusalOfGrant(_ error: OAuth2Error) -> Bool {
        switch self {
        case .glewlwyd: error.status == 400 && error.serverCode == nil
        case .idpyoidc: error.serverCode == "invalid_request"
        case .django, .authlib, .canaille, .mock: error.serverCode == "unsupported_grant_type"
        }
    }

    /// Posts a form without the library's OAuth 2 client.
    func post(
        _ path: String,
        _ form: [String: String],
        authorization: String? = nil,
        base: String? = nil
    ) async throws -> JSONObject {
        var request = URLRequest(url: try #require(URL(string: try (base ?? self.base) + path)))
        request.httpMethod = "POST"
        if let authorization { request.setAuthorization(authorization) }
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        let allowed = CharacterSet.alphanumerics
        request.httpBody = Data(
            form.map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")" }
                .joined(separator: "&").utf8
        )
        return try JSONObject(parsing: try await client.makeRequest(request))
    }

    /// The clients' private key.
    static func clientKey() throws -> SigningKey {
        try SigningKey(
            pem: String(contentsOfFile: Interop.required("INTEROP_FOLDER") + "/oauth-key.pem", encoding: .utf8)
        )
    }
}

/// Sessions of the user `ada`, as values of the `Cookie` header field.
extension OAuth2Peer {
    /// Returns the URL to which the authorization endpoint redirects the signed-in user `ada`.
    func answer(to url: URL, clientID: String? = nil) async throws -> URL {
        let client = NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
        var request = URLRequest(url: url)
        switch self {
        case .authlib, .idpyoidc: break
        case .django: request.setValue(try await djangoSession(), forHTTPHeaderField: "Cookie")
        case .canaille: request.setValue(try await canailleSession(), forHTTPHeaderField: "Cookie")
        case .mock:
            request.httpMethod = "POST"
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data("sub=ada".utf8)
        case .glewlwyd:
            let cookie = try await glewlwydSession(clientID: clientID)
            request = URLRequest(url: try #require(URL(string: url.absoluteString + "&g_continue")))
            request.setValue(cookie, forHTTPHeaderField: "Cookie")
        }
        let back = try await #require(throws: ServerError.self, "the authorization endpoint didn't redirect") {
            try await client.makeRequest(request)
        }
        let location = try #require(back.headers["Location"], "the status was \(back.errorCode)")
        return try #require(URL(string: location))
    }

    func djangoSession() async throws -> String {
        let login = try #require(URL(string: try base + "/login"))
        return Self.cookie(try await client.response(for: URLRequest(url: login), options: RequestOptions()).headers)
    }

    /// Signs in the user at Glewlwyd, and grants the access that the tests request.
    func glewlwydSession(clientID: String? = nil) async throws -> String {
        func call(_ method: String, _ path: String, _ body: JSONObject, cookie: String?) async throws -> HTTPHeaders {
            var request = URLRequest(url: try #require(URL(string: try base + "/api" + path)))
            request.httpMethod = method
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            if let cookie { request.setValue(cookie, forHTTPHeaderField: "Cookie") }
            request.httpBody = body.serializedData()
            return try await client.response(for: request, options: RequestOptions()).headers
        }
        let login: JSONObject = ["username": "ada", "password": "engine-1843"]
        let cookie = Self.cookie(try await call("POST", "/auth/", login, cookie: nil))
        _ = try await call("PUT", "/auth/grant/\(clientID ?? web)", ["scope": "openid read"], cookie: cookie)
        return cookie
    }

    /// Signs in the user with Canaille's login form.
    func canailleSession() async throws -> String {
        func submit(_ path: String, _ form: String, cookie: String?) async throws -> String {
            var request = URLRequest(url: try #require(URL(string: try base + path)))
            request.httpMethod = "POST"
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            if let cookie { request.setValue(cookie, forHTTPHeaderField: "Cookie") }
            request.httpBody = Data(form.utf8)
            let browser = NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
            let redirect = try await #require(throws: ServerError.self, "the login failed") {
                try await browser.makeRequest(request)
            }
            return Self.cookie(redirect.headers)
        }
        let cookie = try await submit("/login", "login=ada", cookie: nil)
        return try await submit("/auth/password", "password=engine-1843", cookie: cookie)
    }

    private static func cookie(_ headers: HTTPHeaders) -> String {
        headers.values(for: "Set-Cookie").compactMap { $0.split(separator: ";").first.map(String.init) }
            .joined(separator: "; ")
    }
}

/// The results for each server, for `Docs/Interop.md`.
enum InteropMatrix {
    /// The result of testing a feature with a server.
    enum Outcome: Sendable, Equatable {
        case passed
        /// The server doesn't support the feature.
        case lacks
        /// The feature works, but the server deviates from the standard, with a description.
        case differs(String)
        /// The server rejects what the standard permits, with a description.
        case serverRefuses(String)
        /// The library rejects what the standard doesn't permit, with a description.
        case libraryRefuses(String)
    }

    /// Serializes the tests with Glewlwyd, which mixes up database rows of concurrent requests and
    /// then rejects tokens that it has just issued.
    private static let glewlwyd = Turn()

    /// Runs the test of one feature with one server, and records the result.
    ///
    /// - Parameters:
    ///   - feature: The feature's name in the table.
    ///   - server: The server.
    ///   - body: The test.
    static func record(
        _ feature: String,
        _ server: OAuth2Peer,
        _ body: () async throws -> Outcome
    ) async throws {
        if server == .glewlwyd { await glewlwyd.take() }
        let result = await Result(catching: body)
        if server == .glewlwyd { await glewlwyd.leave() }
        let outcome = try result.get()
        let words =
            switch outcome {
            case .passed: "passed"
            case .lacks: "lacks"
            case .differs(let reason): "differs\t\(reason)"
            case .serverRefuses(let reason): "server\t\(reason)"
            case .libraryRefuses(let reason): "library\t\(reason)"
            }
        try append("\(feature)\t\(server.rawValue)\t\(words)")
    }

    /// Records that an exchange of signed messages works with an algorithm.
    ///
    /// - Parameters:
    ///   - exchange: The exchange's name in the table.
    ///   - algorithm: The algorithm.
    static func recordSignatures(_ exchange: String, _ algorithm: JWSAlgorithm) throws {
        try append("`\(SignaturePeer.name(of: algorithm))`\thttp-message-signatures\t\(exchange)")
    }

    /// Records the result of our tokens with an algorithm at another resource server.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm.
    ///   - server: The server's name in `matrix.py`.
    ///   - result: The text in the table.
    static func recordTokens(_ algorithm: JWSAlgorithm, at server: String, _ result: String) throws {
        try append("`\(algorithm.rawValue)`\t\(server)\t\(result)")
    }

    /// Lets one test at a time find the file's end and write there.
    private static let writing = Mutex(())

    private static func append(_ line: String) throws {
        guard let path = Interop.variable("INTEROP_MATRIX") else { return }
        try writing.withLock { _ in
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            defer { try? file.close() }
            try file.seekToEnd()
            try file.write(contentsOf: Data("\(line)\n".utf8))
        }
    }
}

/// A lock for asynchronous code.
private actor Turn {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        if isTaken {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isTaken = true
        }
    }

    func leave() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
