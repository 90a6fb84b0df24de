import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@testable import WorkloadIdentity

@Suite("AWSCredentialSource: outages", .limitedConcurrency)
struct AWSOutageTests {
    private let time = ManualTime(advancesWhenSleeping: true)

    /// A metadata service that answers with a number of seconds until the expiry, or isn't there.
    private func machine(_ left: Int) -> (AWSCredentialSource, lifetime: SharedValue<Int?>, requests: MockTransport) {
        let lifetime = SharedValue<Int?>(left)
        let transport = MockTransport(time: time.timeSource) { [time] request in
            guard let left = lifetime.value else { throw NetworkError(.cannotConnect, "no route") }
            guard request.url.path.hasSuffix("role") else {
                return .init(status: 200, body: Data((request.method == .put ? "session" : "role").utf8))
            }
            let expiration = time.date.addingTimeInterval(Double(left)).formatted(.iso8601)
            let keys = #""AccessKeyId":"ASIA\#(left)","SecretAccessKey":"S3cr3t","Token":"t""#
            return .init(status: 200, body: Data(#"{\#(keys),"Expiration":"\#(expiration)"}"#.utf8))
        }
        return (.instance(environment: time.awsEnvironment(transport)), lifetime, transport)
    }

    @Test("During an outage, a machine's credentials are used for up to six hours after their expiry")
    func outage() async throws {
        let (source, lifetime, requests) = machine(3_600)
        #expect(try await source.credentials().accessKeyID == "ASIA3600")
        lifetime.replace(with: nil)
        // Five to ten minutes at a time.
        time.advance(by: .seconds(3_600))
        let start = time.now
        while time.now < start + .seconds(21_400) {
            let credentials = try await source.credentials()
            #expect(credentials.accessKeyID == "ASIA3600" && !credentials.isExtended)
            let left = try #require(credentials.expiry) - time.now
            #expect(left > .zero && left <= .seconds(600))
            let count = requests.requests.count
            _ = try await source.credentials()
            #expect(requests.requests.count == count)
            time.advance(by: .seconds(600))
        }
        time.advance(by: .seconds(600))
        await expectFailure(of: source, .platformUnavailable)
        time.advance(by: .seconds(60))
        lifetime.replace(with: 7_200)
        #expect(try await source.credentials().accessKeyID == "ASIA7200")
    }

    @Test("During an outage, a profile's role is assumed with the machine's credentials, too")
    func profileOutage() async throws {
        let folder = try TokenFolder()
        try folder.write("[profile dev]\nrole_arn = arn:aws:iam::1:role/r\ncredential_source = Ec2InstanceMetadata\n")
        let isDown = SharedValue(false)
        let transport = MockTransport(time: time.timeSource) { [time] request in
            let expiration = time.date.addingTimeInterval(3_600).formatted(.iso8601)
            if request.url.host == "sts.eu-central-1.amazonaws.com" {
                let text = """
                    <AssumeRoleResponse><AssumeRoleResult><Credentials>\
                    <AccessKeyId>\(isDown.value ? "SECOND" : "FIRST")</AccessKeyId>\
                    <SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>\
                    <Expiration>\(expiration)</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>
                    """
                return .init(status: 200, body: Data(text.utf8))
            }
            guard !isDown.value else { throw NetworkError(.cannotConnect, "no route") }
            guard request.url.path.hasSuffix("role") else {
                return .init(status: 200, body: Data((request.method == .put ? "session" : "role").utf8))
            }
            let keys = #""AccessKeyId":"MACHINE","SecretAccessKey":"S3cr3t","Token":"t""#
            return .init(status: 200, body: Data(#"{\#(keys),"Expiration":"\#(expiration)"}"#.utf8))
        }
        let variables = ["AWS_CONFIG_FILE": folder.path, "AWS_PROFILE": "dev", "AWS_REGION": "eu-central-1"]
        // Short delays leave time for the request for the role.
        let environment = WorkloadEnvironment(
            variable: { variables[$0] },
            timeSource: time.patientSource,
            transport: transport,
            random: { 0 }
        )
        let source = AWSCredentialSource.profile(environment: environment)
        #expect(try await source.credentials().accessKeyID == "FIRST")
        isDown.replace(with: true)
        time.advance(by: .seconds(3_600))
        #expect(try await source.credentials().accessKeyID == "SECOND")
        let signatures = transport.requests.compactMap { $0.headers["Authorization"] }
        #expect(signatures.count == 2 && signatures.allSatisfy { $0.contains("Credential=MACHINE/") })
    }

    @Test("A metadata service that responds with expired credentials is an outage, too")
    func expiredAnswer() async throws {
        let (source, lifetime, _) = machine(-600)
        let credentials = try await source.credentials()
        #expect(credentials.accessKeyID == "ASIA-600" && credentials.expiry == time.now + .seconds(600))
        lifetime.replace(with: -21_601)
        await expectFailure(of: machine(-21_601).0, .expiredToken)
        #expect(await !source.replace(credentials, until: nil))
    }

    @Test("Credentials that AWS rejects during an outage aren't used again")
    func rejectedInOutage() async throws {
        let (source, lifetime, _) = machine(-600)
        let credentials = try await source.credentials()
        #expect(await !source.replace(credentials, until: nil))
        await expectFailure(of: source, .rejectedToken)
        time.advance(by: .seconds(60))
        lifetime.replace(with: 3_600)
        #expect(try await source.credentials().accessKeyID == "ASIA3600")
    }

    @Test("A container's credentials end with their expiry, also during an outage")
    func containerOutage() async throws {
        let variables = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x"]
        let failure = MockTransport.Step.failure(NetworkError(.cannotConnect, "no route"))
        let answer = #"{"AccessKeyId":"A","SecretAccessKey":"S3cr3t","Token":"t","Expiration":"2001-09-09T02:46:40Z"}"#
        let steps = [MockTransport.Step.json(answer)] + Array(repeating: failure, count: 5)
        let transport = MockTransport(steps: steps, time: time.timeSource, handler: nil)
        let source = AWSCredentialSource.container(environment: time.awsEnvironment(transport, variables))
        _ = try await source.credentials()
        time.advance(by: .seconds(3_600))
        await expectFailure(of: source, .platformUnavailable)
    }
}
