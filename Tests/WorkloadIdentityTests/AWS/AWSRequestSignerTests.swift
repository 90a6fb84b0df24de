import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

@testable import WorkloadIdentity

@Suite("AWSRequestSigner", .limitedConcurrency, .tags(.concurrency))
struct AWSRequestSignerTests {
    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(
        _ transport: MockTransport,
        service: String = "sqs",
        credentials: AWSCredentialSource? = nil,
        payload: AWSSignatureV4.Payload = .signed,
        origins: ResourceRule? = nil,
        before interceptors: [any Interceptor] = []
    ) -> NetworkClient {
        let fixed = AWSCredentialSource("test", environment: time.awsEnvironment(nil)) { _ in
            AWSSignatureV4Tests.credentials
        }
        let signer = AWSRequestSigner(
            service: service,
            region: "eu-central-1",
            credentials: credentials ?? fixed,
            payload: payload,
            origins: origins,
            timeSource: time.patientSource
        )
        return NetworkClient(
            transport: transport,
            interceptors: interceptors + [signer],
            options: .init(timeSource: time.patientSource)
        )
    }

    private static let url = URL(string: "https://sqs.eu-central-1.amazonaws.com/1/queue")!

    private static func times(_ transport: MockTransport) -> [String?] {
        transport.requests.map { $0.headers["X-Amz-Date"] }
    }

    @Test("Signs each attempt anew, with the time at which it's sent", .shows("O61"))
    func attempts() async throws {
        let transport = time.transport(.status(503), .status(200))
        let retries = Retry.Policy.backoff(.constant(.seconds(2), until: .maxRetries(1)))
        let client = client(transport, before: [retries])
        _ = try await client.response(for: URLRequest(url: Self.url))
        #expect(Self.times(transport) == ["20010909T014640Z", "20010909T014642Z"])
        #expect(Set(transport.requests.map { $0.headers["Authorization"] }).count == 2)
    }

    @Test("Signs a redirect within the origin for its target, and sends nothing of it elsewhere", .shows("W31"))
    func redirects() async throws {
        let temporary = AWSCredentialSource("test", environment: time.awsEnvironment(nil)) { _ in
            AWSCredentials(accessKeyID: "A", secretAccessKey: Secret("s"), sessionToken: Secret("S3cr3t"))
        }
        let transport = time.transport(
            .status(307, headers: ["Location": "/2/queue"]),
            .status(307, headers: ["Location": "https://other.example/"]),
            .status(307, headers: ["Location": "https://sqs.eu-central-1.amazonaws.com/3/queue"]),
            .status(200)
        )
        _ = try await client(transport, credentials: temporary).response(for: URLRequest(url: Self.url))
        let isSigned = transport.requests.map { $0.headers["Authorization"] != nil }
        // After another origin, the request is no longer the caller's.
        #expect(isSigned == [true, true, false, false])
        #expect(transport.requests.map { $0.headers["X-Amz-Security-Token"] } == ["S3cr3t", "S3cr3t", nil, nil])
        #expect(transport.requests[2].headers["X-Amz-Date"] == nil)
    }

