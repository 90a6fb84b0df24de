import Testing

/// One of the five documents whose promises the package keeps, and the public names that it has.
///
/// The numbers are those that the issues use for them.
struct SourceDocument: Sendable, CustomTestStringConvertible {
    let title: String
    /// The section of Docs/Migrating.md that answers for it.
    let section: String
    let names: [String]

    var testDescription: String { title }

    static let all = [alicerce1, alicerce2, alicerce3, govuk, strv]

    private static let alicerce1 = SourceDocument(
        title: "002, Alicerce's first generation",
        section: "From Alicerce",
        names: [
            "Network", "NetworkStack", "URLSessionNetworkStack", "URLSessionNetworkStack.session",
            "fetch(resource:completion:)", "Network.Configuration", "AuthenticationChallengeHandler",
            "NetworkAuthenticator", "RequestInterceptor", "Resource", "Resource.Remote", "Resource.Local",
            "Resource.Error", "parse", "serialize", "errorParser", "NetworkResource", "RelativeNetworkResource",
            "StaticNetworkResource", "empty", "HTTP.Method", "HTTP.Headers", "HTTP.Query", "Network.Error",
            "URLSessionError.http", "URLSessionError.noData", "URLSessionError.url", "URLSessionError.badResponse",
            "Network.Error.authenticator",
        ]
    )

    private static let alicerce2 = SourceDocument(
        title: "000, Alicerce's second generation",
        section: "From Alicerce",
        names: [
            "Network", "NetworkStack", "NetworkStack.Remote", "NetworkStack.Request", "NetworkStack.Response",
            "NetworkStack.FetchResource", "URLSessionNetworkStack", "AuthenticationChallengeHandler",
            "authenticationChallengeHandler", "ServerTrustEvaluator", "RequestInterceptor", "retryQueue", "Resource",
            "Resource.Internal", "ExternalResource", "ExternalResource.External", "RequestResource",
            "RequestResource.Request", "NetworkResource", "NetworkResource.Response", "makeRequest()",
            "EmptyExternalResource", "ExternalErrorDecoderResource", "ExternalMetadata", "decodeError",
            "DecodeErrorClosure", "RetryableResource", "retryPolicies", "RetryPolicy", "RetryMetadata", "shouldRetry",
            "retryErrors", "totalRetriedDelay", "RetryableNetworkResource", "HTTPResourceEndpoint",
            "HTTPResourceEndpoint.baseURL", ".path", ".method", ".queryItems", ".headers", ".body", ".request",
            "BaseRequestResource", "baseRequest", "HTTPNetworkResource", "HTTPNetworkResource.endpoint",
            "RequestAuthenticator", "authenticate", "AuthenticationHandler", "RetryableRequestAuthenticator",
            "retryPolicyRule", "RetryPolicy.Rule", "RetryableURLRequestAuthenticator", "URLRequestAuthenticator",
            "AuthenticatedRequestResource", "authenticator", "Network.Error", "URLSessionError.noRequest",
            "Network.Error.api", "URLSessionError.retry", "DecodableResource", "decode", "DecodeClosure", "Cancelable",
            "CancelableBag", "ServerTrustEvaluator.Configuration", "PinningPolicy", "domainName", "includeSubdomains",
            "expirationDate", "pinnedHashes", "enforceBackupPin", "pinningPolicies", "certificateCheckingOrder",
            "allowNotPinnedDomains", "allowExpiredDomainPolicies", "Retry.Delay",
        ]
    )

