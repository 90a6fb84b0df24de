import Foundation
import Networking
import OAuth2

/// Replaces the token of a shared store over and over: `token-rotator <directory> <token endpoint>
/// <rotations>`.
///
/// A request whose process was killed is not waited for longer than 100 milliseconds: the server is
/// on the same machine. The first refresh token is read from standard input. At the end it prints
/// `usable <rotations>`, or the code of the error that ended it and whether a rotation may have
/// been lost.
@main
enum TokenRotator {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let endpoint = URL(string: arguments[2]), let rotations = Int(arguments[3]),
            let first = readLine()
        else {
            print("usage: token-rotator <directory> <token endpoint> <rotations>")
            exit(64)
        }
        let source = GrantTokenSource(
            client: OAuth2Client(
                server: AuthorizationServer(issuer: "https://as.example", tokenEndpoint: endpoint),
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                timing: .init(timeout: .seconds(300), lostRequestDelay: .milliseconds(100))
            ),
            grant: RefreshTokenGrant(refreshToken: Secret(first)),
            store: try FileTokenStore(directory: URL(filePath: arguments[1]))
        )
        var done = 0
        do {
            var token = try await source.token()
            while done < rotations {
                // Another process may have replaced the token already: that one is used, and is the
                // next to be replaced.
                token = try await source.token(for: .replacing(token))
                if !token.isFound { done += 1 }
            }
            print("usable \(done)")
        } catch let error as OAuth2Error {
            print("\(error.code) possiblyLost=\(error.isPossiblyLostRotation) after \(done)")
        }
    }
}
