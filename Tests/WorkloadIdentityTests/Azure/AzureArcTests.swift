import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@testable import WorkloadIdentity

@Suite("AzureManagedIdentitySource with Azure Arc", .limitedConcurrency)
struct AzureArcTests {
    private static let address = "http://localhost:40342/metadata/identity/oauth2/token"
    private static var issued: MockTransport.Step {
        .json(
            #"{"access_token":"S3cr3t-token","expires_on":"1000003600","token_type":"Bearer"}"#
        )
    }

    private let time = ManualTime(advancesWhenSleeping: true)
    private let folder: TokenFolder

    init() throws { folder = try TokenFolder() }

    private var keys: String { folder.url.path }

    private func source(
        _ transport: MockTransport,
        _ identity: AzureManagedIdentitySource.Identity = .systemAssigned
    ) -> AzureManagedIdentitySource {
        let variables = ["IDENTITY_ENDPOINT": Self.address, "IMDS_ENDPOINT": "http://localhost:40342"]
        return AzureManagedIdentitySource(
            resource: "https://vault.azure.net/.default",
            identity: identity,
            WorkloadEnvironment(
                variable: { variables[$0] },
                timeSource: time.timeSource,
                transport: transport,
                random: { 1 }
            ),
            arcKeys: keys
        )
    }

    private func transport(_ steps: MockTransport.Step...) -> MockTransport {
        MockTransport(steps: steps, time: time.timeSource, handler: nil)
    }

    private func challenge(_ path: String) -> MockTransport.Step {
        .status(401, headers: ["WWW-Authenticate": "Basic realm=\(path)"])
    }

    private func write(_ text: String, _ name: String = "a.key") throws -> String {
        let path = "\(keys)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o440], ofItemAtPath: path)
        return path
    }

    @Test("Sends the content of the key file that the agent names")
    func key() async throws {
        let path = try write("S3cr3t-key\n")
        let transport = transport(.status(503), challenge(path), Self.issued)
        let token = try await source(transport).token()
        #expect(text(token) == "S3cr3t-token")
        #expect(token.expiry == time.now + .seconds(3_599))
        #expect(transport.requests.count == 3)
        for request in transport.requests {
            #expect(
                request.url.absoluteString
                    == Self.address + "?api-version=2019-11-01&resource=https%3A%2F%2Fvault.azure.net"
            )
            #expect(request.headers["Metadata"] == "true")
        }
        let sent = transport.requests.map { $0.headers["Authorization"] }
        #expect(sent == [nil, nil, "Basic S3cr3t-key"])
    }

    @Test("The keys are in the agent's folder")
    func standardFolder() { #expect(AzureArcKey.folder == "/var/opt/azcmagent/tokens") }

    @Test("Never sends a file outside the agent's folder, or one that isn't a key")
    func otherFiles() async throws {
        _ = try write("S3cr3t", "a.txt")
        _ = try write("S3cr3t", ".key")
        let headers: [HTTPHeaders] = [
            ["WWW-Authenticate": "Basic realm=/etc/shadow"], ["WWW-Authenticate": "Basic realm=/etc/a.key"],
            ["WWW-Authenticate": "Basic realm=\(keys)/../a.key"], ["WWW-Authenticate": "Basic realm=\(keys)/b/a.key"],
            ["WWW-Authenticate": "Basic realm=\(keys)/a.txt"], ["WWW-Authenticate": "Basic realm=\(keys)/.key"],
            ["WWW-Authenticate": "Basic realm=\(keys)x/a.key"], ["WWW-Authenticate": "Basic realm="],
            ["WWW-Authenticate": "Basic"], ["WWW-Authenticate": "Bearer realm=\(keys)/a.key"], [:],
        ]
        for header in headers {
            let transport = transport(.status(401, headers: header), Self.issued)
            let error = await failure(of: source(transport))
            #expect(error?.code == .invalidResponse)
            #expect(transport.requests.count == 1)
        }
        let unchallenged = transport(Self.issued)
        #expect(await failure(of: source(unchallenged))?.code == .invalidResponse)
    }

    @Test("Refuses a key that is missing, too large, writable by others or not a key")
    func badKeys() async throws {
        let missing = "\(keys)/missing.key"
        let error = await failure(of: source(transport(challenge(missing))))
        #expect(error?.code == .notConfigured)
        #expect(error?.message.contains(missing) == true)
        let cases: [(String, WorkloadIdentityError.Code)] = [
            (String(repeating: "a", count: 4_097), .tooLarge), ("", .malformedToken), ("a\r\nb: c", .malformedToken),
        ]
        for (index, (content, code)) in cases.enumerated() {
            let transport = transport(challenge(try write(content, "\(index).key")), Self.issued)
            #expect(await failure(of: source(transport))?.code == code)
            #expect(transport.requests.count == 1)
        }
        let path = try write("S3cr3t", "writable.key")
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        #expect(await failure(of: source(transport(challenge(path))))?.code == .insecureFile)
    }

    @Test("A key that the agent rejects isn't sent again, and a failure names the agent")
    func rejected() async throws {
        let path = try write("S3cr3t")
        let transport = transport(challenge(path), challenge(path), Self.issued)
        let error = await failure(of: source(transport))
        #expect(error?.code == .platformRejected)
        #expect(error?.status == 401)
        #expect(error?.message.contains("Azure Arc") == true)
        #expect(error?.description.contains("S3cr3t") == false)
        #expect(transport.requests.count == 2)
    }

    @Test("A server with Azure Arc has no user-assigned identities")
    func userAssigned() async throws {
        let transport = transport()
        #expect(await failure(of: source(transport, .clientID("a")))?.code == .notConfigured)
        #expect(transport.requests.isEmpty)
    }
}
