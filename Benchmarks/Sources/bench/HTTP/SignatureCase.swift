import Foundation
import FoundationNetworking
import HTTPSignatures
import Networking
import OAuth2
import Synchronization
import TokenGeneration
import WorkloadIdentity

/// The cost of HTTP message signatures: signing a request with Ed25519 compared with the signature
/// over the same base alone, and verifying compared with OpenSSL alone.
///
/// The profile is `standard`, with a new nonce for each signature. A verifier here has no replay
/// cache, because it verifies the same request again and again.
///
/// A signature for AWS is compared with its five HMACs by OpenSSL alone.
struct SignatureCase: Sendable {
    private enum Operation { case sign, complete, verify, aws }

    /// The costs in microseconds of CPU time, and in calls of `malloc`.
    struct Cost {
        let name: String
        /// The time of everything except the signature: the median of the pairs.
        let added: Double
        /// The time of the signature alone.
        let alone: Double
        let mallocs: Double
        let aloneMallocs: Double
    }

    let name: String
    private let operation: Operation
    private let body: Data

    static let all = [
        Self(name: "signed GET", operation: .sign, body: Data()),
        Self(name: "signed POST", operation: .sign, body: content),
        Self(name: "signed request GET", operation: .complete, body: Data()),
        Self(name: "signed request POST", operation: .complete, body: content),
        Self(name: "signed verify GET", operation: .verify, body: Data()),
        Self(name: "signed verify POST", operation: .verify, body: content),
        Self(name: "signed AWS GET", operation: .aws, body: Data()),
        Self(name: "signed AWS POST", operation: .aws, body: content),
    ]

    /// The same size as nginx's response in `bench http`.
    private static let content = Data(
        #"{"id":"b1946ac9","status":"ok","items":[1,2,3],"note":"seventy-eight bytes."}"#.utf8
    )

    /// Returns the median costs.
    func measure(rounds: Int) async throws -> Cost {
        let (whole, alone) = try await sides()
        let counts = (try await whole.timesPerSlice(5_000_000), try await alone.timesPerSlice(5_000_000))
        var (differences, times): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            let figures: (whole: Double, alone: Double)
            if round.isMultiple(of: 2) {
                let first = try await whole.measure(counts.0)
                figures = (first, try await alone.measure(counts.1))
            } else {
                let first = try await alone.measure(counts.1)
                figures = (try await whole.measure(counts.0), first)
            }
            differences.append(figures.whole - figures.alone)
            times.append(figures.alone)
        }
        return Cost(
            name: name,
            added: differences.median,
            alone: times.median,
            mallocs: try await whole.allocations(),
            aloneMallocs: try await alone.allocations()
        )
    }

    /// Returns the operation, and the signature over the same base.
    func sides() async throws -> (whole: Side, alone: Side) {
        if operation == .aws { return try await awsSides() }
        let key = try SigningKey.generate(.ed25519).identified(by: "client-1")
        let signer = try MessageSigner(key: key, profile: .standard)
        var profile = SignatureProfile.standard
        profile.nonce = .sent
        let verifier = try MessageVerifier(
            profile: profile,
            keys: SignatureKeys(key.verificationKey),
            replayCache: nil
        )
        let (body, content) = (body, body.isEmpty ? HTTPBody.none : .data(body))
        let message = HTTPMessage(
            method: body.isEmpty ? .get : .post,
            url: "https://api.example.com/v1/orders?state=open",
            headers: Self.headers(body)
        )
        var signed = message
        for field in try await signer.sign(message, body: content) { signed.headers[field.name] = field.value }
        let signature = try await verifier.verify(signed, body: body).signature
        let base = Data(try SignatureBase(of: signed, parameters: signature.parameters).text.utf8)
        let verifying = signed
        let alone = Side { times in
            for _ in 0..<times { use(try key.sign(data: base)) }
        }
        switch operation {
        case .sign:
            let whole = Side { times in
                for _ in 0..<times { use(try await signer.sign(message, body: content)) }
            }
            return (whole, alone)
        case .complete:
            let request = HTTPRequest(
                method: body.isEmpty ? .get : .post,
                url: try BenchmarkServer.url("https://api.example.com/v1/orders?state=open"),
                headers: Self.headers(body),
                body: content
            )
            let (interceptor, wire) = (RequestSigner(signer), try await Self.wire())
            let whole = Side { times in
                for _ in 0..<times { use(try await interceptor.intercept(request, next: wire)) }
            }
            return (whole, alone)
        case .verify:
            let whole = Side { times in
                for _ in 0..<times { use(try await verifier.verify(verifying, body: body)) }
            }
            return (whole, try Floor(pem: key.pem(), message: Array(base)).verification)
        case .aws: return try await awsSides()
        }
    }

    /// Signature Version 4 with the session's token of a role.
    private func awsSides() async throws -> (whole: Side, alone: Side) {
        let credentials = AWSCredentials(
            accessKeyID: "AKIDEXAMPLE",
            secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            sessionToken: Secret(String(repeating: "0123456789abcdef", count: 40))
        )
        let source = AWSCredentialSource("benchmark") { _ in credentials }
        let interceptor = AWSRequestSigner(service: "execute-api", region: "us-east-1", credentials: source)
        var headers = Self.headers(body)
        headers["Authorization"] = nil
        let request = HTTPRequest(
            method: body.isEmpty ? .get : .post,
            url: try BenchmarkServer.url("https://api.example.com/v1/orders?state=open"),
            headers: headers,
            body: body.isEmpty ? .none : .data(body)
        )
        let wire = try await Self.wire()
        let whole = Side { times in
            for _ in 0..<times { use(try await interceptor.intercept(request, next: wire)) }
        }
        let scope = "AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/execute-api/aws4_request\n"
        let message = Array(scope.utf8) + [UInt8](repeating: 0x30, count: 64)
        let floor = try Floor(secret: [UInt8](repeating: 7, count: 32), message: message)
        return (whole, Side { times in try floor.sign(times: 5 * times) })
    }

    /// Returns the rest of a chain that answers each request at once, and sends nothing.
    private static func wire() async throws -> Wire {
        let keeper = WireKeeper()
        let client = NetworkClient(transport: InstantTransport(), interceptors: [keeper, Answer()])
        _ = try await client.response(for: URLRequest(url: try BenchmarkServer.url("https://api.example.com/")))
        guard let wire = keeper.take() else { throw UsageError(text: "bench: The interceptor wasn't called.") }
        return wire
    }

    private static func headers(_ body: Data) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "Authorization": "Bearer \(String(repeating: "0123456789abcdef", count: 4))",
            "User-Agent": "bench/1.0", "Accept": "application/json",
        ]
        if !body.isEmpty { headers["Content-Type"] = "application/json" }
        return headers
    }
}

/// An interceptor that keeps the rest of its chain, so that another one can be called without a
/// client.
private final class WireKeeper: WireInterceptor {
    private let kept = Mutex<Wire?>(nil)

    func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
        kept.withLock { $0 = next }
        return try await next(request)
    }

    func take() -> Wire? { kept.withLock { $0.take() } }
}

/// An interceptor that answers each request with an empty response.
private struct Answer: WireInterceptor {
    func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
        HTTPTransportResponse(status: 200)
    }
}
