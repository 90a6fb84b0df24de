public import Foundation
public import Networking
import OAuth2
import OpenSSLCrypto

/// A signer of requests to one service of AWS in one region, with Signature Version 4
/// ([AWS](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html)).
///
/// ```swift
/// let signature = AWSSignatureV4(service: "s3", region: "eu-central-1")
/// let url = try signature.presignedURL(object, with: credentials, validFor: .seconds(900))
/// ```
///
/// An ``AWSRequestSigner`` signs each request of a client. Use this type for a single request, or
/// for a URL that others use.
///
/// Paths are normalized and encoded twice, except for `s3`, `s3express`, `s3-object-lambda` and
/// `s3-outposts`: the path is then the key of an object, and the request has
/// `x-amz-content-sha256`, as also for `aoss` and `glacier`. A `+` in a query means a space, as AWS
/// reads it, and is sent as `%20`.
///
/// A value keeps the key that is derived for the day, so keep the value for further requests.
public struct AWSSignatureV4: Sendable {
    /// The part of the body that a signature covers.
    public enum Payload: Sendable, Hashable {
        /// The whole body, which is read before it's sent.
        case signed
        /// Nothing of the body, which is sent without being read before: `UNSIGNED-PAYLOAD`.
        ///
        /// Only S3 accepts it, and only TLS then protects the body.
        case unsigned
    }

    /// The longest validity of a presigned URL: seven days.
    static let longestValidity = 604_800
    static let algorithm = "AWS4-HMAC-SHA256"
    private static let unsignedPayload = "UNSIGNED-PAYLOAD"
    private static let contentHash = "x-amz-content-sha256"
    static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    /// The maximum size to hash on the threads that all tasks share, which takes a millisecond.
    private static let longestHashedAtOnce = 1 << 20
    /// The services whose paths are the keys of objects, as in the rules of the SDKs.
    private static let objectServices: Set<String> = ["s3", "s3express", "s3-object-lambda", "s3-outposts"]
    /// Other services that require the hash of the body in a field.
    private static let hashServices: Set<String> = ["aoss", "glacier"]
    /// Fields that proxies and transports change or add, as in the SDKs of AWS.
    private static let unsignedFields: Set<String> = [
        "accept-encoding", "authorization", "connection", "expect", "keep-alive", "proxy-authorization", "te",
        "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent", "via",
        "x-amzn-trace-id", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
    ]

    /// The name of the service in signatures, such as `s3`, `sts` or `execute-api`.
    public let service: String
    /// The region, such as `eu-central-1`.
    public let region: String
    /// A Boolean value that indicates whether the path is the key of an object.
    var keepsPath: Bool
    var sendsContentHash: Bool
    /// A Boolean value that indicates whether the session token is signed; AWS IoT adds it later.
    var signsSessionToken: Bool
    private let latestKey = SharedValue<AWSSigningKey?>(nil)

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - service: The name of the service in signatures, usually the first part of its host.
    ///   - region: The region. Global services have one, too: usually `us-east-1`.
    public init(service: String, region: String) {
        self.service = service
        self.region = region
        keepsPath = Self.objectServices.contains(service)
        sendsContentHash = keepsPath || Self.hashServices.contains(service)
        signsSessionToken = service != "iotdevicegateway"
    }

    /// Returns a request with a signature in its header fields.
    ///
    /// The signature covers the method, the URL, the body, and all header fields that proxies don't
    /// change. A request with `x-amz-content-sha256` keeps it, and its body isn't read.
    ///
    /// - Parameters:
    ///   - request: The request as it's sent.
    ///   - credentials: The credentials.
    ///   - payload: The part of the body that the signature covers. The default is the whole body.
    ///   - date: The current time. AWS accepts a difference of five minutes, S3 one of fifteen.
    /// - Returns: The request with `Authorization` and `X-Amz-Date`; `X-Amz-Security-Token` for
    ///   temporary credentials, and for S3 with `x-amz-content-sha256`. It's valid once.
    /// - Throws: ``WorkloadIdentityError`` with the code `unsignableRequest` for a body that can be
    ///   read only once, and for an unsigned body that isn't for S3 and TLS or this machine;
    ///   `malformedToken` if the credentials have invalid characters. Errors of reading the body.
    public func sign(
        _ request: HTTPRequest,
        with credentials: AWSCredentials,
        payload: Payload = .signed,
        at date: Date = Date()
    ) async throws -> HTTPRequest {
        var request = request
        let target = try AWSRequestTarget(request.url)
        request.url = target.url
        if let host = target.replacedHost, request.headers["Host"] == nil { request.headers["Host"] = host }
        let hash = try await contentHash(of: request, payload)
        request.headers = try signedFields(
            SignedParts(method: request.method.rawValue, path: target.path, query: target.query, contentHash: hash),
            host: target.host,
            request.headers,
            with: credentials,
            at: date
        ).fields
        return request
    }

