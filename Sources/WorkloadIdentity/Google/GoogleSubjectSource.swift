import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TokenGeneration

/// The source of the tokens that Google's security token service accepts.
struct GoogleSubjectSource: TokenSource {
    private static let advice = "check “credential_source” in the file in GOOGLE_APPLICATION_CREDENTIALS"

    let file: GoogleExternalAccountFile
    let environment: WorkloadEnvironment

    func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let form: PlatformToken.Form = file.subjectType == .saml2 ? .opaque : .jwt
        let member = file.subjectMember
        switch file.subject {
        case .file(let path):
            var source = FileTokenSource(
                path: path,
                form: form,
                missing: Self.advice,
                environment
            )
            source.text = { content throws(WorkloadIdentityError) in
                try Self.text(in: content, member, "“\(path)”", .read)
            }
            return try await source.token(for: requirements)
        case .url(let url, let fields):
            var request = URLRequest(url: url)
            for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
            let endpoint = PlatformEndpoint(
                name: "the endpoint in “credential_source.url”",
                environment: environment
            )
            let rules = PlatformToken(origin: endpoint.origin, step: .request, form: form)
            let deadline = requirements.deadline
            let response = try await endpoint.response(to: request, until: deadline, expecting: [200, 201])
            return try rules.accessToken(
                in: try Self.text(in: Array(response.body), member, endpoint.origin, .request),
                for: requirements,
                environment.timeSource
            )
        }
    }

    private static func text(
        in content: [UInt8],
        _ member: String?,
        _ origin: String,
        _ step: WorkloadIdentityError.Step
    ) throws(WorkloadIdentityError) -> [UInt8] {
        guard let member else { return content }
        guard let text = (try? JSONObject(parsing: Data(content)))?[member]?.string else {
            throw WorkloadIdentityError(
                .malformedToken,
                step,
                "\(origin) isn't JSON with the “subject_token_field_name”; \(advice)"
            )
        }
        return Array(text.utf8)
    }
}
