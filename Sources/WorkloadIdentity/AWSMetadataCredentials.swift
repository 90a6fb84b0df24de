import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TokenGeneration

extension AWSCredentialSource {
    /// Returns a source for the role of a container in ECS, a pod with EKS Pod Identity, or a
    /// device with IoT Greengrass
    /// ([AWS](https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html)).
    ///
    /// It reads `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `AWS_CONTAINER_CREDENTIALS_FULL_URI`,
    /// and `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE` or `AWS_CONTAINER_AUTHORIZATION_TOKEN`, for
    /// each request. Without https, the address must be one of this machine or of ECS and EKS.
    ///
    /// A failure is a ``WorkloadIdentityError``: `notConfigured` without the variables, those of
    /// each request (``WorkloadEnvironment``), or those of a file.
    ///
    /// - Parameter environment: The variables, clocks and network.
    /// - Returns: The source.
    public static func container(environment: WorkloadEnvironment = WorkloadEnvironment()) -> Self {
        Self("the container", environment: environment) { deadline in
            try await AWSContainerEndpoint(environment: environment).credentials(until: deadline)
        }
    }

    /// Returns a source for the role of a machine in EC2
    /// ([AWS](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html)).
    ///
    /// It uses only version 2 of the instance metadata service.
    /// `AWS_EC2_METADATA_SERVICE_ENDPOINT` and `AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE` change its
    /// address, which must be one of this machine or its link, or use https.
    ///
    /// If the service can't be reached or responds with expired credentials, the source continues
    /// with the latest ones for up to 6 hours after their expiry, as the [SDKs of
    /// AWS](https://docs.aws.amazon.com/sdkref/latest/guide/feature-static-credentials.html) do,
    /// and asks again every 5 to 10 minutes. AWS accepts them meanwhile. If it rejects them, the
    /// source doesn't use them again.
    ///
    /// A failure is a ``WorkloadIdentityError``: `notConfigured` if the machine has no role or
    /// `AWS_EC2_METADATA_DISABLED` is `true`, or those of each request (``WorkloadEnvironment``).
    ///
    /// - Parameter environment: The variables, clocks and network.
    /// - Returns: The source.
    public static func instance(environment: WorkloadEnvironment = WorkloadEnvironment()) -> Self {
        let latest = SharedValue<AWSCredentials?>(nil)
        return Self("the instance metadata service", environment: environment) { deadline in
            do {
                let found = try await AWSInstanceMetadata(environment: environment).credentials(until: deadline)
                latest.replace(with: found)
                return found.extended(ifLeft: .zero, environment) ?? found
            } catch let error as WorkloadIdentityError where error.code == .platformUnavailable {
                // Early enough that no caller waits for a service that doesn't respond.
                guard let extended = latest.value?.extended(ifLeft: .seconds(300), environment) else { throw error }
                return extended
            }
        }
    }
}

extension AWSCredentials {
    /// The longest use after the expiry, which is also the longest lifetime of such credentials.
    private static let longestExtension = Duration.seconds(21_600)

    /// Returns the credentials with a later expiry; `nil` if they are valid for longer than given,
    /// or expired too long ago.
    fileprivate func extended(ifLeft left: Duration, _ environment: WorkloadEnvironment) -> Self? {
        let now = environment.timeSource.now()
        guard let expiry, expiry - now <= left, now < expiry + Self.longestExtension else { return nil }
        let time = Duration.seconds(300) * (1 + min(max(environment.random(), 0), 1))
        var extended = AWSCredentials(
            accessKeyID: accessKeyID,
            secretAccessKey: secretAccessKey,
            sessionToken: sessionToken,
            expiry: min(now + time, expiry + Self.longestExtension)
        )
        extended.isExtended = true
        return extended
    }
}

struct AWSContainerEndpoint: Sendable {
    static let variables = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"]
    /// The addresses of ECS and of EKS Pod Identity.
    private static let hosts: Set<String> = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"]
    private static let token = "AWS_CONTAINER_AUTHORIZATION_TOKEN"

    let environment: WorkloadEnvironment

    func credentials(until deadline: ContinuousClock.Instant?) async throws -> AWSCredentials {
        var request = URLRequest(url: try url)
        if let token = try await authorization() {
            request.setValue(token.expose { $0 }, forHTTPHeaderField: "Authorization")
        }
        let endpoint = PlatformEndpoint(
            name: "the endpoint for the container's credentials",
            environment: environment,
            permission: "check the role of the task or of the pod's service account"
        )
        let response = try await endpoint.response(to: request, until: deadline)
        return try endpoint.awsCredentials(inJSON: response)
    }

    private func value(_ name: String) -> String? { environment.variable(name).flatMap { $0.isEmpty ? nil : $0 } }

