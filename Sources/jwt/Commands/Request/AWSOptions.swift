import Foundation
import Networking
import OAuth2
import WorkloadIdentity

struct AWSOptions: Sendable {
    private static let scope = Option<AWSScope>("aws-sigv4")
    private static let profile = Option<String>("aws-profile", value: "NAME")

    static let members = OptionDefinition.table([
        scope: """
        Sign the request and each retry and redirect for this service of AWS (Signature Version 4), such as \
        s3/eu-central-1 or, as in curl, aws:amz:eu-central-1:s3; without --aws-profile, the credentials are those of \
        the environment
        """,
        profile: "The profile of the AWS CLI with the credentials of --aws-sigv4",
    ])

    private let scope: AWSScope
    private let profile: String?

    init?(_ arguments: ParsedArguments) throws(UsageError) {
        profile = arguments.value(of: Self.profile)
        guard let scope = arguments.value(of: Self.scope) else {
            guard profile == nil else { throw arguments.usageError("--aws-profile requires --aws-sigv4") }
            return nil
        }
        self.scope = scope
    }

    func interceptor(for origins: [URL]) -> any Interceptor {
        AWSRequestSigner(
            service: scope.service,
            region: scope.region,
            credentials: profile.map { .profile($0) } ?? .default(),
            origins: .origins(of: origins)
        )
    }
}

/// The service and region of a signature: `SERVICE/REGION`, or `aws:amz:REGION:SERVICE` of curl.
struct AWSScope: ArgumentValue, Equatable {
    static let placeholder = "SERVICE/REGION"

    let service: String
    let region: String

    init(argument: String) throws(ValueError) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let curl = argument.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        if parts.count == 2, parts.allSatisfy(Self.isName) {
            (service, region) = (parts[0], parts[1])
        } else if curl.count == 4, curl[0].lowercased() == "aws", curl[1].lowercased() == "amz",
            curl[2...].allSatisfy(Self.isName)
        {
            (service, region) = (curl[3], curl[2])
        } else {
            throw ValueError(message: "must be a service and a region, such as s3/eu-central-1")
        }
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) && $0 != UInt8(ascii: "~") }
    }
}