    /// Returns a URL with a signature in its query, which anyone can use until it expires.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method for which the URL is valid. The default is `GET`.
    ///   - headers: The header fields that a request with the URL must have. The default is none.
    ///   - credentials: The credentials. The URL is valid at most as long as they are.
    ///   - duration: The duration from one second through seven days.
    ///   - date: The time from which it's valid. The default is now.
    /// - Returns: The URL, without an older signature. For S3, it's valid for every body unless the
    ///   header fields have `x-amz-content-sha256`, and otherwise for none.
    /// - Throws: ``WorkloadIdentityError`` with the code `unsignableRequest` for an invalid
    ///   duration or a URL without a host, or `malformedToken` if the credentials have invalid
    ///   characters.
    public func presignedURL(
        _ url: URL,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        with credentials: AWSCredentials,
        validFor duration: Duration,
        at date: Date = Date()
    ) throws -> URL {
        let seconds = duration.components.seconds
        guard (1...Int64(Self.longestValidity)).contains(seconds) else {
            throw Self.unsignable("a presigned URL is valid for one second through seven days; pass another duration")
        }
        let target = try AWSRequestTarget(url)
        let hash = headers[Self.contentHash] ?? (keepsPath ? Self.unsignedPayload : Self.emptyHash)
        let signed = try signedQuery(
            SignedParts(method: method.rawValue, path: target.path, query: target.query, contentHash: hash),
            host: target.host,
            headers,
            with: credentials,
            lifetime: Int(clamping: seconds),
            at: date
        )
        guard let url = target.url(query: signed.query) else { throw Self.unsignable("the URL is malformed") }
        return url
    }

    // MARK: The forms of a signature

    /// The parts of a request that its signature covers, with the path and query of its URL.
    struct SignedParts {
        var method: String
        var path: String
        var query: String
        var contentHash: String
    }

    struct Signature {
        var canonicalRequest: [UInt8]
        var stringToSign: [UInt8]
        var text: String
    }

    func signedFields(
        _ parts: SignedParts,
        host: String,
        _ headers: HTTPHeaders,
        with credentials: AWSCredentials,
        at date: Date
    ) throws -> (fields: HTTPHeaders, signature: Signature) {
        let time = AWSTime(date)
        let key = try key(for: credentials, time)
        let sessionToken = credentials.sessionToken?.expose { $0 }
        var headers = headers
        for name in ["Authorization", "X-Amz-Date", "X-Amz-Security-Token"] { headers[name] = nil }
        if sendsContentHash { headers[Self.contentHash] = parts.contentHash }
        headers.append(name: "X-Amz-Date", value: time.description)
        if let sessionToken, signsSessionToken { headers.append(name: "X-Amz-Security-Token", value: sessionToken) }
        let fields = AWSCanonical.Fields(headers, host: host, omitting: Self.unsignedFields)
        let signature = try signature(parts, AWSCanonical.query(parts.query), fields, key, time)
        if let sessionToken, !signsSessionToken { headers.append(name: "X-Amz-Security-Token", value: sessionToken) }
        headers.append(
            name: "Authorization",
            value: "\(Self.algorithm) Credential=\(credentials.accessKeyID)/\(key.scope), "
                + "SignedHeaders=\(fields.signedHeaders), Signature=\(signature.text)"
        )
        return (headers, signature)
    }

