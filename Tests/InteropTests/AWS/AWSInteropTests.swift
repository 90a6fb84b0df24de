import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

/// Requests that moto accepts only with the signature that botocore computes, and botocore as a
/// second signer.
@Suite("AWS", .limitedConcurrency, .enabled(if: Interop.isPrepared, Interop.hint))
struct AWSInteropTests {
    /// The server, and the user and the role that it knows.
    private struct Moto {
        let url: String
        let user: AWSCredentials
        let role: String
        let environment: WorkloadEnvironment

        init() throws {
            let path = try Interop.required("INTEROP_AWS")
            let ready = try JSONObject(parsing: Data(contentsOf: URL(filePath: path)))
            let url = try Interop.required("INTEROP_AWS_URL")
            self.url = url
            user = AWSCredentials(
                accessKeyID: try #require(ready["key"]?.string),
                secretAccessKey: Secret(try #require(ready["secret"]?.string))
            )
            role = try #require(ready["role"]?.string)
            environment = WorkloadEnvironment(variable: { name in
                ["AWS_ENDPOINT_URL_STS": url, "AWS_REGION": "us-east-1", "AWS_ROLE_SESSION_NAME": "one"][name]
            })
        }

        var source: AWSCredentialSource { AWSCredentialSource("moto") { [user] _ in user } }

        func client(_ service: String, _ credentials: AWSCredentialSource? = nil) -> NetworkClient {
            NetworkClient(interceptors: [
                AWSRequestSigner(service: service, region: "us-east-1", credentials: credentials ?? source)
            ])
        }

        func send(
            _ method: String,
            _ target: String,
            form: String? = nil,
            to service: String,
            _ credentials: AWSCredentialSource? = nil,
            body: HTTPBody? = nil
        ) async throws -> String {
            var request = URLRequest(url: try #require(URL(string: url + target)))
            request.httpMethod = method
            if let form {
                request.httpBody = Data(form.utf8)
                request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            }
            let response = try await client(service, credentials).response(
                for: request,
                options: RequestOptions(body: body)
            )
            return String(decoding: response.body, as: UTF8.self)
        }

        func identity(of credentials: AWSCredentialSource?) async throws -> String {
            try await send("POST", "/", form: "Action=GetCallerIdentity&Version=2011-06-15", to: "sts", credentials)
        }
    }

    @Test("moto accepts requests to STS, and rejects those of another key")
    func securityTokenService() async throws {
        let moto = try Moto()
        #expect(try await moto.identity(of: nil).contains(":user/reports</Arn>"))
        let wrong = AWSCredentialSource("wrong") { [moto] _ in
            AWSCredentials(accessKeyID: moto.user.accessKeyID, secretAccessKey: Secret("wrong"))
        }
        let error = await #expect(throws: ServerError.self) { _ = try await moto.identity(of: wrong) }
        #expect(error?.status == 403)
    }

    @Test("Assumes a role, from there another one, and a role for a web identity")
    func roles() async throws {
        let moto = try Moto()
        let first = AWSCredentialSource.role(moto.role, with: moto.source, environment: moto.environment)
        #expect(try await moto.identity(of: first).contains(":assumed-role/deploy/one</Arn>"))
        let second = AWSCredentialSource.role(
            moto.role,
            with: first,
            sessionName: "two",
            environment: moto.environment
        )
        #expect(try await moto.identity(of: second).contains(":assumed-role/deploy/two</Arn>"))
        #expect(try await second.credentials().expiry != nil)
    }

    @Test("Creates a queue, sends a message with any text and receives it")
    func queue() async throws {
        let moto = try Moto()
        let name = "queue-\(UUID().uuidString)"
        _ = try await moto.send("POST", "/", form: "Action=CreateQueue&Version=2012-11-05&QueueName=\(name)", to: "sqs")
        let path = "/123456789012/\(name)"
        let text = "MessageBody=%C3%A9+%26%2B%25"
        _ = try await moto.send("POST", path, form: "Action=SendMessage&Version=2012-11-05&\(text)", to: "sqs")
        let received = try await moto.send("POST", path, form: "Action=ReceiveMessage&Version=2012-11-05", to: "sqs")
        #expect(received.contains("<Body>é &amp;+%</Body>"))
    }

    @Test("Stores objects with any name and body, and lists them")
    func objects() async throws {
        let moto = try Moto()
        let bucket = "/bucket-\(UUID().uuidString.lowercased())"
        _ = try await moto.send("PUT", bucket, to: "s3")
        for name in ["a%20b/%C3%A9.txt", "x//y", "plus%2B%28%29"] {
            let body = HTTPBody.stream(length: 7) {
                AsyncStream { parts in
                    parts.yield(Data("con".utf8))
                    parts.yield(Data("tent".utf8))
                    parts.finish()
                }
            }
            _ = try await moto.send("PUT", "\(bucket)/\(name)", to: "s3", body: body)
            #expect(try await moto.send("GET", "\(bucket)/\(name)", to: "s3") == "content")
        }
        let list = try await moto.send("GET", "\(bucket)?delimiter=%2F&list-type=2&prefix=a%20b%2F", to: "s3")
        #expect(list.contains("é.txt") || list.contains("%C3%A9.txt"))
    }

    // MARK: botocore

    @Test("botocore computes the same signatures for 1,000 requests, and for URLs")
    func botocore() async throws {
        var random = SplitMix(state: 47)
        let tasks = try (0..<1_000).map { _ in try Task(&random) }
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("aws_peer.py")],
            input: tasks.map { $0.members.serialized() + "\n" }.joined()
        )
        try #require(process.status == 0, "\(process.errors.suffix(2000))")
        let answers = try process.output.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
        try #require(answers.count == tasks.count)
        for (task, answer) in zip(tasks, answers) {
            let signature = AWSSignatureV4(service: task.service, region: task.region)
            let date = Date(timeIntervalSince1970: TimeInterval(task.date))
            let signed = try await signature.sign(task.request, with: task.credentials, at: date)
            let field = signed.headers["Authorization"] ?? ""
            #expect(.string(field) == answer["authorization"], "\(task.members["url"] ?? .null)")
            // For a URL, botocore drops the repetitions of a parameter.
            guard task.hasDistinctParameters else { continue }
            let url = try signature.presignedURL(
                task.request.url,
                method: task.request.method,
                headers: task.request.headers,
                with: task.credentials,
                validFor: .seconds(900),
                at: date
            )
            let query = url.absoluteString.drop { $0 != "?" }.dropFirst().split(separator: "&").sorted()
            #expect(query.map { .string(String($0)) } == answer["query"]?.array, "\(url)")
        }
    }