    private var url: URL {
        get throws(WorkloadIdentityError) {
            if let path = value(Self.variables[0]) {
                let url = URL(string: "http://169.254.170.2\(path)")
                guard path.utf8.first == UInt8(ascii: "/"), let url, url.host == "169.254.170.2", url.fragment == nil
                else { throw Self.insecure(Self.variables[0], "isn't a path") }
                return url
            }
            let address = try environment.value(
                of: Self.variables[1],
                advice: "it's set in ECS, EKS Pod Identity and Greengrass; use another source elsewhere"
            )
            guard let url = URL(string: address), let origin = HTTPOrigin(url), url.user == nil, url.fragment == nil,
                origin.scheme == "https" || origin.isLoopback || Self.hosts.contains(origin.host)
            else {
                throw Self.insecure(
                    Self.variables[1],
                    "is neither an https URL nor an address of this machine, ECS or EKS"
                )
            }
            return url
        }
    }

    private func authorization() async throws -> Secret? {
        let text: String
        if let path = value("\(Self.token)_FILE") {
            let content = try await BlockingWork.value {
                try PlatformFile.read(path, missing: "\(Self.token)_FILE names it")
            }
            text = String(decoding: content, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        } else if let token = value(Self.token) {
            text = token
        } else {
            return nil
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw WorkloadIdentityError(
                .malformedToken,
                "\(Self.token) or its file isn't a header field's value; check what sets it"
            )
        }
        return Secret(text)
    }

    private static func insecure(_ name: String, _ problem: String) -> WorkloadIdentityError {
        WorkloadIdentityError(
            .insecureEndpoint,
            "\(name) \(problem), so nothing is sent; check what sets it"
        )
    }
}

/// The instance metadata service of EC2, version 2.
struct AWSInstanceMetadata: Sendable {
    private static let endpointVariable = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
    private static let path = "latest/meta-data/iam/security-credentials/"

    let environment: WorkloadEnvironment

    func credentials(until deadline: ContinuousClock.Instant?) async throws -> AWSCredentials {
        guard environment.variable("AWS_EC2_METADATA_DISABLED")?.lowercased() != "true" else {
            throw WorkloadIdentityError(
                .notConfigured,
                "AWS_EC2_METADATA_DISABLED is set; unset it, or use another source"
            )
        }
        let base = try address
        let endpoint = PlatformEndpoint(
            name: "the instance metadata service of EC2",
            environment: environment,
            permission: "check that IMDSv2 is enabled, and in a container its hop limit (http-put-response-hop-limit)"
        ) { Self.explanation($0) }
        var request = URLRequest(url: base.appending(path: "latest/api/token"))
        request.httpMethod = "PUT"
        request.setValue("21600", forHTTPHeaderField: "X-aws-ec2-metadata-token-ttl-seconds")
        let answer = try await endpoint.response(to: request, until: deadline).body
        guard answer.count <= 4_096, !answer.isEmpty, answer.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw endpoint.invalid("didn't respond with a session's token; check what answers at its address")
        }
        let token = Secret(String(decoding: answer, as: UTF8.self))
        let get = { (path: String) in
            var request = URLRequest(url: base.appending(path: path))
            request.setValue(token.expose { $0 }, forHTTPHeaderField: "X-aws-ec2-metadata-token")
            return try await endpoint.response(to: request, until: deadline)
        }
        let role = String(decoding: try await get(Self.path).body.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        // The characters of a role's name.
        let isName = role.utf8.allSatisfy { AWSCanonical.isNameCharacter($0) || "+=,@".utf8.contains($0) }
        guard isName, (1...64).contains(role.utf8.count), role != ".", role != ".." else {
            throw endpoint.invalid("didn't respond with the name of a role; check what answers at its address")
        }
        return try endpoint.awsCredentials(inJSON: try await get(Self.path + role))
    }

    private var address: URL {
        get throws(WorkloadIdentityError) {
            let isIPv6 = environment.variable("\(Self.endpointVariable)_MODE")?.lowercased() == "ipv6"
            let given = environment.variable(Self.endpointVariable).flatMap { $0.isEmpty ? nil : $0 }
            let text = given ?? (isIPv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254")
            guard let url = URL(string: text), let origin = HTTPOrigin(url), url.user == nil, url.query == nil,
                url.fragment == nil, PlatformAddress.isConfined(url) || origin.host == "[fd00:ec2::254]"
            else {
                throw WorkloadIdentityError(
                    .insecureEndpoint,
                    """
                    \(Self.endpointVariable) is neither an https URL nor an address of this machine, so nothing is sent; \
                    check what sets it
                    """
                )
            }
            return url
        }
    }

    private static func explanation(_ error: ServerError) -> WorkloadIdentityError? {
        guard error.errorCode == 404 else { return nil }
        return WorkloadIdentityError(
            request: .notConfigured,
            "the machine has no role; attach an instance profile",
            status: 404
        )
    }
}

extension PlatformEndpoint {
    fileprivate func awsCredentials(inJSON response: HTTPResponse) throws(WorkloadIdentityError) -> AWSCredentials {
        let object = try? JSONObject(parsing: response.body)
        if let code = object?["Code"], code != "Success" {
            throw WorkloadIdentityError(
                request: .platformRejected,
                "\(name) has no credentials of the role; check that the role exists, and its trust policy",
                status: response.status
            )
        }
        return try awsCredentials(in: response) { object?[$0]?.string }
    }
}
