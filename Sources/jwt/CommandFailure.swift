import HTTPSignatures
import Networking
import OAuth2
import TokenGeneration
import WorkloadIdentity

struct CommandFailure: Error {
    struct Code: Hashable, Sendable {
        let exitStatus: Int32

        static let rejected = Code(exitStatus: 1)
        static let failed = Code(exitStatus: 2)
        /// The command line names something that isn't there, such as an unset variable.
        static let misused = Code(exitStatus: Program.usageStatus)
    }

    let code: Code
    /// The problem and the solution on one line, or an empty string to print nothing.
    let message: String
    let cause: (any Error)?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = CommandWords.plain(message)
        self.cause = cause
    }

    init(_ code: Code, _ error: TokenError) { self.init(code, error.message, cause: error) }

    /// Creates a failure with advice about the client's credential, which is `nil` for a public
    /// client.
    init(_ error: OAuth2Error, at name: String, credential: String? = nil) {
        let refusals: Set<OAuth2Error.Code> = [
            .requestRejected, .invalidClient, .reauthenticationRequired, .proofRejected, .missingNonce, .repeatedNonce,
            .tooManyNonces, .freshTokenRejected, .insufficientScope, .stepUpRequired, .authorizationDenied,
            .authorizationExpired, .stateMismatch, .issuerMismatch,
        ]
        var message = error.message
        var advice = ""
        let code = error.serverCode.map { " [\($0)]" } ?? ""
        switch error.code {
        case .invalidClient:
            message = message.replacing(
                "check the client ID and key",
                with: "check the client ID" + (credential.map { " and \($0)" } ?? "")
            )
        case .reauthenticationRequired where error.serverCode == nil && error.status == nil:
            // If the user must sign in for the requested token itself, `token(isForced:asksUser:)`
            // has already handled the error.
            message = "not signed in with the profile whose token is exchanged"
            advice = "; run jwt token --sign-in --profile NAME with its name"
        case .reauthenticationRequired:
            message = "the server rejected the refresh token"
            if error.isPossiblyLostRotation { message += "; a lost response may have rotated it" }
            advice = "; get a new one and replace the old one with it"
        case .storeFailed, .storeBusy, .storeUnavailable, .storeDamaged, .storeTooNew:
            advice = "; choose another folder with --cache-dir FOLDER, or check the store of --store ADDRESS"
        case .serverUnreachable:
            if let cause = error.cause as? NetworkError {
                message += ": \(cause.message)"
                advice = cause.trustAdvice
            }
        case .endpointMissing:
            message = String(error.message.prefix { $0 != ";" })
            advice = "; pass --issuer ISSUER to discover it, or --device-endpoint URL or --authorization-endpoint URL"
        case .protocolViolation:
            if let cause = error.cause as? TokenError, cause.code != .malformedJSON, !message.contains(cause.message) {
                message = "\(error.message.prefix { $0 != ";" }): \(cause.message)"
            }
        case .assertionFailed, .grantFailed:
            if let cause = error.cause as? WorkloadIdentityError { message += ": \(cause.message)" }
        case .unsupportedTokenType: advice = "; use --dpop to bind tokens to a key"
        default: break
        }
        self.init(
            refusals.contains(error.code) ? .rejected : .failed,
            "\(name): \(message)\(code)\(advice)",
            cause: error
        )
    }

    /// Runs a closure, and turns every error that isn't a failure yet into one.
    static func reporting<Value: ~Copyable>(
        _ code: Code = .failed,
        at subject: String? = nil,
        advice: (any Error) -> String = { _ in "" },
        _ body: () throws -> Value
    ) throws(CommandFailure) -> Value {
        do {
            return try body()
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            let message = (error as? any DescribedError)?.message ?? "\(error)"
            throw CommandFailure(code, (subject.map { "\($0): " } ?? "") + message + advice(error), cause: error)
        }
    }

    /// The error code for programs.
    ///
    /// It is the code of the cause, such as `expired` or `incorrectPassword`; `serverError`;
    /// `system` for a failed system call; otherwise `rejected`, `usage` or `failed`.
    var reason: String {
        switch cause {
        case let error as TokenError: error.code.description
        case let error as OAuth2Error: error.code.description
        case let error as HTTPSignatureError: error.code.description
        case let error as WorkloadIdentityError: error.code.description
        case let error as NetworkError: error.code.description
        case is ServerError: "serverError"
        case is FileDescriptor.Failure: "system"
        default: code == .rejected ? "rejected" : code == .misused ? "usage" : "failed"
        }
    }

    var report: JSONObject {
        var report: JSONObject = ["code": .string(reason), "message": .string(message)]
        if let error = cause as? ServerError { report["status"] = .number(JSONNumber(error.errorCode)) }
        if let error = cause as? WorkloadIdentityError {
            report["status"] = error.status.map { .number(JSONNumber($0)) }
        }
        guard let error = cause as? OAuth2Error else { return report }
        report["serverCode"] = error.serverCode.map(JSONValue.string)
        report["status"] = error.status.map { .number(JSONNumber($0)) }
        report["retryAfter"] = error.retryAfter.map { .number(JSONNumber(Int($0.components.seconds))) }
        return report
    }
}

