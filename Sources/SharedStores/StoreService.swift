import Foundation
import FoundationNetworking
import Glibc
import Networking
public import OAuth2
import TokenGeneration

/// A credential of a store's service.
public struct StoreCredential: Sendable {
    private enum Source {
        case secret(Secret)
        case file(String)
    }

    /// The largest file in bytes, above that of any token.
    private static let maximumSize = 64 << 10

    private let source: Source

    /// Returns a credential that doesn't change.
    ///
    /// - Parameter secret: The credential.
    /// - Returns: The credential of a store.
    public static func secret(_ secret: Secret) -> Self { Self(source: .secret(secret)) }

    /// Returns a credential that's read from a file before each request, so that another program
    /// can replace it.
    ///
    /// - Parameter path: The path of the file, of at most 64 KiB. Whitespace at its ends is
    ///   ignored.
    /// - Returns: The credential of a store.
    public static func file(_ path: String) -> Self { Self(source: .file(path)) }

    func read() throws(OAuth2Error) -> Secret {
        let secret: Secret
        switch source {
        case .secret(let value): secret = value
        case .file(let path): secret = Secret(try Self.text(of: path, maximumSize: Self.maximumSize))
        }
        let isValid = secret.expose { text in
            !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        guard isValid else {
            throw OAuth2Error(.storeFailed, "the store's credential is empty or isn't visible ASCII text")
        }
        return secret
    }

    /// Returns the text of a small file without whitespace at its ends.
    static func text(of path: String, maximumSize: Int) throws(OAuth2Error) -> String {
        // Without O_NONBLOCK, a pipe would stop the thread.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw OAuth2Error(
                .storeFailed,
                "the file “\(path)” can't be read (error \(errno)); check its path and owner"
            )
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let data = try? handle.read(upToCount: maximumSize + 1), data.count <= maximumSize,
            let text = String(validating: data, as: UTF8.self)
        else {
            throw OAuth2Error(
                .storeFailed,
                "the file “\(path)” is empty, isn't text or is larger than \(maximumSize) bytes"
            )
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

struct StoreService: Sendable {
    struct Answer {
        let status: Int
        let headers: HTTPHeaders
        let body: [UInt8]

        func json(_ limits: JSONLimits = .document) -> JSONObject? {
            try? JSONObject(parsing: body, limits: limits)
        }

        /// Returns the error for an answer that leaves the outcome unknown.
        func unexpected(_ reason: String) -> OAuth2Error {
            OAuth2Error(.storeUnavailable, "\(reason) \(summary)", status: status)
        }

        /// Returns the error for a request that would fail again.
        func rejected(_ reason: String) -> OAuth2Error {
            OAuth2Error(.storeFailed, "\(reason) \(summary)", status: status)
        }

        private var summary: String {
            StoreService.summary(status, String(decoding: body.prefix(4_096), as: UTF8.self))
        }
    }

    struct Access: Sendable {
        var fields: [String: String] = [:]
        var authenticator: (any URLRequestAuthenticator)?
        /// A credential that a header field has after a prefix.
        var credential: (field: String, prefix: String, value: StoreCredential)?
        /// The remedy if the service answers 401 or 403.
        var remedy = "check them"
        var index: SeenIndex?
    }

    static let maximumResponseSize = 4 << 20

    private let base: URL
    private let client: NetworkClient
    private let access: Access
    let timeout: Duration
    let timeSource: TimeSource

    init(
        _ base: URL,
        access: Access,
        transport: (any HTTPTransport)?,
        timeout: Duration,
        timeSource: TimeSource
    ) throws(OAuth2Error) {
        guard let origin = HTTPOrigin(base), base.query == nil, base.fragment == nil, base.user == nil else {
            throw OAuth2Error(
                .storeFailed,
                "the URL of a store must be an HTTP URL without a user, query and fragment; pass credentials separately"
            )
        }
        guard origin.isConfidential else {
            throw OAuth2Error(.insecureTransport, "a store on another machine must use https")
        }
        self.base = base
        self.access = access
        self.timeout = timeout
        self.timeSource = timeSource
        let options = NetworkClient.Options(timeSource: timeSource)
        let interceptors: [any Interceptor] = access.authenticator.map { [$0] } ?? []
        // Without the caller's interceptors, which could repeat a write.
        client =
            transport.map { NetworkClient(transport: $0, interceptors: interceptors, options: options) }
            ?? NetworkClient(interceptors: interceptors, options: options)
    }

    /// Throws `storeUnavailable` if the outcome is unknown or the service is overloaded,
    /// `storeFailed` if it rejects the credentials.
    func answer(
        _ method: String,
        _ path: String,
        query: [URLQueryItem] = [],
        fields: [String: String] = [:],
        body: [UInt8]? = nil,
        timeout: Duration? = nil
    ) async throws -> Answer {
        let url = base.appending(path: path)
        var request = URLRequest(url: query.isEmpty ? url : url.appending(queryItems: query))
        request.httpMethod = method
        if let body { request.httpBody = Data(body) }
        for (name, value) in access.fields { request.setValue(value, forHTTPHeaderField: name) }
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        if let credential = access.credential {
            try credential.value.read().expose {
                request.setValue(credential.prefix + $0, forHTTPHeaderField: credential.field)
            }
        }
        let limit = timeout ?? self.timeout
        var answer = try await send(request, timeout: limit)
        if answer.status == 429 {
            let asked = RetryAfter.delay(
                answer.headers["Retry-After"],
                responseDate: answer.headers["Date"],
                now: timeSource.date()
            )
            let delay = asked ?? min(Self.pauseIfLimited(), limit)
            if delay <= limit {
                try await timeSource.sleep(delay)
                answer = try await send(request, timeout: limit)
            }
        }
        switch answer.status {
        case 401, 403:
            throw answer.rejected(
                "the store rejects the credentials, or they don't permit the request; \(access.remedy)"
            )
        case 408, 425, 429, 500...:
            throw answer.unexpected("the store didn't complete the request; it may have an effect later")
        default:
            return answer
        }
    }

    var hasSeenIndex: Bool { access.index?.current.text != nil }

    /// See ``answer(_:_:query:fields:body:timeout:)``.
    func answer(_ method: String, _ path: String, json: JSONObject) async throws -> Answer {
        let fields = ["Content-Type": "application/json"]
        return try await answer(method, path, fields: fields, body: Array(json.serialized().utf8))
    }

    private func send(_ request: URLRequest, timeout: Duration) async throws -> Answer {
        var request = request
        let seen = access.index?.current
        if let text = seen?.text { request.setValue(text, forHTTPHeaderField: SeenIndex.field) }
        let options = RequestOptions(redirects: .never, timeout: timeout, maximumBodySize: Self.maximumResponseSize)
        let answer: Answer
        do {
            let response = try await client.response(for: request, options: options)
            answer = Answer(status: response.status, headers: response.headers, body: Array(response.body))
        } catch let error as ServerError {
            answer = Answer(status: error.errorCode, headers: error.headers, body: Array(error.response ?? Data()))
        } catch let error as NetworkError {
            throw OAuth2Error(
                .storeUnavailable,
                "the store couldn't be reached or didn't respond in time; check its address and the network",
                cause: error
            )
        }
        access.index?.note(answer.headers[SeenIndex.field], ofWrite: request.httpMethod != "GET", since: seen?.count)
        return answer
    }

    /// Returns a random pause, so that hosts don't repeat their requests at the same moment.
    ///
    /// A request that was rejected with 429 had no effect
    /// ([RFC 6585 §4](https://www.rfc-editor.org/rfc/rfc6585#section-4)).
    static func pauseIfLimited() -> Duration {
        .milliseconds(Int.random(in: 500...1_000))  // reason: our own numbers
    }

    // Errors show these words instead of the service's text, which may repeat what it was sent.
    private static let conditions = [
        ("is sealed", "sealed"), ("not initialized", "not initialized"), ("no cluster leader", "no leader"),
        ("no leader", "no leader"), ("active cluster node not found", "no leader"), ("not leader", "not the leader"),
        ("leader changed", "the leader changed"), ("standby", "standby"), ("readonly storage", "read-only storage"),
        ("rate limit", "rate limit exceeded"), ("too many requests", "too many requests"),
        ("timed out", "timed out"), ("no space left", "no space left"), ("space exceeded", "space exceeded"),
        ("exceeded quota", "quota exceeded"), ("acl not found", "unknown ACL token"),
        ("missing client token", "missing token"), ("permission denied", "permission denied"),
        ("forbidden", "forbidden"),
    ]

    /// Returns the status of an answer, and the condition of the service that its text names.
    static func summary(_ status: Int, _ text: String) -> String {
        let text = text.asciiOnly.lowercased()
        let condition = conditions.first { text.contains($0.0) }
        return "(status \(status)\(condition.map { ": \($0.1)" } ?? ""))"
    }

    /// A path that needs no encoding and that no server changes.
    static func isPlainPath(_ path: String) -> Bool {
        let segments = path.utf8.split(separator: 0x2F, omittingEmptySubsequences: false)
        return path.utf8.count <= 512
            && segments.allSatisfy { segment in
                !segment.isEmpty && !segment.elementsEqual(".".utf8) && !segment.elementsEqual("..".utf8)
                    && segment.allSatisfy(PercentEncoding.isUnreserved)
            }
    }
}