    func signedQuery(
        _ parts: SignedParts,
        host: String,
        _ headers: HTTPHeaders,
        with credentials: AWSCredentials,
        lifetime: Int,
        at date: Date
    ) throws -> (query: String, signature: Signature) {
        let time = AWSTime(date)
        let key = try key(for: credentials, time)
        let sessionToken = credentials.sessionToken?.expose { $0 }
        let fields = AWSCanonical.Fields(headers, host: host, omitting: Self.unsignedFields)
        var query = AWSCanonical.unsignedQuery(parts.query)
        let add = { (name: String, value: String) in
            query += "\(query.isEmpty ? "" : "&")\(name)=\(PercentEncoding.encode(value))"
        }
        add("X-Amz-Algorithm", Self.algorithm)
        add("X-Amz-Credential", "\(credentials.accessKeyID)/\(key.scope)")
        add("X-Amz-Date", time.description)
        add("X-Amz-SignedHeaders", fields.signedHeaders)
        add("X-Amz-Expires", String(lifetime))
        if let sessionToken, signsSessionToken { add("X-Amz-Security-Token", sessionToken) }
        let signature = try signature(parts, AWSCanonical.query(query), fields, key, time)
        if let sessionToken, !signsSessionToken { add("X-Amz-Security-Token", sessionToken) }
        add("X-Amz-Signature", signature.text)
        return (query, signature)
    }

    private func signature(
        _ parts: SignedParts,
        _ query: [UInt8],
        _ fields: AWSCanonical.Fields,
        _ key: AWSSigningKey,
        _ time: AWSTime
    ) throws -> Signature {
        let path = keepsPath ? AWSCanonical.objectPath(parts.path) : AWSCanonical.path(parts.path)
        let canonical = AWSCanonical.lines(
            Array(parts.method.utf8),
            path,
            query,
            fields.lines,
            fields.names,
            Array(parts.contentHash.utf8)
        )
        let stringToSign = AWSCanonical.lines(
            Array(Self.algorithm.utf8),
            Array(time.description.utf8),
            Array(key.scope.utf8),
            try AWSCanonical.hash(of: canonical)
        )
        return Signature(
            canonicalRequest: canonical,
            stringToSign: stringToSign,
            text: try key.signature(of: stringToSign)
        )
    }

    private func key(for credentials: AWSCredentials, _ time: AWSTime) throws -> AWSSigningKey {
        if let key = latestKey.value, key.serves(credentials, at: time) { return key }
        let key = try AWSSigningKey(credentials, at: time, region: region, service: service)
        latestKey.replace(with: key)
        return key
    }

    // MARK: The body

    private func contentHash(of request: HTTPRequest, _ payload: Payload) async throws -> String {
        let isEmpty = request.body.contentLength == 0
        if keepsPath, request.body.contentLength == nil, request.headers["Content-Length"] == nil {
            throw Self.unsignable("S3 requires the length of a body; pass it with the stream")
        }
        if let given = request.headers[Self.contentHash] { return given }
        if payload == .unsigned, !isEmpty {
            guard keepsPath else {
                throw Self.unsignable("only S3 accepts an unsigned body; use a body that can be read twice")
            }
            guard HTTPOrigin(request.url)?.isConfidential ?? false else {
                throw Self.unsignable("nothing protects an unsigned body without https, so nothing was sent")
            }
            return Self.unsignedPayload
        }
        guard request.body.isReplayable else {
            throw Self.unsignable(
                "the body can be read only once, so that its hash isn't known before it's sent; use a body that can be "
                    + "read twice, set \(Self.contentHash), or for S3 leave the body unsigned"
            )
        }
        guard !isEmpty else { return Self.emptyHash }
        if case .data(let data) = request.body.source {
            let hash = { @Sendable in String(decoding: try AWSCanonical.hash(of: data.bytes), as: UTF8.self) }
            return data.count <= Self.longestHashedAtOnce ? try hash() : try await BlockingWork.value(of: hash)
        }
        let hasher = try HTTPDigest.Hasher([.sha256])
        try await request.body.read { part in try hasher.update(part) }
        return try hasher.finish()[.sha256]?.hexadecimal ?? ""
    }

    static func unsignable(_ problem: String) -> WorkloadIdentityError {
        WorkloadIdentityError(.unsignableRequest, "the request can't be signed for AWS: \(problem)")
    }
}