/// An error whose message is for people.
protocol DescribedError: Error {
    var message: String { get }
}

extension TokenError: DescribedError {}
extension OAuth2Error: DescribedError {}
extension HTTPSignatureError: DescribedError {}
extension WorkloadIdentityError: DescribedError {}
extension NetworkError: DescribedError {}
extension TrustConfigurationError: DescribedError {}
extension ServerError: DescribedError {
    var message: String { "the server responded with \(errorCode)" }
}

extension NetworkError {
    var trustAdvice: String { tlsFailure == .untrustedChain ? "; pass its root certificate with --roots FILE" : "" }
}

/// The command's words for advice about the API of the package.
enum CommandWords {
    static let words: KeyValuePairs = [
        "use JWSVerifier to verify JSON": "verify it with jwt jws verify",
        "use JWSVerifier to verify it": "verify it with jwt jws verify",
        "; use SDJWTVerifier": "; verify it with jwt sd verify",
        "use JWTVerifier to verify a plain token": "verify a plain token with jwt verify",
        "verify it with JWTVerifier": "verify it with jwt verify",
        "; use JWEDecrypter": "; decrypt it with jwt decrypt",
        "such as SigningKey(pem:).verificationKey.pem() returns": "which jwt key public prints",
        "which needs an EncryptionPassword": "which needs a password",
        "; for a key without “alg”, name exactly one algorithm in the policy's `algorithms` or in `assumedAlgorithms`":
            "; name the algorithm of such a key with --alg",
        ", or a custom signing service": "",
        "use .form or another authentication method": "use --basic-encoding form or another --auth-method",
        "; the server has none, or AuthorizationServer was created without it": "",
        "raise timeout of RequestOptions or NetworkClient.Options": "raise the timeout",
        "raise the endpoint's timeout or the URLRequest's timeoutInterval": "raise the timeout",
        "raise the deadline of HTTPTransportLimits": "raise the timeout",
        "raise the authenticator's timeout": "raise --token-timeout",
        ", or raise idleTimeout of RequestOptions": "",
        "; raise idleTimeout of RequestOptions": "",
        ", or raise firstByteTimeout of RequestOptions": "",
        "; raise firstByteTimeout of RequestOptions": "",
        ", or raise connectTimeout of CurlTransport.Configuration": "",
        "; raise connectTimeout of CurlTransport.Configuration": "",
        " (connectTimeout)": "",
        " (firstByteTimeout)": "",
        " (idleTimeout)": "",
        " (maximumExpansion)": "",
        " (maximumHeaderSize)": "",
        "; raise maximumBodySize or request less data": "",
        "; use RedirectPolicy.never to receive it": "; omit --location to receive it",
        " or disable decodesContent": " with --header",
        "; set TLSConfiguration.clientIdentity": "",
        "try `encoding: .form` (jwt token --basic-encoding form)": "try --basic-encoding form",
        "try `encoding: .raw` (jwt token --basic-encoding raw)": "try --basic-encoding raw",
        "; set the server's `omitsTokenType` to accept it": "",
        "if the server rejects expired refresh tokens so, set its `endsGrantsWithInvalidRequest`":
            "if the refresh token has expired, get a new one",
        ", or pass isReusable: true if the server accepts an assertion more than once": "",
        "; if the server accepts each only once, pass isReusable: false": "",
        "the authenticator's `resources` don't have": "--api doesn't name",
        "; pass .systemAssigned": "; use --from azure",
        "pass .clientID(…), which": "use --from azure:CLIENT_ID with the ID that",
        "the policy requires more valid signatures": "--signatures requires more valid signatures",
        ", for which each key and policy has its own entry: set the verifier's algorithm to": "; pass --alg",
        "; if it's detached, pass it to the verifier": "; if it's detached, pass it with --payload FILE",
        "any of the verifier's matching keys": "any of the matching keys",
        "the policy's limit": "the limit",
        "the policy accepts": "the options accept",
        "the policy doesn't allow": "the options don't allow",
        "the policy expects": "the options expect",
        "the policy prohibits": "the options prohibit",
        "the policy requires": "the options require",
        "convert it with “ssh-keygen -p -m PKCS8”": "convert a copy with “ssh-keygen -p -m PKCS8 -f COPY”",
    ]

    static func plain(_ message: String) -> String {
        words.reduce(message) { $0.contains($1.key) ? $0.replacing($1.key, with: $1.value) : $0 }
    }
}