    /// A request for both signers.
    private struct Task {
        let request: HTTPRequest
        let body: String
        let service: String
        let region: String
        let credentials: AWSCredentials
        let token: String?
        let date: Int

        init(_ random: inout SplitMix) throws {
            service = Self.one(of: ["s3", "execute-api", "dynamodb", "sts"], &random)
            region = Self.one(of: ["us-east-1", "eu-central-1"], &random)
            var path = ""
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let isSpecial = service != "s3" && Bool.random(using: &random)
                path += "/" + (isSpecial ? Self.one(of: ["", ".", ".."], &random) : Self.word(1...8, &random))
            }
            if path.isEmpty || Bool.random(using: &random) { path += "/" }
            var pairs: [String] = []
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                pairs.append("\(Self.word(1...3, &random))=\(Self.word(0...6, &random))")
            }
            let query = pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
            let host = Self.one(of: ["a.example", "b.example:8443"], &random)
            var headers: HTTPHeaders = [:]
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                headers.append(
                    name: Self.one(of: ["X-Amz-Meta-A", "x-amz-meta-b", "Content-Type", "My-Field"], &random),
                    value: Self.one(of: ["a", "a  b", "c;d=\"e\"", "f,g"], &random)
                )
            }
            body = Bool.random(using: &random) ? "" : Self.word(1...40, &random)
            token = Bool.random(using: &random) ? nil : "token+/=\(Int.random(in: 0...9_999, using: &random))"
            credentials = AWSCredentials(
                accessKeyID: "AKID\(Int.random(in: 0...9_999, using: &random))",
                secretAccessKey: Secret("secret/+\(Int.random(in: 0...9_999, using: &random))"),
                sessionToken: token.map { Secret($0) }
            )
            date = Int.random(in: 1_000_000_000...2_000_000_000, using: &random)
            request = HTTPRequest(
                method: try #require(HTTPMethod(Self.one(of: ["GET", "PUT", "POST", "DELETE"], &random))),
                url: try #require(URL(string: "https://\(host)\(path)\(query)")),
                headers: headers,
                body: body.isEmpty ? .none : .data(Data(body.utf8))
            )
        }

        private static func one(of values: [String], _ random: inout SplitMix) -> String {
            values[Int.random(in: values.indices, using: &random)]
        }

        private static func word(_ count: ClosedRange<Int>, _ random: inout SplitMix) -> String {
            let characters = Array("abcXYZ019-._~").map(String.init) + ["%20", "%C3%A9", "%2B", "%25", "%3D", "%26"]
            let count = Int.random(in: count, using: &random)
            return (0..<count).map { _ in one(of: characters, &random) }.joined()
        }

        var hasDistinctParameters: Bool {
            let names = (request.url.query(percentEncoded: true) ?? "").split(separator: "&").map { pair in
                pair.prefix { $0 != "=" }
            }
            return Set(names).count == names.count
        }

        var members: JSONObject {
            [
                "method": .string(request.method.rawValue), "url": .string(request.url.absoluteString),
                "headers": .array(request.headers.map { [.string($0.name), .string($0.value)] }),
                "body": .string(body), "service": .string(service), "region": .string(region),
                "date": .number(JSONNumber(date)), "key": .string(credentials.accessKeyID),
                "secret": .string(credentials.secretAccessKey.expose { $0 }),
                "token": token.map { .string($0) } ?? .null,
            ]
        }
    }
}
