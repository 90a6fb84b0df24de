import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("jwt request --aws-sigv4", .limitedConcurrency, .tokenScene)
struct AWSRequestTests {
    private var scene: TokenScene { .current }

    private static let keys = [
        "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "S3cr3t", "AWS_SESSION_TOKEN": "t",
    ]

    @Test(
        "Signs a request with the credentials of the environment, without a token",
        .shows("P60"),
        arguments: ["sqs/eu-central-1", "aws:amz:eu-central-1:sqs", "AWS:AMZ:eu-central-1:sqs"]
    )
    func environment(scope: String) async throws {
        scene.api.onAnyMethod("/queue") { _ in .text("done") }
        let result = try await scene.jwt(
            ["request", scene.origin + "/queue?a=b", "-d", "c=d", "--aws-sigv4", scope],
            environment: Self.keys
        )
        #expect(result == .success("done"))
        let request = try #require(scene.api.requests.last)
        let field = try #require(request.headers["Authorization"])
        let date = try #require(request.headers["X-Amz-Date"])
        let scope = "AKID/\(date.prefix(8))/eu-central-1/sqs/aws4_request"
        let names = "content-type;host;x-amz-date;x-amz-security-token"
        #expect(field.hasPrefix("AWS4-HMAC-SHA256 Credential=\(scope), SignedHeaders=\(names), Signature="))
        #expect(request.headers["X-Amz-Security-Token"] == "t")
        #expect(scene.authorization.tokenRequestCount == 0)
        let other = try await scene.jwt(
            ["request", scene.origin + "/queue", "-H", "Authorization: Bearer x", "--aws-sigv4", "sqs/us-east-1"],
            environment: Self.keys
        )
        #expect(other.fails(2, "jwt request: the command sets Authorization itself"), "\(other)")
    }

    @Test("Takes the credentials of a profile, and names what is missing")
    func profile() async throws {
        scene.api.onAnyMethod("/object") { _ in .text("done") }
        let text = "[dev]\naws_access_key_id = AKDEV\naws_secret_access_key = S3cr3t\n"
        try scene.home.write(text, to: "credentials")
        let variables = ["AWS_SHARED_CREDENTIALS_FILE": scene.home.file("credentials"), "AWS_CONFIG_FILE": "/none"]
        let arguments = ["request", scene.origin + "/object", "--aws-sigv4", "s3/eu-central-1", "--aws-profile"]
        let result = try await scene.jwt(arguments + ["dev"], environment: variables.merging(Self.keys) { $1 })
        #expect(result == .success("done"))
        let request = try #require(scene.api.requests.last)
        #expect(request.headers["Authorization"]?.contains("Credential=AKDEV/") == true)
        #expect(request.headers["x-amz-content-sha256"]?.hasPrefix("e3b0c442") == true)
        let failed = try await scene.jwt(arguments + ["other"], environment: variables)
        #expect(failed.status == 2)
        #expect(failed.errors.contains("can't sign the request: the files of the AWS CLI have no profile “other”"))
        #expect(scene.api.requests.count == 1)
    }
}
