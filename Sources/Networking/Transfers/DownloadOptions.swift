public import Foundation
import Glibc
import OpenSSLCrypto

/// The file of a download, or the folder for a file with the name that the server suggests.
enum DownloadTarget: Sendable, Hashable {
    case file(URL)
    case folder(URL)

    /// `nil` before the response if the server names the file.
    var path: String? {
        if case .file(let url) = self { Self.path(url) } else { nil }
    }

    var name: String {
        switch self {
        case .file(let url), .folder(let url): url.lastPathComponent
        }
    }

    /// The path is the same in every process for the same target and URL, so each can resume
    /// another's download.
    func partPath(resource: String) -> String {
        let mark = resource.prefix(16)
        switch self {
        case .file(let url):
            let path = Self.path(url) as NSString
            let name = FileName.shortened(path.lastPathComponent, to: 200)
            return (path.deletingLastPathComponent as NSString).appendingPathComponent(".\(name).\(mark).part")
        case .folder(let url):
            return (Self.path(url) as NSString).appendingPathComponent(".download.\(mark).part")
        }
    }

    func path(for response: HTTPResponse) -> String {
        switch self {
        case .file(let url): Self.path(url)
        case .folder(let url):
            (Self.path(url) as NSString).appendingPathComponent(response.suggestedFileName)
        }
    }

    func check() throws(NetworkError) {
        switch self {
        case .file(let url), .folder(let url):
            guard url.isFileURL, !Self.path(url).contains("\0") else {
                throw NetworkError(.invalidRequest, "the target of a download must be a file URL; nothing was sent")
            }
        }
    }

    private static func path(_ url: URL) -> String {
        url.absoluteURL.path(percentEncoded: false)
    }
}

/// The parameters of a download.
package struct DownloadOptions: Sendable {
    package var existing: ExistingFilePolicy
    package var digest: DownloadDigest
    package var permissions: Int
    package var resumeData: Download.ResumeData?
    package var request: RequestOptions

    package init(
        existing: ExistingFilePolicy = .fail,
        digest: DownloadDigest = .offered,
        permissions: Int = 0o600,
        resumeData: Download.ResumeData? = nil,
        request: RequestOptions = RequestOptions()
    ) {
        self.existing = existing
        self.digest = digest
        self.permissions = permissions
        self.resumeData = resumeData
        self.request = request
    }
}

/// The handling of an existing file with the name of a download's target.
@nonexhaustive
public enum ExistingFilePolicy: Sendable {
    /// A policy to fail with ``NetworkError/Code/fileExists``, before sending anything if the file
    /// exists by then, otherwise at the end of the download.
    case fail
    /// A policy to replace the file in a single step at the end of the download.
    ///
    /// It replaces a symbolic link itself, not the link's target. It never replaces anything else,
    /// such as a folder or a device.
    case replace
    /// A policy to use another name: `report (1).pdf`, `report (2).pdf` and so on.
    case unique

    func check(_ target: String) throws(NetworkError) {
        switch self {
        case .replace: try Self.checkIsReplaceable(target)
        case .unique: return
        case .fail:
            var status = stat()
            if unsafe lstat(target, &status) == 0 { throw Self.exists(target) }
        }
    }

    private static func checkIsReplaceable(_ target: String) throws(NetworkError) {
        var status = stat()
        guard unsafe lstat(target, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFLNK: return
        case S_IFDIR: throw isFolder(target)
        default: throw NetworkError(.fileExists, "“\(name(target))” isn't a regular file and can't be replaced")
        }
    }

    func rename(_ path: String, to target: String) throws(NetworkError) -> String {
        switch self {
        case .replace:
            try Self.checkIsReplaceable(target)
            guard unsafe Glibc.rename(path, target) == 0 else {
                if errno == EISDIR { throw Self.isFolder(target) }
                throw .file(Self.name(target), cannotBe: "made", number: errno)
            }
            return target
        case .fail:
            guard try Self.renameKeeping(path, to: target) else { throw Self.exists(target) }
            return target
        case .unique:
            if try Self.renameKeeping(path, to: target) { return target }
            for number in 1..<10_000 {
                let other = Self.numbered(target, number)
                if try Self.renameKeeping(path, to: other) { return other }
            }
            throw Self.exists(target)
        }
    }

