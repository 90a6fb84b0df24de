import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@testable import WorkloadIdentity

@Suite("AWSSignatureV4", .limitedConcurrency)
struct AWSSignatureV4Tests {
    static let credentials = AWSCredentials(
        accessKeyID: "AKIDEXAMPLE",
        secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    )
    /// 2015-08-30T12:36:00Z.
    static let date = Date(timeIntervalSince1970: 1_440_938_160)

    // MARK: AWS's test suite

    /// A case of the test suite in aws-c-auth.
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let signature: AWSSignatureV4
        let credentials: AWSCredentials
        let parts: AWSSignatureV4.SignedParts
        let headers: HTTPHeaders

        static let folder = "aws-sigv4/v4"

        static var names: [String] {
            guard let folder = ExternalVector.folder?.appending(path: folder).path else { return [] }
            return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
        }

        init(_ name: String) throws {
            testDescription = name
            let context = try JSONObject(parsing: ExternalVector.data("\(Self.folder)/\(name)/context.json"))
            let keys = try #require(context["credentials"]?.object)
            var signature = AWSSignatureV4(
                service: try #require(context["service"]?.string),
                region: try #require(context["region"]?.string)
            )
            signature.keepsPath = context["normalize"] == false
            signature.sendsContentHash = context["sign_body"] == true
            signature.signsSessionToken = context["omit_session_token"] != true
            self.signature = signature
            credentials = AWSCredentials(
                accessKeyID: try #require(keys["access_key_id"]?.string),
                secretAccessKey: Secret(try #require(keys["secret_access_key"]?.string)),
                sessionToken: keys["token"]?.string.map { Secret($0) }
            )
            let (line, headers, body) = try Self.message(in: Self.text("request", name))
            let end = try #require(line.firstIndex(of: " "))
            let target = line[line.index(after: end)...].dropLast(" HTTP/1.1".count)
            let mark = target.firstIndex(of: "?") ?? target.endIndex
            parts = AWSSignatureV4.SignedParts(
                method: String(line[..<end]),
                path: String(target[..<mark]),
                query: String(target[mark...].dropFirst()),
                contentHash: try Self.hash(of: body)
            )
            self.headers = headers
        }

        static func text(_ file: String, _ name: String) throws -> String {
            String(decoding: try ExternalVector.data("\(folder)/\(name)/\(file).txt"), as: UTF8.self)
        }

        static func message(in text: String) throws -> (line: String, headers: HTTPHeaders, body: String) {
            var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)[...]
            let first = try #require(lines.first)
            lines.removeFirst()
            var fields: [HTTPHeaders.Field] = []
            while let line = lines.popFirst(), !line.isEmpty {
                if line.hasPrefix(" ") {
                    fields[fields.count - 1].value += "\n" + line
                } else {
                    let colon = try #require(line.firstIndex(of: ":"))
                    fields.append(.init(name: String(line[..<colon]), value: String(line[line.index(after: colon)...])))
                }
            }
            return (first, HTTPHeaders(fields), lines.joined(separator: "\n"))
        }

        static func hash(of text: String) throws -> String {
            String(decoding: try AWSCanonical.hash(of: Array(text.utf8)), as: UTF8.self)
        }

