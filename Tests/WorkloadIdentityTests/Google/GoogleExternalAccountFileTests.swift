import Foundation
import MockNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@testable import WorkloadIdentity

@Suite("GoogleExternalAccountFile")
struct GoogleExternalAccountFileTests {
    private static let valid: JSONObject = [
        "type": "external_account", "audience": "//iam.googleapis.com/projects/1",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "universe_domain": "googleapis.com",
        "token_url": "https://sts.googleapis.com/v1/token", "credential_source": ["file": "/run/token"],
    ]

    private func file(
        _ changes: [String: JSONValue?],
        hosts: Set<String> = [],
        universe: String = "googleapis.com"
    ) throws(WorkloadIdentityError) -> GoogleExternalAccountFile {
        var object = Self.valid
        for (name, value) in changes { object[name] = value }
        return try GoogleExternalAccountFile(Array(object.serializedData()), subjectHosts: hosts, universe: universe)
    }

    private func code(
        _ changes: [String: JSONValue?],
        hosts: Set<String> = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> WorkloadIdentityError.Code? {
        #expect(throws: WorkloadIdentityError.self, sourceLocation: sourceLocation) {
            try file(changes, hosts: hosts)
        }?.code
    }

    @Test(
        "Accepts only Google's hosts for the exchange",
        arguments: [
            ("https://sts.googleapis.com/v1/token", true),
            ("https://sts.europe-west1.rep.googleapis.com/v1/token", true),
            ("https://us-sts.googleapis.com/v1/token", true), ("https://sts.mtls.googleapis.com/v1/token", true),
            ("https://sts.googleapis.com:443/v1/token", true), ("http://sts.googleapis.com/v1/token", false),
            ("https://sts.googleapis.com:8443/v1/token", false), ("https://sts.googleapis.com.evil.example/", false),
            ("https://evilgoogleapis.com/", false), ("https://googleapis.com/", false),
            ("https://storage.googleapis.com/bucket", false), ("https://a.b.storage.googleapis.com/", false),
            ("https://sts.googleapis.com@evil.example/", false), ("https://a@sts.googleapis.com/", false),
            ("https://evil.example/?sts.googleapis.com", false), ("https://evil.example#.googleapis.com", false),
            ("https://169.254.169.254/", false), ("file:///etc/passwd", false), ("", false),
        ]
    )
    func tokenURL(address: String, isAllowed: Bool) throws {
        if isAllowed {
            #expect(try file(["token_url": .string(address)]).tokenURL.absoluteString == address)
        } else {
            let found = code(["token_url": .string(address)])
            #expect(found == (address.isEmpty ? .invalidConfiguration : .insecureEndpoint))
        }
    }

    @Test("Accepts only Google's API for the impersonation")
    func impersonationURL() throws {
        let path = "/v1/projects/-/serviceAccounts/a@b.iam.gserviceaccount.com:generateAccessToken"
        let cases: [(String, Bool)] = [
            ("https://iamcredentials.googleapis.com\(path)", true),
            ("https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a:signJwt", false),
            ("https://sts.googleapis.com\(path)", false), ("https://iamcredentials.evil.example\(path)", false),
            ("http://iamcredentials.googleapis.com\(path)", false),
        ]
        for (address, isAllowed) in cases {
            let changes: [String: JSONValue?] = ["service_account_impersonation_url": .string(address)]
            if isAllowed {
                #expect(try file(changes).impersonationURL?.absoluteString == address)
            } else {
                #expect(code(changes) == .insecureEndpoint)
            }
        }
        #expect(code(["service_account_impersonation_url": 7]) == .insecureEndpoint)
    }

    @Test("Another universe must be named by the program")
    func universe() throws {
        #expect(code(["universe_domain": "evil.example"]) == .insecureEndpoint)
        #expect(code(["universe_domain": 7]) == .insecureEndpoint)
        let changes: [String: JSONValue?] = [
            "universe_domain": "cloud.example", "token_url": "https://sts.cloud.example/v1/token",
        ]
        #expect(code(changes) == .insecureEndpoint)
        #expect(try file(changes, universe: "cloud.example").tokenURL.host == "sts.cloud.example")
    }

