import Foundation
import TokenGeneration

/// Prints a push request: `swift run vapid-push ENDPOINT CONTACT [KEY.pem]`.
@main
enum VapidPush {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 2, let endpoint = arguments.first.flatMap({ URL(string: $0) }) else {
            FileHandle.standardError.write(Data("usage: vapid-push ENDPOINT CONTACT [KEY.pem]\n".utf8))
            exit(64)
        }
        let file = arguments.dropFirst(2).first ?? "vapid.pem"
        let request = try PushRequest(
            to: endpoint,
            contact: arguments[arguments.startIndex + 1],
            key: key(in: file)
        )
        print(request.curl)
    }

    /// Returns the key in a file, or creates it.
    ///
    /// Subscriptions belong to one key, so keep the file.
    private static func key(in file: String) throws -> SigningKey {
        if let pem = try? String(contentsOfFile: file, encoding: .utf8) {
            return try SigningKey(pem: pem, algorithm: .es256)
        }
        let key = try SigningKey.generate(.es256)
        let contents = Data(try key.pem().utf8)
        guard
            FileManager.default.createFile(atPath: file, contents: contents, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        return key
    }
}