        static func sorted(_ headers: HTTPHeaders) -> [String] {
            headers.map { "\($0.name.lowercased()):\($0.value)" }.sorted()
        }
    }

    @Test(
        "Signs each request of AWS's test suite in its header fields",
        .shows("O61", "AWS Signature Version 4"),
        .enabled(if: !Case.names.isEmpty, Comment(rawValue: ExternalVector.hint)),
        arguments: Case.names
    )
    func headerForm(name: String) throws {
        let test = try Case(name)
        let (fields, signature) = try test.signature.signedFields(
            test.parts,
            host: "",
            test.headers,
            with: test.credentials,
            at: Self.date
        )
        #expect(
            String(decoding: signature.canonicalRequest, as: UTF8.self)
                == (try Case.text("header-canonical-request", name))
        )
        #expect(
            String(decoding: signature.stringToSign, as: UTF8.self) == (try Case.text("header-string-to-sign", name))
        )
        #expect(signature.text == (try Case.text("header-signature", name)))
        let expected = try Case.message(in: Case.text("header-signed-request", name)).headers
        #expect(Case.sorted(fields) == Case.sorted(expected))
    }

    @Test(
        "Signs each request of AWS's test suite in its URL",
        .shows("AWS Signature Version 4"),
        .enabled(if: !Case.names.isEmpty, Comment(rawValue: ExternalVector.hint)),
        arguments: Case.names
    )
    func queryForm(name: String) throws {
        let test = try Case(name)
        let (query, signature) = try test.signature.signedQuery(
            test.parts,
            host: "",
            test.headers,
            with: test.credentials,
            lifetime: 3_600,
            at: Self.date
        )
        #expect(
            String(decoding: signature.canonicalRequest, as: UTF8.self)
                == (try Case.text("query-canonical-request", name))
        )
        #expect(
            String(decoding: signature.stringToSign, as: UTF8.self) == (try Case.text("query-string-to-sign", name))
        )
        #expect(signature.text == (try Case.text("query-signature", name)))
        let expected = try Case.message(in: Case.text("query-signed-request", name)).line
        #expect(AWSCanonical.query(query) == AWSCanonical.query(String(try Self.query(of: expected))))
    }

    private static func query(of line: String) throws -> Substring {
        let mark = try #require(line.firstIndex(of: "?"))
        return line[line.index(after: mark)...].dropLast(" HTTP/1.1".count)
    }

    // MARK: S3

    // The examples are those of the documentation of Amazon S3.
    // LeakSanitizer can't see the text in the key that a static signer keeps.
    private static var s3: AWSSignatureV4 { AWSSignatureV4(service: "s3", region: "us-east-1") }
    private static let s3Credentials = AWSCredentials(
        accessKeyID: "AKIAIOSFODNN7EXAMPLE",
        secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    )
    private static let s3Date = Date(timeIntervalSince1970: 1_369_353_600)

    @Test("Signs a request to S3 with the hash of its body and its fields")
    func s3Put() async throws {
        let request = HTTPRequest(
            method: .put,
            url: URL(string: "https://examplebucket.s3.amazonaws.com/test$file.text")!,
            headers: [
                "Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY",
                "User-Agent": "changes",
            ],
            body: .data(Data("Welcome to Amazon S3.".utf8))
        )
        let signed = try await Self.s3.sign(request, with: Self.s3Credentials, at: Self.s3Date)
        #expect(
            signed.headers["Authorization"] == """
                AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
                SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, \
                Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd
                """
        )
        #expect(signed.url == request.url)
        #expect(signed.headers["Host"] == nil)
    }

    @Test("Creates the URL of an object that others can read")
    func presigned() throws {
        let url = try Self.s3.presignedURL(
            URL(string: "https://examplebucket.s3.amazonaws.com/test.txt")!,
            with: Self.s3Credentials,
            validFor: .seconds(86_400),
            at: Self.s3Date
        )
        #expect(
            url.absoluteString == """
                https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
                &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
                &X-Amz-Date=20130524T000000Z&X-Amz-SignedHeaders=host&X-Amz-Expires=86400\
                &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404
                """
        )
    }

    @Test("A presigned URL names its host as others send it, and replaces an older signature")
    func presignedAgain() throws {
        let presign = { (url: String, headers: HTTPHeaders) in
            try Self.s3.presignedURL(
                try #require(URL(string: url)),
                headers: headers,
                with: Self.s3Credentials,
                validFor: .seconds(60),
                at: Self.s3Date
            ).absoluteString
        }
        let first = try presign("https://a.example/k?x=1", [:])
        #expect(first.hasPrefix("https://a.example/k?x=1&X-Amz-Algorithm="))
        #expect(try presign("https://A.Example:443/k?x=1#f", [:]) == first)
        #expect(try presign(first, [:]) == first)
        // S3 compares the body with the field.
        let hash = AWSSignatureV4.emptyHash
        #expect(try presign("https://a.example/k?x=1", ["x-amz-content-sha256": hash]) != presign(first, ["x-a": hash]))
        expectError(.unsignableRequest, naming: "names") {
            try AWSSignatureV4(service: "s3/../x", region: "us-east-1").presignedURL(
                URL(string: "https://a.example/")!,
                with: Self.s3Credentials,
                validFor: .seconds(1)
            )
        }
    }

    /// An executor with one thread, as the pool of tasks has on a machine with one processor.
    private final class OneThread: TaskExecutor {
        private let queue = DispatchQueue(label: "OneThread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    @Test("Hashing a large body doesn't block the threads of tasks")
    func largeBody() async throws {
        let request = HTTPRequest(
            method: .put,
            url: URL(string: "https://a.example/")!,
            body: .data(Data(count: (1 << 20) + 1))
        )
        let order = SharedValue<[String]>([])
        let executor = OneThread()
        try await Task(executorPreference: executor) {
            let other = Task(executorPreference: executor) { _ = order.replace(with: order.value + ["other"]) }
            let signed = try await Self.s3.sign(request, with: Self.credentials, at: Self.date)
            order.replace(with: order.value + ["signed"])
            let hash = "2cb74edba754a81d121c9db6833704a8e7d417e5b13d1a19f4a52f007d644264"
            #expect(signed.headers["x-amz-content-sha256"] == hash)
            await other.value
        }.value
        #expect(order.value == ["other", "signed"])
    }

    @Test("Derives another key for other credentials and on another day")
    func keys() async throws {
        let signature = AWSSignatureV4(service: "sqs", region: "us-east-1")
        let copy = signature
        let request = HTTPRequest(method: .get, url: URL(string: "https://a.example/")!)
        var changed = [Self.credentials, Self.s3Credentials]
        changed.append(AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("other")))
        changed.append(
            AWSCredentials(
                accessKeyID: "AKIDEXAMPLE",
                secretAccessKey: Self.credentials.secretAccessKey,
                sessionToken: Secret("token")
            )
        )
        for credentials in changed + changed {
            for date in [Self.date, Self.s3Date, Self.date] {
                let alone = AWSSignatureV4(service: "sqs", region: "us-east-1")
                let expected = try await alone.sign(request, with: credentials, at: date).headers
                #expect(try await signature.sign(request, with: credentials, at: date).headers == expected)
                #expect(try await copy.sign(request, with: credentials, at: date).headers == expected)
            }
        }
    }

    @Test("A presigned URL is valid for one second through seven days", arguments: [0, -1, 604_801])
    func validity(seconds: Int) {
        expectError(.unsignableRequest, naming: "seven days") {
            try Self.s3.presignedURL(
                URL(string: "https://a.example/")!,
                with: Self.s3Credentials,
                validFor: .seconds(seconds)
            )
        }
    }

    @Test(
        "Keeps the key of an object, and normalizes other paths",
        arguments: [
            ("/a//b/../c%20d/%2F+", "/a//b/../c%20d/%2F%2B", "/a/c%2520d/%252F%2B"),
            ("/", "/", "/"), ("", "", "/"), ("/../..", "/../..", "/"), ("/a/./", "/a/./", "/a/"),
            ("/%zz/(1)", "/%25zz/%281%29", "/%25zz/%281%29"),
        ]
    )
    func paths(path: String, object: String, other: String) {
        #expect(String(decoding: AWSCanonical.objectPath(path), as: UTF8.self) == object)
        #expect(String(decoding: AWSCanonical.path(path), as: UTF8.self) == other)
    }

    @Test(
        "Sorts a query by its encoded bytes",
        arguments: [
            ("b=2&a=2&a=1&A=3", "A=3&a=1&a=2&b=2"), ("acl", "acl="), ("a=&&b", "a=&b="), ("a=b=c", "a=b%3Dc"),
            ("%7Ea=%c3%a9", "~a=%C3%A9"), ("a%2=1", "a%252=1"), ("prefix=x/y:z", "prefix=x%2Fy%3Az"),
        ]
    )
    func queries(query: String, canonical: String) {
        #expect(String(decoding: AWSCanonical.query(query), as: UTF8.self) == canonical)
    }

    @Test("Sorts fields by their names, joins repeated ones in their order, and keeps one space of several")
    func fields() {
        let headers: HTTPHeaders = [
            "X-B": " a  \t\"b  c\" ", "x-a": "2\r\n 3", "Host": "h", "X-B": "", "x-b": "d,  e", "User-Agent": "u",
            "X-A-": "-",
        ]
        let fields = AWSCanonical.Fields(headers, host: "other", omitting: ["user-agent"])
        #expect(fields.signedHeaders == "host;x-a;x-a-;x-b")
        #expect(String(decoding: fields.lines, as: UTF8.self) == "host:h\nx-a:2 3\nx-a-:-\nx-b:a \"b c\",,d, e\n")
    }

    @Test(
        "Keeps the path of objects only, which isn't that of every service whose name begins with s3",
        arguments: [
            ("s3", true, true), ("s3express", true, true), ("s3-outposts", true, true), ("s3tables", false, false),
            ("s3vectors", false, false), ("aoss", false, true), ("execute-api", false, false),
        ]
    )
    func services(name: String, keepsPath: Bool, sendsContentHash: Bool) {
        let signature = AWSSignatureV4(service: name, region: "us-east-1")
        #expect(signature.keepsPath == keepsPath)
        #expect(signature.sendsContentHash == sendsContentHash)
    }

    // MARK: The request as it's sent

    private func sign(
        _ url: String,
        _ headers: HTTPHeaders = [:],
        service: String = "execute-api",
        body: HTTPBody = .none,
        payload: AWSSignatureV4.Payload = .signed,
        credentials: AWSCredentials = Self.credentials
    ) async throws -> HTTPRequest {
        let signature = AWSSignatureV4(service: service, region: "eu-central-1")
        let request = HTTPRequest(method: .post, url: try #require(URL(string: url)), headers: headers, body: body)
        return try await signature.sign(request, with: credentials, payload: payload, at: Self.date)
    }

    @Test("Sends a + in a query as the space that AWS reads, and no fragment")
    func plus() async throws {
        let signed = try await sign("https://a.example/x+y?a=b+c#fragment")
        #expect(signed.url.absoluteString == "https://a.example/x+y?a=b%20c")
    }

    @Test(
        "Sends the host that it signs",
        arguments: [
            ("https://A.Example/", "a.example"), ("https://a.example:443/", "a.example"),
            ("http://a.example:80", "a.example"), ("https://a.example:8443/", nil), ("http://[::1]:9/", nil),
        ] as [(String, String?)]
    )
    func hosts(url: String, host: String?) async throws {
        #expect(try await sign(url).headers["Host"] == host)
        #expect(try await sign(url, ["Host": "b.example"]).headers["Host"] == "b.example")
    }

    @Test("Replaces an older signature, and adds the token of temporary credentials")
    func replaces() async throws {
        let temporary = AWSCredentials(
            accessKeyID: "ASIA",
            secretAccessKey: Secret("secret"),
            sessionToken: Secret("token+/=")
        )
        let first = try await sign("https://a.example/", ["authorization": "Bearer x"], credentials: temporary)
        #expect(first.headers["X-Amz-Security-Token"] == "token+/=")
        #expect(first.headers["Authorization"]?.contains("x-amz-security-token,") == true)
        let second = try await AWSSignatureV4(service: "execute-api", region: "eu-central-1").sign(
            first,
            with: Self.credentials,
            at: Self.date
        )
        #expect(second.headers.map(\.name) == ["X-Amz-Date", "Authorization"])
    }

    @Test("Hashes data, files and streams that can be read twice")
    func bodies() async throws {
        let folder = try TokenFolder()
        try folder.write("content")
        let text = Data("content".utf8)
        let stream = HTTPBody.stream(length: 7) {
            AsyncStream {
                $0.yield(text); $0.finish()
            }
        }
        var signatures: Set<String?> = []
        for body in [HTTPBody.data(text), try .file(URL(filePath: folder.path)), stream] {
            signatures.insert(try await sign("https://a.example/", body: body).headers["Authorization"])
        }
        #expect(signatures.count == 1)
    }

    @Test("Refuses a body that can be read only once, unless its hash is known or S3 may ignore it")
    func once() async throws {
        let body = { HTTPBody.once(AsyncStream<Data> { $0.finish() }, length: 7) }
        await expectRefusal("read only once") { try await sign("https://a.example/", service: "s3", body: body()) }
        await expectRefusal("only S3") { try await sign("https://a.example/", body: body(), payload: .unsigned) }
        await expectRefusal("without https") {
            try await sign("http://a.example/", service: "s3", body: body(), payload: .unsigned)
        }
        await expectRefusal("length") {
            let body = HTTPBody.once(AsyncStream<Data> { $0.finish() })
            return try await sign("https://a.example/", service: "s3", body: body, payload: .unsigned)
        }
        let unsigned = try await sign("https://a.example/", service: "s3", body: body(), payload: .unsigned)
        #expect(unsigned.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
        let hash = try Case.hash(of: "content")
        let known = try await sign("https://a.example/", ["X-Amz-Content-SHA256": hash], body: body())
        #expect(known.headers.values(for: "x-amz-content-sha256") == [hash])
        let empty = try await sign("https://a.example/", service: "s3", payload: .unsigned)
        #expect(empty.headers["x-amz-content-sha256"] == AWSSignatureV4.emptyHash)
    }

    private func expectRefusal(_ text: String, _ body: () async throws -> HTTPRequest) async {
        let error = await #expect(throws: WorkloadIdentityError.self) { _ = try await body() }
        #expect(
            error?.code == .unsignableRequest && error?.message.contains(text) == true,
            "\(String(describing: error))"
        )
    }

    @Test("Refuses credentials and names that could change the signature's syntax")
    func syntax() async throws {
        let malformed = [
            AWSCredentials(accessKeyID: "", secretAccessKey: Secret("s")),
            AWSCredentials(accessKeyID: "A/B", secretAccessKey: Secret("s")),
            AWSCredentials(accessKeyID: "A\nB", secretAccessKey: Secret("s")),
            AWSCredentials(accessKeyID: "A", secretAccessKey: Secret("")),
            AWSCredentials(accessKeyID: "A", secretAccessKey: Secret("S3cr3t\n")),
            AWSCredentials(accessKeyID: "A", secretAccessKey: Secret("s"), sessionToken: Secret("S3cr3t\r\n")),
        ]
        for credentials in malformed {
            let error = await #expect(throws: WorkloadIdentityError.self) {
                try await sign("https://a.example/", credentials: credentials)
            }
            #expect(error?.code == .malformedToken)
            #expect(error.map { "\($0)".contains("S3cr3t") } == false)
        }
        await expectRefusal("names") { try await sign("https://a.example/", service: "s3/../x") }
        await expectRefusal("user information") { try await sign("https://user@a.example/") }
    }

    @Test("Credentials show nothing of their keys", .shows("Y11"))
    func secrecy() {
        let credentials = AWSCredentials(
            accessKeyID: "AKID",
            secretAccessKey: Secret("S3cr3t"),
            sessionToken: Secret("S3cr3t")
        )
        var dump = ""
        Swift.dump(credentials, to: &dump)
        let source = AWSCredentialSource("test") { _ in credentials }
        Swift.dump(source, to: &dump)
        #expect(!(dump + "\(credentials)" + String(reflecting: credentials)).contains("S3cr3t"))
    }
}
