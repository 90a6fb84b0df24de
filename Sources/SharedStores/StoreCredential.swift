import Foundation
import Glibc
public import OAuth2

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

    /// Returns the credential, which is suitable for a header field.
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
