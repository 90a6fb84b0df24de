import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import Synchronization
import TestIssuers
import TokenGeneration

/// An in-memory issuer that publishes a status list, for an API with a clock that stands still.
final class PublishedStatusList: Sendable {
    static let uri = "https://id.example/statuslists/1"
    static let folder = URL(string: "https://id.example/statuslists/")!

    let api: GuardedAPI
    let transport: MockTransport
    private let document: Document

    /// Creates an issuer whose list has two bits for each of 16 tokens: 1 is revoked, 2 suspended,
    /// and 3 has a status that nobody has defined.
    init(steps: [MockTransport.Step] = []) throws {
        api = try GuardedAPI()
        let document = Document()
        self.document = document
        transport = MockTransport(steps: steps, time: api.issuer.time.timeSource) { _ in document.response }
        try publish()
    }

    /// The document at the URL.
    private final class Document: Sendable {
        let text = Mutex("")
        var response: HTTPTransportResponse { PublishedStatusList.response(text.withLock { $0 }) }
    }

    var time: ManualTime { api.issuer.time }

    /// The number of fetches of the list.
    var fetchCount: Int { transport.requests.count }

    static func response(
        _ text: String,
        status: Int = 200,
        type: String = "application/statuslist+jwt"
    ) -> HTTPTransportResponse {
        HTTPTransportResponse(status: status, headers: ["Content-Type": type], body: Data(text.utf8))
    }

    static func list(_ count: Int = 16) throws -> StatusList {
        var list = try StatusList(count: count, bits: .two)
        for status: UInt8 in 1...3 { try list.set(TokenStatus(rawValue: status), at: Int(status)) }
        return list
    }

    /// Returns a status list token, with changes of its claims; `nil` removes a claim.
    func token(
        _ list: StatusList? = nil,
        _ changes: [String: JSONValue?] = [:],
        type: String = "statuslist+jwt",
        key: IssuerKey? = nil
    ) throws -> String {
        let now = api.now
        var claims: JSONObject = try [
            "sub": .string(Self.uri), "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 86_400)),
            "ttl": 300, "status_list": .object((list ?? Self.list()).json()),
        ]
        for (name, value) in changes { claims[name] = value }
        return try (key ?? api.key).token(claims, type: type)
    }

    func publish(_ list: StatusList? = nil, _ changes: [String: JSONValue?] = [:]) throws {
        let text = try token(list, changes)
        document.text.withLock { $0 = text }
    }

    /// Returns the lists as an API uses them.
    func lists(
        at locations: [URL] = [folder],
        outage: CachedStatusLists.OutageRule = .reject,
        _ change: (inout CachedStatusLists.Options) -> Void = { _ in }
    ) -> CachedStatusLists {
        var options = CachedStatusLists.Options()
        options.timeSource = time.timeSource
        change(&options)
        return CachedStatusLists(
            at: locations,
            issuer: PublishedKeys.issuer,
            keys: .fixed(JWKSet(keys: [api.key.jwk])),
            outage: outage,
            client: client,
            options: options
        )
    }

    var client: NetworkClient {
        NetworkClient(transport: transport, options: .init(timeSource: time.timeSource, retryBudget: nil))
    }

    static func reference(_ index: Int, _ uri: String = uri) throws -> StatusListReference {
        try StatusListReference(index: index, uri: uri)
    }
}