    @Test("Signs for the given origins only, also after a redirect")
    func origins() async throws {
        let other = URL(string: "https://b.example/")!
        let transport = time.transport(.status(307, headers: ["Location": "https://b.example/"]), .status(200))
        _ = try await client(transport, origins: [Self.url, other]).response(for: URLRequest(url: Self.url))
        #expect(transport.requests.allSatisfy { $0.headers["Authorization"] != nil })
        let foreign = time.transport(.status(200))
        _ = try await client(foreign, origins: [Self.url]).response(for: URLRequest(url: other))
        #expect(foreign.requests[0].headers["Authorization"] == nil)
        let none = time.transport(.status(200))
        await #expect(throws: (any Error).self) {
            _ = try await client(none, origins: .origins(of: [])).response(for: URLRequest(url: other))
        }
        #expect(none.requests.isEmpty)
    }

    /// Rejections of a request's time, an hour after that of the client.
    private static func rejections(hour: String = "Sun, 09 Sep 2001 02:46:40 GMT") -> [MockTransport.Step] {
        let date: HTTPHeaders = ["Date": hour]
        let xml = { (text: String, status: Int) in
            MockTransport.Step.status(status, headers: date, body: Data(text.utf8))
        }
        return [
            xml("<?xml version=\"1.0\"?><Error><Code>RequestTimeTooSkewed</Code></Error>", 403),
            xml(
                """
                <ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>\
                <Code>SignatureDoesNotMatch</Code><Message>Signature expired: &lt;x&gt;</Message></Error></ErrorResponse>
                """,
                403
            ),
            xml("<Response><Errors><Error><Code>RequestExpired</Code></Error></Errors></Response>", 400),
            .json(
                ##"{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"x"}"##,
                status: 400,
                headers: date
            ),
            .status(403, headers: ["Date": hour, "x-amzn-ErrorType": "InvalidSignatureException:http://x"]),
        ]
    }

    @Test(
        "Learns the difference of the clocks from a rejection, sends the request once more, and keeps it",
        .shows("O62"),
        arguments: 0..<5
    )
    func skew(index: Int) async throws {
        let transport = time.transport(Self.rejections()[index], .status(200), .status(200))
        let client = client(transport, service: "s3")
        var request = URLRequest(url: Self.url)
        request.httpMethod = "POST"
        request.httpBody = Data("content".utf8)
        _ = try await client.response(for: request)
        _ = try await client.response(for: request)
        #expect(Self.times(transport) == ["20010909T014640Z", "20010909T024640Z", "20010909T024640Z"])
    }

    @Test("Sends a request at most twice because of its time", arguments: 0..<5)
    func skewOnce(index: Int) async throws {
        let step = Self.rejections()[index]
        let transport = time.transport(
            step,
            Self.rejections(hour: "Sun, 09 Sep 2001 05:46:40 GMT")[index],
            .status(200)
        )
        let error = await #expect(throws: ServerError.self) {
            _ = try await client(transport).response(for: URLRequest(url: Self.url))
        }
        #expect([400, 403].contains(error?.errorCode))
        #expect(transport.requests.count == 2)
    }

    @Test(
        "Doesn't repeat a rejected signature if the clocks agree, or without a time",
        arguments: ["Sun, 09 Sep 2001 01:48:00 GMT", "", "tomorrow"]
    )
    func noSkew(date: String) async {
        let transport = time.transport(Self.rejections(hour: date)[1], .status(200))
        await #expect(throws: ServerError.self) {
            _ = try await client(transport).response(for: URLRequest(url: Self.url))
        }
        #expect(transport.requests.count == 1)
    }

    @Test("Learns no time from another origin after a redirect, and none of another day", .shows("W36"))
    func foreignTime() async throws {
        let rejection = Self.rejections()[0]
        let foreign = time.transport(
            .status(307, headers: ["Location": "https://other.example/"]),
            rejection,
            .status(200)
        )
        let client = client(foreign)
        await #expect(throws: ServerError.self) { _ = try await client.response(for: URLRequest(url: Self.url)) }
        _ = try await client.response(for: URLRequest(url: Self.url))
        #expect(Self.times(foreign) == ["20010909T014640Z", nil, "20010909T014640Z"])
        let late = time.transport(Self.rejections(hour: "Tue, 11 Sep 2001 01:46:40 GMT")[0], .status(200))
        await #expect(throws: ServerError.self) {
            _ = try await self.client(late).response(for: URLRequest(url: Self.url))
        }
        #expect(late.requests.count == 1)
    }

    @Test("Requests that fail together wait for the same new credentials")
    func expiredTogether() async throws {
        let count = Mutex(0)
        let source = AWSCredentialSource("test", environment: time.awsEnvironment(nil)) { [time] _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number > 1 { for _ in 1...100 { await Task.yield() } }
            return AWSCredentials(
                accessKeyID: "KEY\(number)",
                secretAccessKey: Secret("s"),
                expiry: time.now + .seconds(3_600)
            )
        }
        let transport = MockTransport(time: time.patientSource) { request in
            let isOld = request.headers["Authorization"]?.contains("KEY1/") ?? true
            let body = Data(#"{"__type":"ExpiredTokenException"}"#.utf8)
            return isOld ? HTTPTransportResponse(status: 400, body: body) : HTTPTransportResponse(status: 200)
        }
        let client = client(transport, credentials: source)
        try await withThrowingTaskGroup { group in
            for _ in 1...8 { group.addTask { _ = try await client.response(for: URLRequest(url: Self.url)) } }
            try await group.waitForAll()
        }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("Replaces credentials that have expired for AWS once, and repeats the request with new ones")
    func expired() async throws {
        let count = Mutex(0)
        let source = AWSCredentialSource("test", environment: time.awsEnvironment(nil)) { [time] _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return AWSCredentials(
                accessKeyID: "KEY\(number)",
                secretAccessKey: Secret("s"),
                sessionToken: Secret("t"),
                expiry: time.now + .seconds(3_600)
            )
        }
        let rejection = MockTransport.Step.json(#"{"__type":"ExpiredTokenException"}"#, status: 400)
        let transport = time.transport(rejection, .status(200), rejection, rejection)
        let client = client(transport, credentials: source)
        _ = try await client.response(for: URLRequest(url: Self.url))
        let used = transport.requests.map { $0.headers["Authorization"]?.contains("KEY1/") }
        #expect(used == [true, false])
        time.advance(by: .seconds(60))
        await #expect(throws: ServerError.self) { _ = try await client.response(for: URLRequest(url: Self.url)) }
        #expect(transport.requests.count == 4)
        #expect(count.withLock { $0 } == 3)
    }

    @Test("Sends nothing without credentials, and repeats nothing for permanent ones that are rejected")
    func credentials() async throws {
        let failing = AWSCredentialSource.environment(time.awsEnvironment(nil))
        let transport = time.transport(.status(200))
        let error = await #expect(throws: NetworkError.self) {
            _ = try await client(transport, credentials: failing).response(for: URLRequest(url: Self.url))
        }
        #expect(error?.code == .requestNotMade)
        #expect((error?.cause as? WorkloadIdentityError)?.code == .notConfigured)
        #expect(transport.requests.isEmpty)
        let rejecting = time.transport(.json(#"{"__type":"ExpiredToken"}"#, status: 400), .status(200))
        await #expect(throws: ServerError.self) {
            _ = try await client(rejecting).response(for: URLRequest(url: Self.url))
        }
        #expect(rejecting.requests.count == 1)
    }

    @Test("Responses that lie in size or form are only rejections", arguments: 0..<6)
    func lies(index: Int) async {
        let code = "<Error><Code>RequestTimeTooSkewed</Code>"
        let bodies = [
            code, "<!DOCTYPE x [<!ENTITY a \"b\">]>\(code)</Error>", "\(code)<Code>x</Code></Error>",
            String(repeating: "<Error>", count: 100_000), code + String(repeating: " ", count: 200_000) + "</Error>",
            #"{"__type":{"a":1}}"#,
        ]
        let date: HTTPHeaders = ["Date": "Sun, 09 Sep 2001 02:46:40 GMT"]
        let transport = time.transport(.status(403, headers: date, body: Data(bodies[index].utf8)), .status(200))
        await #expect(throws: ServerError.self) {
            _ = try await client(transport).response(for: URLRequest(url: Self.url))
        }
        #expect(transport.requests.count == 1)
    }

    @Test("One request for credentials serves all callers, and renews them ahead of their expiry", .shows("O63"))
    func shared() async throws {
        let time = ManualTime()
        defer { time.end() }
        let count = Mutex(0)
        let environment = WorkloadEnvironment(timeSource: time.timeSource, random: { 0 })
        let source = AWSCredentialSource("test", environment: environment) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            for _ in 1...10 { await Task.yield() }
            return AWSCredentials(
                accessKeyID: "KEY\(number)",
                secretAccessKey: Secret("s"),
                expiry: time.now + .seconds(3_600)
            )
        }
        let keys = try await withThrowingTaskGroup { group in
            for _ in 1...20 { group.addTask { try await source.credentials().accessKeyID } }
            var keys: Set<String> = []
            for try await key in group { keys.insert(key) }
            return keys
        }
        #expect(keys == ["KEY1"])
        time.advance(by: .seconds(3_500))
        #expect(try await source.credentials().accessKeyID == "KEY1")
        while try await source.credentials().accessKeyID == "KEY1" { await Task.yield() }
        #expect(count.withLock { $0 } == 2)
    }
}