    private static let alicerce3 = SourceDocument(
        title: "001, Alicerce's third generation",
        section: "From Alicerce",
        names: [
            "Network", "NetworkStack", "NetworkStack.FetchError", "fetch(resource:completion:)", "fetchAndDecode",
            "URLSessionNetworkStack", "AuthenticationChallengeHandler", "retryQueue", "URLSessionResource",
            "URLSessionResource.baseRequestMaking", ".errorDecoding", ".interceptors", ".retryActionPriority",
            "BaseRequestMaking", "BaseRequestMaking.make", "BaseRequestMaking.endpoint()", "HTTPResourceEndpoint",
            "makeRequest()", "ErrorDecoding", "ErrorDecoding.json", "URLSessionResourceInterceptor",
            "URLSessionRetryPolicy", "URLRequestAuthenticator", "authenticateRequest", "evaluateFailedRequest", "Retry",
            "Retry.Action", ".none", ".noRetry", ".retry", ".retryAfter", "Retry.Action.CompareClosure",
            "mostPrioritary", "Retry.Error", ".retries", ".delay", ".custom", "Retry.State", "Retry.Policy",
            "maxRetries", "backoff", ".constant", ".exponential", "maxDelay", "custom", "Retry.Delay", "shouldRetry",
            "ModelDecoding", "ModelDecoding.json", "URLSessionError", "URLSessionError.noRequest",
            "URLSessionError.http", "URLSessionError.noData", "URLSessionError.url", "URLSessionError.badResponse",
            "URLSessionError.retry", "URLSessionError.cancelled", "FetchAndDecodeError", ".fetch", ".decode",
            "Cancelable", "CancelableBag", "ServerTrustEvaluator", "ServerTrustEvaluator.Configuration",
            "PinningPolicy", "HTTP.Method", "HTTP.Headers",
        ]
    )

    private static let govuk = SourceDocument(
        title: "003, GOV.UK One Login",
        section: "From GOV.UK One Login's networking",
        names: [
            "NetworkClient", "NetworkClient()", "NetworkClient(configuration:)", "makeRequest(_:)",
            "makeAuthorizedRequest(exchangeRequest:scope:request:)", "AppBundle", "Device", "SecurityEvaluator",
            "SSLPinningDelegate", "X509CertificateSecurityEvaluator", "UserAgent", "UserAgent.description",
            "DarwinVersion", "DeviceModel", "Version", "Version.major", "Version.minor", "Version.increment",
            "HTTPURLResponse.isSuccessful", "ErrorWithCode", "hash", "errorCode", "endpoint", "ServerError", "reason",
            "parameters", "tlsMinimumSupportedProtocolVersion", "httpAdditionalHeaders", "TokenGeneration",
            "JWTGenerator", "JWTRepresentation", "JWTSigningService", "MockNetworking",
        ]
    )

    private static let strv = SourceDocument(
        title: "004, STRV",
        section: "From STRV's networking",
        names: [
            "Requestable", "Requestable.baseURL", ".path", ".method", "dataType", "isAuthenticationRequired",
            "urlParameters", "acceptableStatusCodes", "HTTPMethod", "RequestDataType", ".encodable", "APIManager",
            "APIManaging", "urlSession", "responseProvider", "requestAdapters", "responseProcessors",
            "errorProcessors", "request(_:retryConfiguration:)", "request(_:decoder:retryConfiguration:)", "Response",
            "ResponseProviding", "MockResponseProvider", "RetryConfiguration", "RetryConfiguration.default", "retries",
            "delay", "DownloadAPIManager", "DownloadAPIManaging", "DownloadAPIManager.request(url:)",
            "DownloadAPIManager.shared", "downloadRequest(_:resumableData:retryConfiguration:)", "DownloadResult",
            "progressStream(for:)", "DownloadState", "allTasks", "invalidateSession(shouldFinishTasks:)",
            "urlSessionConfiguration", "UploadAPIManager", "UploadAPIManaging", "activeTasks", "upload(_:to:)",
            "UploadType", ".data", ".file", ".multipart", "UploadTask", "UploadTask.ID", "UploadTask.State",
            "stateStream(for:)", "StateStream", "retry(taskId:)", "MultipartFormData", "AuthorizationManaging",
            "storage", "saveData", "authorizeRequest(_:)", "refreshAuthorizationData(with:)",
            "AuthorizationStorageManaging", "AuthorizationData", "AuthorizationTokenInterceptor", "RequestAdapting",
            "ResponseProcessing", "ErrorProcessing", "RequestInterceptor", "LoggingInterceptor",
            "LoggingInterceptor.shared", "StatusCodeProcessor", "StatusCodeProcessor.shared",
            "NetworkError.unacceptableStatusCode(statusCode:acceptedStatusCodes:response:)",
            "EndpointRequestStorageProcessor", "EndpointRequestStorageProcessor.Config",
            "EndpointRequestStorageModel", "multiPeerSharing", "ArrayParameter", "ArrayEncoding", ".individual",
            ".commaSeparated",
        ]
    )
}
