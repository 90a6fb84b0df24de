import Foundation
import Networking
import OAuth2

/// The key that proves to Azure Arc's agent that a process may read the agent's files.
enum AzureArcKey {
    /// The only folder with keys.
    ///
    /// A challenge that names another file would disclose that file.
    static let folder = "/var/opt/azcmagent/tokens"
    private static let maximumSize = 4_096
    private static let advice = "add the process's user to the group “himds”"

    /// Reads the key that a challenge names.
    ///
    /// - Throws: ``WorkloadIdentityError`` with the code `invalidResponse` if the challenge doesn't
    ///   name a key, and `notConfigured`, `unreadableFile`, `insecureFile`, `tooLarge` or
    ///   `malformedToken` if the file isn't one.
    static func read(
        for challenge: HTTPResponse,
        folder: String,
        _ endpoint: PlatformEndpoint
    ) async throws -> Secret {
        let path = try path(in: challenge, folder, endpoint)
        let content = try await BlockingWork.value { try PlatformFile.read(path, missing: advice) }
        var key = content[...]
        while let last = key.last, [0x0A, 0x0D, 0x20].contains(last) { key.removeLast() }
        guard content.count <= maximumSize else {
            throw failure(.tooLarge, path, "is larger than \(maximumSize) bytes")
        }
        guard !key.isEmpty, key.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw failure(.malformedToken, path, "doesn't contain a key")
        }
        return Secret(String(decoding: key, as: UTF8.self))
    }

    /// Returns the path in `Basic realm=<path>`, in which the agent doesn't quote the path.
    private static func path(
        in challenge: HTTPResponse,
        _ folder: String,
        _ endpoint: PlatformEndpoint
    ) throws(WorkloadIdentityError) -> String {
        let challenges = challenge.headers.values(for: "WWW-Authenticate")
        let start = "basic realm="
        guard let text = challenges.first, challenges.count == 1, text.utf8.allSatisfy({ $0 < 0x80 }),
            text.lowercased().hasPrefix(start)
        else {
            throw endpoint.invalid("didn't name the file of its key; check what answers at its address")
        }
        let path = text.dropFirst(start.count)
        let name = path.dropFirst(folder.count + 1)
        guard path.hasPrefix(folder + "/"), name.hasSuffix(".key"), name.first != ".",
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") })
        else {
            throw endpoint.invalid(
                "asks for a file outside \(folder), so nothing is sent; check what answers at its address"
            )
        }
        return String(path)
    }

    private static func failure(
        _ code: WorkloadIdentityError.Code,
        _ path: String,
        _ problem: String
    ) -> WorkloadIdentityError {
        WorkloadIdentityError(code, .read, "“\(path)” \(problem); check Azure Arc's agent")
    }
}