    @Test("Requests subject tokens only from hosts that the program names, and only confined or encrypted")
    func subjectHosts() throws {
        let cases: [(String, Set<String>, Bool)] = [
            ("http://169.254.169.254/a", [], false), ("http://169.254.169.254/a", ["169.254.169.254"], true),
            ("https://ci.example/a", ["ci.example"], true), ("https://CI.example/a", ["ci.EXAMPLE"], true),
            ("https://ci.example/a", ["example"], false), ("https://a.ci.example/a", ["ci.example"], false),
            ("http://ci.example/a", ["ci.example"], false), ("https://a@ci.example/a", ["ci.example"], false),
            ("file:///etc/passwd", [""], false),
        ]
        for (address, hosts, isAllowed) in cases {
            let changes: [String: JSONValue?] = ["credential_source": ["url": .string(address)]]
            if isAllowed {
                #expect(throws: Never.self) { try file(changes, hosts: hosts) }
            } else {
                #expect(code(changes, hosts: hosts) == .insecureEndpoint)
            }
        }
    }

    @Test("Never starts a program, and refuses other sources and kinds of file")
    func unsupported() throws {
        let sources: [JSONValue] = [
            ["executable": ["command": "/bin/sh -c id", "timeout_millis": 5_000]],
            ["file": "/run/token", "executable": ["command": "/bin/id"]],
            ["environment_id": "aws1", "url": "https://a/"],
            ["certificate": ["use_default_certificate_config": true]], [:], ["file": "/a", "url": "https://a/"], "a",
            ["file": "/a", "format": ["type": "xml"]], ["file": "/a", "format": ["type": "json"]],
            ["file": "/a", "format": "json"],
        ]
        for source in sources { #expect(code(["credential_source": source]) == .invalidConfiguration) }
        let changes: [[String: JSONValue?]] = [
            ["type": "service_account"], ["type": "authorized_user"], ["type": nil], ["audience": nil],
            ["audience": ""], ["token_url": nil], ["subject_token_type": nil],
            ["subject_token_type": "urn:ietf:params:aws:token-type:aws4_request"],
            ["workforce_pool_user_project": "p"], ["credential_source": nil], ["client_id": "a"],
            ["service_account_impersonation": ["token_lifetime_seconds": 599]],
            ["service_account_impersonation": ["token_lifetime_seconds": 43_201]],
        ]
        for change in changes { #expect(code(change) == .invalidConfiguration) }
        #expect(throws: WorkloadIdentityError(.invalidConfiguration, .read, "")) {
            try GoogleExternalAccountFile(Array("{".utf8), subjectHosts: [], universe: "googleapis.com")
        }
    }

    @Test("Refuses header fields that would change the request's host or framing")
    func fields() throws {
        let headers: [JSONValue] = [
            ["Host": "internal.example"], ["hOST": "a"], ["a b": "c"], ["a": "b\r\nc: d"], ["a": 7], "a", ["": "b"],
        ]
        for value in headers {
            let changes: [String: JSONValue?] = ["credential_source": ["url": "https://ci.example/", "headers": value]]
            #expect(code(changes, hosts: ["ci.example"]) == .invalidConfiguration)
        }
    }

    @Test("A missing variable or file names the setting")
    func missing() {
        for path in [nil, "", "/nonexistent/file.json"] as [String?] {
            let error = #expect(throws: WorkloadIdentityError.self) {
                try GoogleExternalAccountSource(environment: WorkloadEnvironment(variable: { _ in path }))
            }
            #expect(error?.code == .notConfigured)
            #expect(error?.message.contains("GOOGLE_APPLICATION_CREDENTIALS") == true)
        }
    }
}