    /// Returns `false` if the name is in use.
    ///
    /// A hard link never replaces a file. If the file system doesn't support hard links, this
    /// creates an empty file with the name and then replaces it.
    private static func renameKeeping(_ path: String, to target: String) throws(NetworkError) -> Bool {
        if unsafe link(path, target) == 0 {
            _ = unsafe unlink(path)
            return true
        }
        var number = errno
        if [EPERM, EOPNOTSUPP, ENOSYS].contains(number) {
            let descriptor = unsafe open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            number = errno
            if descriptor >= 0 {
                close(descriptor)
                if unsafe Glibc.rename(path, target) == 0 { return true }
                number = errno
                _ = unsafe unlink(target)
            }
        }
        if number == EEXIST { return false }
        throw .file(name(target), cannotBe: "made", number: number)
    }

    /// Returns a name such as `folder/report (1).pdf`.
    private static func numbered(_ target: String, _ number: Int) -> String {
        let folder = (target as NSString).deletingLastPathComponent
        let last = name(target)
        let (stem, ending) = FileName.split(last)
        let mark = " (\(number))"
        let room = FileName.maximumLength - ending.utf8.count - mark.utf8.count
        return (folder as NSString).appendingPathComponent(FileName.shortened(stem, to: room) + mark + ending)
    }

    private static func name(_ path: String) -> String { (path as NSString).lastPathComponent }

    private static func exists(_ target: String) -> NetworkError {
        NetworkError(
            .fileExists,
            "“\(name(target))” already exists; remove it, or use the policy replace or unique"
        )
    }

    private static func isFolder(_ target: String) -> NetworkError {
        NetworkError(.fileExists, "“\(name(target))” is a folder; choose a file in it")
    }
}

/// The expected digest of a download.
@nonexhaustive
public enum DownloadDigest: Sendable, Hashable {
    /// The digests that the server offers, if any: `Repr-Digest` for the whole file, and
    /// `Content-Digest` for each response ([RFC 9530](https://www.rfc-editor.org/rfc/rfc9530)).
    ///
    /// Each SHA-256 or SHA-512 digest has to match. Other algorithms are ignored.
    case offered
    /// The digests that the server offers, of which one for the whole file is required.
    ///
    /// The download asks for it with `Want-Repr-Digest`.
    case required
    /// No digest, which disables the check.
    case unchecked

    /// A digest of the file that's known in advance.
    case known(HTTPDigest)

    /// Returns a digest that's known in advance.
    ///
    /// - Parameter digest: The 32 bytes of the SHA-256 hash. With any other length, every download
    ///   fails.
    /// - Returns: The digest.
    public static func sha256(_ digest: Data) -> Self {
        known(HTTPDigest([.sha256: digest]))
    }

    /// Returns a digest that's known in advance, in the format of the `sha256sum` command.
    ///
    /// - Parameter hexadecimal: The 64 hexadecimal digits of the SHA-256 hash, in either case.
    /// - Returns: The digest.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` for any other text.
    public static func sha256(hexadecimal: String) throws(NetworkError) -> Self {
        let digits = hexadecimal.utf8.compactMap(\.hexadecimalValue)
        guard digits.count == 64, hexadecimal.utf8.count == 64 else {
            throw NetworkError(.invalidRequest, "a SHA-256 hash must have 64 hexadecimal digits")
        }
        return sha256(Data(stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }))
    }

    var usesOffers: Bool { self == .offered || self == .required }
}

extension HTTPResponse {
    /// The first digest is that of the representation; digests in the header precede those in the
    /// trailer.
    ///
    /// The content of a 200 is the whole file, so its `Content-Digest` counts, too. If the content
    /// was decoded, the digests are about other bytes than the file's.
    var offeredDigests: [HTTPDigest] {
        get throws(NetworkError) {
            let fields: [HTTPDigest.Field] = status == 200 ? [.representation, .content] : [.representation]
            let digests = try fields.digests(in: headers)
            return try digests.isEmpty ? fields.digests(in: trailers) : digests
        }
    }
}
